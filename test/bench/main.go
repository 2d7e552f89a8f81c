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
	var standalone bool
	flag.BoolVar(&standalone, "standalone", false, "measure an agent without a cluster against the floor")
	flag.StringVar(&o.rows, "rows", "", "comma-separated rows, all unless given: "+strings.Join(clusterRowNames(), ",")+"; -standalone: "+strings.Join(rowNames(), ","))
	flag.IntVar(&o.n, "n", 15, fmt.Sprintf("samples of a single pod on each side, or pairs of loaded10, loaded30 and loaded60, or of stuck, attached, unread and recorded (there %d unless given); bursts take one in each round, or with -standalone a third, at least 3, for each width of the floor", defaultPairs))
	flag.IntVar(&o.rounds, "rounds", 3, "how often each agent is measured in turn, in a cluster")
	flag.StringVar(&o.dir, "dir", "", "directory of a lab with a cluster: used, and left up; else one is made and removed")
	flag.StringVar(&o.bin, "bin", "bin/kubeloupe", "the agent")
	flag.DurationVar(&o.idle, "idle", defaultIdle, "how long idle use is measured")
	flag.IntVar(&o.slots, "slots", 0, "the agent's --runtime-slots")
	flag.BoolVar(&o.cpu, "cpu", false, "also print which processes used the CPUs during each burst in a cluster")
	flag.Parse()
	o.pairs = defaultPairs
	flag.Visit(func(f *flag.Flag) {
		if f.Name == "n" {
			o.pairs = o.n
		}
	})
	if o.n < 1 {
		fmt.Fprintf(os.Stderr, "bench: -n %d: want 1 or more\n", o.n)
		os.Exit(2)
	}
	if os.Geteuid() != 0 {
		fmt.Fprintln(os.Stderr, "bench: needs root: it starts real containers")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	measure := runCluster
	if standalone {
		measure = run
	}
	if err := measure(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1) //nolint:gocritic // nothing is deferred but the signal
	}
}
