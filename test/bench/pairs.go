package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/kubeloupe/kubeloupe/test/interval"
)

// watcher is somebody who looks at the one agent of a row, or does not.
type watcher interface {
	// set has it look or not; when it returns, that is so, and the processes are at rest.
	set(ctx context.Context, on bool) error
	// check says after a sample, of the pod of that name, that it was so all the time.
	check(on bool, pod string) error
	// close ends it, before the agent ends.
	close() error
}

// watch starts the agent and makes the watcher.
type watch func(ctx context.Context, b *bench) (watcher, error)

// watchedReach is what being looked at may cost a start.
const watchedReach = 1.02

// defaultPairs take some minutes.
const defaultPairs = 160

// paired starts pods one by one, in pairs: one while the agent is looked at, one while it is not, in random order, half
// of the pairs in each.
func (b *bench) paired(ctx context.Context, title string, begin watch) (err error) {
	if err := b.stopAgent(); err != nil {
		return err
	}
	w, err := begin(ctx, b)
	if err != nil {
		return errors.Join(err, b.stopAgent())
	}
	defer func() { err = errors.Join(err, w.close(), b.stopAgent()) }()
	for _, on := range []bool{true, false} { // warms up
		if _, err := b.sample(ctx, w, on); err != nil {
			return err
		}
	}
	var off, with []time.Duration
	began := time.Now()
	for _, first := range orders(b.o.pairs) {
		for _, on := range []bool{first, !first} {
			took, err := b.sample(ctx, w, on)
			if err != nil {
				return err
			}
			if on {
				with = append(with, took)
			} else {
				off = append(off, took)
			}
		}
	}
	i := interval.Of(millis(off), millis(with))
	fmt.Printf("%-34s %10s %10s %7.3f  ≤ %-6.2f %s\n", title+", p50", ms(p50(off)), ms(p50(with)), i.Ratio, watchedReach, i.Verdict(watchedReach))
	fmt.Printf("  %s, of %d pairs in %s\n", i, b.o.pairs, time.Since(began).Round(time.Second))
	return nil
}

func (b *bench) sample(ctx context.Context, w watcher, on bool) (time.Duration, error) {
	if err := w.set(ctx, on); err != nil {
		return 0, err
	}
	pod := plain(b.ours.lab)
	took, _, err := b.agentOne(ctx, pod)
	if err != nil {
		return 0, err
	}
	return took, w.check(on, pod.Name+"-"+hostname())
}

// orders says of each pair whether it begins with being looked at: as many do as do not, give or take one.
func orders(pairs int) []bool {
	out := make([]bool, pairs)
	for i := range out {
		out[i] = i%2 == 0
	}
	rand.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out
}

func millis(d []time.Duration) []float64 {
	out := make([]float64, len(d))
	for i := range d {
		out[i] = milli(d[i])
	}
	return out
}
