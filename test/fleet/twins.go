package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"time"

	"github.com/kubeloupe/kubeloupe/test/interval"
)

// What two nodes differ in.
const (
	twinsOutage = "outage"
	twinsExport = "export"
)

// twins are two nodes of the same kind, each with a receiver of its own. In each block one of them is ill, in turn: its receiver has an outage, or it
// sends spans and the other one does not. The starts of the two alternate: what else the machine does is alike on both sides, and so is, over two
// blocks, what one node is faster than the other.
type twins struct {
	options
	out    io.Writer
	dir    string
	fleets [2]*fleet
	// ratios has, by the kind of outage, the geometric means of two starts of two blocks in which the nodes were ill in turn.
	ratios map[string]*sides
}

func runTwins(ctx context.Context, o options, out io.Writer) (err error) {
	dir, err := o.makeDir()
	if err != nil {
		return err
	}
	t := &twins{options: o, out: out, dir: dir, ratios: map[string]*sides{}}
	if o.twins == twinsExport {
		t.kinds = []string{twinsExport}
	}
	defer func() { err = errors.Join(err, t.close(context.WithoutCancel(ctx))) }()
	for i := range t.fleets {
		f := &fleet{options: o, out: out, dir: filepath.Join(dir, fmt.Sprint(i))}
		if err := os.Mkdir(f.dir, 0o755); err != nil {
			return err
		}
		t.fleets[i] = f
		if err := f.open(ctx); err != nil {
			return err
		}
	}
	for _, f := range t.fleets {
		if err := errors.Join(f.all(ctx), f.settled(ctx)); err != nil {
			return err
		}
	}
	err = t.outages(ctx)
	for _, f := range t.fleets {
		if o.twins == twinsOutage {
			err = errors.Join(err, f.settled(ctx), f.judge(ctx))
		} else { // restarts have ended the counts of spans
			err = errors.Join(err, f.sentSome())
		}
		err = errors.Join(err, f.compare())
	}
	t.compare()
	return err
}

// sentSome checks that a node that exported in some blocks has sent those starts, except the last ones, and not those of the other blocks.
func (f *fleet) sentSome() error {
	got, err := read(f.receiver.collector.File)
	if err != nil {
		return err
	}
	all, sent := len(f.tallies[0].pods), len(got.pods)
	f.sayf("%s: of %d starts, %d were sent\n", f.nodes[0].name(), all, sent)
	if sent < all/4 || sent > all*3/4 {
		return fmt.Errorf("%s: %d of %d starts were sent, want those of half of the blocks", f.nodes[0].name(), sent, all)
	}
	return nil
}

func (t *twins) close(ctx context.Context) (err error) {
	for _, f := range t.fleets {
		if f != nil {
			err = errors.Join(err, f.close(ctx))
		}
	}
	if err != nil {
		return err
	}
	return os.RemoveAll(t.dir)
}

// outages has the nodes be ill in each way: the first, the second, the second, the first, and so on.
func (t *twins) outages(ctx context.Context) error {
	for _, kind := range t.kinds {
		for round := range t.rounds {
			var of [2]sides // of two blocks, in which another node is ill each
			for turn := range 2 {
				ill := (round + turn) % 2
				s, err := t.block(ctx, kind, ill)
				if err != nil {
					return fmt.Errorf("%s: %w", kind, err)
				}
				of[turn] = s
			}
			t.add(kind, of)
		}
		_, _ = fmt.Fprintf(t.out, "%s: %d blocks on each node, %s\n", kind, t.rounds, interval.Of(t.ratios[kind].well, t.ratios[kind].ill))
	}
	return nil
}

// add notes two blocks.
func (t *twins) add(kind string, of [2]sides) {
	s := t.ratios[kind]
	if s == nil {
		s = &sides{}
		t.ratios[kind] = s
	}
	for i := range min(len(of[0].well), len(of[1].well)) {
		s.add(false, math.Sqrt(of[0].well[i]*of[1].well[i]))
		s.add(true, math.Sqrt(of[0].ill[i]*of[1].ill[i]))
	}
}

// begin has one node be ill. end has it be well again, and checks that it has said so.
func (t *twins) begin(ctx context.Context, kind string, ill int) (end func() error, err error) {
	if kind == twinsExport {
		for i, f := range t.fleets {
			n, ok := f.nodes[0].(*own)
			if !ok {
				return nil, errors.New("the node is not of kubeloupe")
			}
			if err := errors.Join(n.process.stop(), n.launch(ctx, t.bin, i == ill)); err != nil {
				return nil, err
			}
		}
		return func() error { return nil }, nil
	}
	o, sick := outages[kind], t.fleets[ill]
	return func() (err error) {
		if o.fails {
			err = sick.shown(ctx, o)
		}
		return errors.Join(err, o.end(ctx, sick.receiver))
	}, o.begin(ctx, sick.receiver)
}

// block starts pods on both nodes, for as long as an outage takes. It returns the starts that are compared, in pairs.
func (t *twins) block(ctx context.Context, kind string, ill int) (s sides, err error) {
	sick := t.fleets[ill]
	end, err := t.begin(ctx, kind, ill)
	if err != nil {
		return s, err
	}
	defer func() { err = errors.Join(err, end()) }()
	began := time.Now()
	for lead := min(before, t.outage/4); time.Since(began) < lead; {
		if err := t.pair(ctx, "", ill, 0); err != nil {
			return s, err
		}
	}
	var was, is [2]float64
	if was, err = t.used(); err != nil {
		return s, err
	}
	had := len(sick.tallies[0].of(kind).ill)
	other := t.fleets[1-ill]
	has := len(other.tallies[0].of(kind).well)
	starts := 0
	for ; time.Since(began) < t.outage; starts++ {
		if err := t.pair(ctx, kind, ill, starts); err != nil {
			return s, err
		}
	}
	if is, err = t.used(); err != nil || starts == 0 {
		return s, err
	}
	for i, f := range t.fleets {
		f.tallies[0].used.add(i == ill, (is[i]-was[i])*1000/float64(starts))
	}
	return sides{well: other.tallies[0].of(kind).well[has:], ill: sick.tallies[0].of(kind).ill[had:]}, nil
}

// pair starts a pod on each node, one after the other; which comes first alternates.
func (t *twins) pair(ctx context.Context, kind string, ill, n int) error {
	for turn := range 2 {
		i := (n + turn) % 2
		if err := t.fleets[i].one(ctx, 0, kind, i == ill); err != nil {
			return err
		}
	}
	return nil
}

// used is the CPU time of each node's process, in seconds.
func (t *twins) used() (out [2]float64, err error) {
	for i, f := range t.fleets {
		of, err := f.used()
		if err != nil {
			return out, err
		}
		out[i] = of[0]
	}
	return out, nil
}

// compare tells how long the starts of the node that was ill took, in times those of the other one at the same time.
func (t *twins) compare() {
	var all, used sides
	for _, kind := range t.kinds {
		if s := t.ratios[kind]; s != nil {
			t.tell(kind, s)
			all.well, all.ill = append(all.well, s.well...), append(all.ill, s.ill...)
		}
	}
	t.tell("all", &all)
	for i := range t.fleets {
		of, other := t.fleets[i].tallies[0].used, t.fleets[1-i].tallies[0].used
		used.ill, used.well = append(used.ill, of.ill...), append(used.well, other.well...)
	}
	_, _ = fmt.Fprintf(t.out, "CPU time of a start and its end %.1f ms, of the other node %.1f ms, %s, %d blocks\n",
		median(used.ill), median(used.well), interval.Of(used.well, used.ill), len(used.ill))
}

func (t *twins) tell(kind string, s *sides) {
	r := interval.Of(s.well, s.ill)
	_, _ = fmt.Fprintf(t.out, "%-9s p50 %.1f ms, of the other node at the same time %.1f ms, %s, ≤ %.2f %s, %d pairs of two starts each\n",
		kind, median(s.ill), median(s.well), r, reach, r.Verdict(reach), len(s.ill))
}
