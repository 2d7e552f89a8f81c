package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
)

func main() {
	var o options
	flag.StringVar(&o.rows, "rows", "", "comma-separated rows, all unless given: "+strings.Join(rowNames(), ","))
	flag.IntVar(&o.n, "n", 15, "samples of a single pod on each side; bursts take a third, at least 3, for each width of the floor")
	flag.StringVar(&o.bin, "bin", "bin/kubeloupe", "the agent")
	flag.DurationVar(&o.idle, "idle", defaultIdle, "how long idle use is measured")
	flag.IntVar(&o.slots, "slots", 0, "the agent's --runtime-slots")
	flag.Parse()
	if os.Geteuid() != 0 {
		fmt.Fprintln(os.Stderr, "bench: needs root: it starts real containers")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1) //nolint:gocritic // nothing is deferred but the signal
	}
}
