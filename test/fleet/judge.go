package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os/exec"
	"slices"
	"time"

	"github.com/kubeloupe/kubeloupe/test/interval"
)

const (
	// reach is how many times as long a start may take during an outage.
	reach = 1.02
	// budget is how much memory a program may have resident, room what an outage may add: the queue (docs/budgets.md), and garbage of its size.
	budget = 120 << 20
	room   = 32 << 20
	// lag is how old a count may be, with what it takes to be published and scraped.
	lag = 150 * time.Second
	// mistakes are how many starts are named that did not arrive whole.
	mistakes = 5
)

// judge checks that each start has arrived whole or was refused, and that all spans are counted.
func (f *fleet) judge(ctx context.Context) error {
	var errs []error
	var got *received
	// Counts are published once a minute while they change, so spans of the last minutes may be missing in them.
	counted := until(ctx, "counts of all spans", func() (_ bool, err error) {
		errs = nil
		counts := make([]exported, len(f.nodes))
		for i, n := range f.nodes {
			if counts[i], err = scrape(ctx, n); err != nil {
				return false, err
			}
		}
		if got, err = read(f.receiver.collector.File); err != nil {
			return false, err
		}
		for i, n := range f.nodes {
			e, has, refused := counts[i], got.spans[n.name()], f.receiver.refuser.of(n.name())
			if missing := has - int(e.sent); missing < 0 || missing > got.late(n.name(), time.Now().Add(-lag)) || int(e.refused) != refused || e.dropped != 0 {
				errs = append(errs, fmt.Errorf("%s counts %+v; the Collector has %d spans and %d doubles of it, and %d were refused", n.name(), e, has, got.doubles[n.name()], refused))
			}
		}
		if len(errs) > 0 {
			time.Sleep(2 * time.Second)
		}
		return len(errs) == 0, nil
	})
	if counted != nil {
		errs = append(errs, counted)
	}
	if got == nil {
		return errors.Join(errs...)
	}
	for i, n := range f.nodes {
		errs = append(errs, f.arrived(ctx, got, n, f.tallies[i])...)
	}
	if f.scraper != nil {
		errs = append(errs, f.scraper.judge(ctx, f, got))
	}
	if f.behind != nil {
		errs = append(errs, f.behind.judge(ctx, f, got))
	}
	return errors.Join(errs...)
}

// of is how many spans of a node were refused.
func (r *refuser) of(node string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.spans[node]
}

// arrived checks the starts of a node.
func (f *fleet) arrived(ctx context.Context, got *received, n node, t *tally) (errs []error) {
	whole, refused := 0, 0
	for _, pod := range t.pods {
		switch f.receiver.refuser.mu.Lock(); {
		case f.receiver.refuser.pods[pod]:
			refused++
			if len(got.pods[pod]) > 0 {
				errs = append(errs, fmt.Errorf("%s was refused, and is there", pod))
			}
		default:
			err := got.whole(pod)
			if err == nil && whole < f.drawn {
				err = f.trace(ctx, pod, got.pods[pod][0])
			}
			if err == nil {
				whole++
			} else {
				errs = append(errs, err)
			}
		}
		f.receiver.refuser.mu.Unlock()
	}
	f.sayf("%s: of %d starts, %d arrived whole, %d were refused, %d are missing or not whole; %d spans, and %d of them again\n",
		n.name(), len(t.pods), whole, refused, len(t.pods)-whole-refused, got.spans[n.name()], got.doubles[n.name()])
	return errs[:min(len(errs), mistakes)]
}

// trace draws a trace by the program.
func (f *fleet) trace(ctx context.Context, pod, id string) error {
	out, err := exec.CommandContext(ctx, f.bin, "trace", "--trace-id", id, "--from", f.receiver.collector.File).CombinedOutput()
	if err != nil {
		return fmt.Errorf("kubeloupe trace --trace-id %s: %w: %s", id, err, out)
	}
	return isDrawn(pod, string(out))
}

// compare tells of times and memory, and judges the latter: the machine is shared.
func (f *fleet) compare() (err error) {
	for i, n := range f.nodes {
		t := f.tallies[i]
		if f.twins == "" { // which compares the two nodes
			f.times(n, t)
		}
		well := t.memory[""]
		f.sayf("%s: memory %d MiB before, at most %d MiB", n.name(), t.began>>20, well>>20)
		for _, kind := range slices.Sorted(maps.Keys(t.memory)) {
			most := t.memory[kind]
			if kind != "" {
				f.sayf(", %s %d MiB", kind, most>>20)
			}
			if most > budget || most > well+room {
				err = errors.Join(err, fmt.Errorf("%s had %d MiB resident (%s), budget %d MiB, and %d MiB more than the %d MiB without an outage", n.name(), most>>20, kind, budget>>20, room>>20, well>>20))
			}
		}
		f.sayf("\n")
	}
	return err
}

// times tells how long the starts of a node took, and of its CPU time.
func (f *fleet) times(n node, t *tally) {
	if len(t.samples) == 0 {
		return
	}
	var all sides
	for _, kind := range slices.Sorted(maps.Keys(t.samples)) {
		s := t.samples[kind]
		m := min(len(s.well), len(s.ill))
		all.well, all.ill = append(all.well, s.well[:m]...), append(all.ill, s.ill[:m]...)
		f.tell(n, kind, *s)
	}
	f.tell(n, "all", all)
	blocks := interval.Of(t.blocks.well, t.blocks.ill)
	f.sayf("%s: medians of blocks, in pairs: in an outage %s, ≤ %.2f %s, %d blocks\n", n.name(), blocks, reach, blocks.Verdict(reach), len(t.blocks.ill))
	f.sayf("%s: CPU time of its kubeloupe for a start and its end %.1f ms, in an outage %.1f ms, %s of %d blocks\n",
		n.name(), median(t.used.well), median(t.used.ill), interval.Of(t.used.well, t.used.ill), len(t.used.ill))
}

// tell tells of the times of starts without an outage and with one.
func (f *fleet) tell(n node, kind string, s sides) {
	r := interval.Of(s.well, s.ill)
	f.sayf("%-12s %-9s p50 %7.1f ms, in an outage %7.1f ms, %s, ≤ %.2f %s, %d and %d starts\n",
		n.name(), kind, median(s.well), median(s.ill), r, reach, r.Verdict(reach), len(s.well), len(s.ill))
}

func median(in []float64) float64 {
	if len(in) == 0 {
		return 0
	}
	s := slices.Sorted(slices.Values(in))
	return (s[(len(s)-1)/2] + s[len(s)/2]) / 2
}
