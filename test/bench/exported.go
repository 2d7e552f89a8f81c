package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/kubeloupe/kubeloupe/test/collector"
	"github.com/kubeloupe/kubeloupe/test/interval"
)

// A block is one agent, which exports spans or does not. Spans are sent 8 to 13 s after a start, so the first starts of a block are not
// measured: those that are have the spans of the earlier ones sent beside them.
const (
	blocks      = 8
	blockBefore = 20 * time.Second
	// exportedShare is how much of a core the export may use at one start a second, in percent.
	exportedShare = 1.0
)

// exported has agents start pods one by one, in blocks with and without the export of the spans of each start to a Collector on this machine.
func (b *bench) exported(ctx context.Context) (err error) {
	col, err := collector.New(ctx, b.dir, os.Stderr)
	if err != nil {
		return err
	}
	if err := col.Start(ctx); err != nil {
		return err
	}
	defer func() {
		b.config = ""
		err = errors.Join(err, b.stopAgent(), col.Stop())
	}()
	each := max(1, b.o.pairs*2/blocks)
	var took [2][]time.Duration
	var used [2]time.Duration
	began := time.Now()
	for i := range blocks {
		on := (i + 1) / 2 % 2 // 0 1 1 0 0 1 1 0
		b.config = ""
		if on == 1 {
			b.config = fmt.Sprintf("tracing: {endpoint: %q, samplingRatePerMillion: 1000000}\n", col.Addr)
		}
		t, u, err := b.block(ctx, each)
		if err != nil {
			return err
		}
		took[on] = append(took[on], t...)
		used[on] += u
	}
	received, err := os.Stat(col.File)
	if err != nil {
		return err
	}
	if received.Size() == 0 {
		return errors.New("the Collector received nothing")
	}
	r := interval.Of(millis(took[0]), millis(took[1]))
	fmt.Printf("%-34s %10s %10s %7.3f  ≤ %-6.2f %s\n", "alone / exported, p50", ms(p50(took[0])), ms(p50(took[1])), r.Ratio, watchedReach, r.Verdict(watchedReach))
	fmt.Printf("  %s, of %d starts of each in %s; %d bytes were received\n", r, len(took[0]), time.Since(began).Round(time.Second), received.Size())
	perStart := func(on int) time.Duration { return used[on] / time.Duration(len(took[on])) }
	share := float64(perStart(1)-perStart(0)) / float64(time.Second) * 100
	fmt.Printf("  agent's CPU time for a start and its end: %s and %s: %.2f %% of a core more at one start a second (target ≤ %.0f %%)\n",
		ms(perStart(0)), ms(perStart(1)), share, exportedShare)
	return nil
}

// block starts an agent and has it start pods: for a while, and then n that are measured. used is the agent's CPU time for these.
func (b *bench) block(ctx context.Context, n int) (took []time.Duration, used time.Duration, err error) {
	if err := b.startAgent(ctx, &b.ours); err != nil {
		return nil, 0, err
	}
	for end := time.Now().Add(blockBefore); time.Now().Before(end); {
		if _, _, err := b.agentOne(ctx, plain(b.ours.lab)); err != nil {
			return nil, 0, err
		}
	}
	before, _, err := usage(b.agent.cmd.Process.Pid)
	if err != nil {
		return nil, 0, err
	}
	for range n {
		t, _, err := b.agentOne(ctx, plain(b.ours.lab))
		if err != nil {
			return nil, 0, err
		}
		took = append(took, t)
	}
	after, _, err := usage(b.agent.cmd.Process.Pid)
	return took, after - before, err
}
