package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"github.com/kubeloupe/kubeloupe/test/lab"
)

// fault is something that goes wrong with a node.
type fault struct {
	name string
	// what it is, for the table.
	what string
	// config is more KubeletConfiguration, flags are more flags of the agent; command changes how it is run, so that it has the fault
	// from its start on.
	config  string
	flags   []string
	command func(*exec.Cmd) *exec.Cmd
	// prepare makes what the agent's start needs; undo takes it back once the agent has ended.
	prepare func(dir string) (undo func() error, err error)
	// usual puts there what is there without the fault and under it, once; may be nil.
	usual func(ctx context.Context, n *node) error
	// begin brings it about, and checks that it is reported; end takes it back, and checks that all is well again. Either may be nil.
	begin, end func(ctx context.Context, n *node) error
	// stops says that no other pod can start meanwhile: begin sees what becomes of one, and end that it starts after all.
	stops bool
	// samples are how many starts a round has without it and under it; rounds how often it is caused.
	samples, rounds int
	// quick says that the tests bring it about too: it takes seconds.
	quick bool
}

// result is what was seen of a fault.
type result struct {
	fault         *fault
	up            bool
	before, under float64 // MiB: resident before, peak under it
	without, with []took
	ratios        []float64 // of each round's medians
	err           error
}

func median[T float64 | time.Duration](all []T) T {
	if len(all) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(all))
	return sorted[len(sorted)/2]
}

func (t took) whole() time.Duration { return t.all }

func (t took) calls() time.Duration { return t.runtime }

// medianOf is the median of a part of starts.
func medianOf(starts []took, part func(took) time.Duration) time.Duration {
	var all []time.Duration
	for _, s := range starts {
		all = append(all, part(s))
	}
	return median(all)
}

// ratio is of the medians of a part of all starts.
func (r *result) ratio(part func(took) time.Duration) float64 {
	return float64(medianOf(r.with, part)) / float64(max(medianOf(r.without, part), 1))
}

// own is the ratio of starts as it were if the runtime's calls took no longer under the fault than without it.
func (r *result) own() float64 {
	slower := max(0, medianOf(r.with, took.calls)-medianOf(r.without, took.calls))
	return float64(medianOf(r.with, took.whole)-slower) / float64(max(medianOf(r.without, took.whole), 1))
}

// measure runs an agent, and brings the fault about, round by round.
func measure(ctx context.Context, l *lab.Lab, binary, dir string, f *fault) (r result) {
	r.fault = f
	dir = filepath.Join(dir, f.name)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		r.err = err
		return r
	}
	if f.prepare != nil {
		undo, err := f.prepare(dir)
		if err != nil {
			r.err = err
			return r
		}
		defer func() { r.err = errors.Join(r.err, undo()) }()
	}
	n, err := newNode(ctx, l, binary, dir, f)
	if n != nil && n.cmd.Process != nil {
		defer func() { r.err = errors.Join(r.err, n.stop(context.WithoutCancel(ctx))) }()
	}
	if err != nil {
		r.err = err
		return r
	}
	if _, r.err = n.start(ctx); r.err != nil { // the first is slower: nothing is warm
		return r
	}
	if f.usual != nil {
		if r.err = f.usual(ctx, n); r.err != nil {
			return r
		}
	}
	for range max(1, f.rounds) {
		if r.err = r.round(ctx, n); r.err != nil {
			break
		}
	}
	r.up = n.alive()
	return r
}

// round is one time without the fault and one under it.
func (r *result) round(ctx context.Context, n *node) error {
	f := r.fault
	without, err := starts(ctx, n, f.samples)
	if err != nil {
		return fmt.Errorf("without the fault: %w", err)
	}
	rss, _ := n.memory()
	r.before = max(r.before, rss)
	if err := n.forgetPeak(); err != nil {
		return err
	}
	if f.begin != nil {
		if err := f.begin(ctx, n); err != nil {
			return fmt.Errorf("begin: %w", err)
		}
	}
	var with []took
	if !f.stops {
		with, err = starts(ctx, n, f.samples)
	}
	if _, peak := n.memory(); peak > r.under {
		r.under = peak
	}
	if f.end != nil {
		err = errors.Join(err, f.end(ctx, n))
	}
	if err != nil {
		return fmt.Errorf("under the fault: %w", err)
	}
	r.without, r.with = append(r.without, without...), append(r.with, with...)
	if len(with) > 0 {
		r.ratios = append(r.ratios, float64(medianOf(with, took.whole))/float64(medianOf(without, took.whole)))
	}
	return nil
}

func starts(ctx context.Context, n *node, k int) ([]took, error) {
	var all []took
	for range k {
		t, err := n.start(ctx)
		if err != nil {
			return all, err
		}
		all = append(all, t)
	}
	return all, nil
}
