// Command tuidemo shows the terminal UI over a made-up stream, to look at it
// without a node: a scripted session, or a flood with -rate. It starts no agent
// and touches nothing but the terminal.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/tui"
	"github.com/kubeloupe/kubeloupe/tui/tuitest"
)

func main() {
	rate := flag.Int("rate", 0, "records a second of a flood; 0 plays the scripted session")
	ahead := flag.Duration("ahead", 20*time.Second, "how much of the session has passed already")
	simulated := flag.Bool("simulated", false, "say that the runtime is simulated")
	stepping := flag.Bool("step", false, "step a made-up pod")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	recs := tuitest.Session()
	if *rate > 0 {
		recs = tuitest.Flood(*rate, 120)
	}
	for i := range recs {
		if a, ok := recs[i].Event.(*trace.Agent); ok {
			a.Simulated = *simulated
		}
	}
	cfg := tui.Config{Source: tuitest.Play(recs, *ahead)}
	if *stepping {
		cfg.Stepper = tuitest.NewSteps()
	}
	if err := tui.Run(ctx, cfg); err != nil {
		fmt.Fprintln(os.Stderr, "tuidemo:", err)
		stop()
		os.Exit(1)
	}
}
