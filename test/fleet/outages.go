package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"time"

	"github.com/prometheus/procfs"
)

// before is how long pods start in a block before those that are measured: spans are sent 8 to 13 s after a start.
const before = 15 * time.Second

// outages has each kind of outage, in turn with as long without: well, ill, ill, well, and so on.
func (f *fleet) outages(ctx context.Context) error {
	for _, kind := range f.kinds {
		for i := range 2 * f.rounds {
			ill := (i+1)/2%2 == 1
			if err := f.block(ctx, kind, ill); err != nil {
				return fmt.Errorf("%s: %w", kind, err)
			}
		}
		f.sayf("%s: %d outages\n", kind, f.rounds)
	}
	return nil
}

// block starts pods, for as long as an outage takes, with one or without.
func (f *fleet) block(ctx context.Context, kind string, ill bool) (err error) {
	if !ill {
		return f.meanwhile(ctx, kind, false)
	}
	o := outages[kind]
	if err := o.begin(ctx, f.receiver); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, o.end(ctx, f.receiver)) }()
	if err := f.meanwhile(ctx, kind, true); err != nil || !o.fails {
		return err
	}
	return f.shown(ctx, o)
}

// meanwhile starts pods on the nodes for as long as an outage takes. The first are not compared.
func (f *fleet) meanwhile(ctx context.Context, kind string, ill bool) error {
	began := time.Now()
	for lead := min(before, f.outage/4); time.Since(began) < lead; {
		if err := f.each(ctx, "", ill); err != nil {
			return err
		}
	}
	was, err := f.used()
	if err != nil {
		return err
	}
	had := make([]int, len(f.tallies))
	for i, t := range f.tallies {
		had[i] = len(t.of(kind).of(ill))
	}
	starts := 0.0
	for ; time.Since(began) < f.outage; starts++ {
		if err := f.each(ctx, kind, ill); err != nil {
			return err
		}
	}
	is, err := f.used()
	if err != nil || starts == 0 {
		return err
	}
	for i, t := range f.tallies {
		t.used.add(ill, (is[i]-was[i])*1000/starts)
		t.blocks.add(ill, median(t.of(kind).of(ill)[had[i]:]))
	}
	return nil
}

// used is the CPU time of each node's process, in seconds.
func (f *fleet) used() ([]float64, error) {
	out := make([]float64, len(f.nodes))
	for i, n := range f.nodes {
		p, err := procfs.NewProc(n.pid())
		if err != nil {
			return nil, err
		}
		s, err := p.Stat()
		if err != nil {
			return nil, err
		}
		out[i] = s.CPUTime()
	}
	return out, nil
}

// report is what a node says of its export.
type report struct {
	State, Err       string
	Refused, Dropped uint64
}

// shown waits until each node says that its spans cannot be sent.
func (f *fleet) shown(ctx context.Context, o *outage) error {
	for _, n := range f.nodes {
		err := shownBy(ctx, f.bin, n, func(r *report) bool { return r.State == "failing" && r.Err != "" && (!o.forGood || r.Refused > 0) })
		if err != nil {
			return err
		}
	}
	return nil
}

// shownBy waits until the last report of a node is as expected.
func shownBy(ctx context.Context, bin string, n node, is func(*report) bool) error {
	var told string
	err := until(ctx, "report of "+n.name()+" that it cannot send", func() (bool, error) {
		time.Sleep(time.Second)
		asking, cancel := context.WithTimeout(ctx, patience/4)
		defer cancel()
		out, err := exec.CommandContext(asking, bin, "events", "--socket", n.socket(), "--kind", "span.export", "-o", "json").Output()
		if asking.Err() != nil && ctx.Err() == nil {
			told = "(no answer in time)"
			return false, nil
		}
		if err != nil {
			return false, err
		}
		var last report
		for line := range bytes.Lines(out) {
			var r struct {
				Kind  string
				Event report
			}
			if err := json.Unmarshal(line, &r); err != nil {
				return false, fmt.Errorf("%w: %s", err, line)
			}
			if r.Kind == "span.export" { // others say that records were lost
				last, told = r.Event, string(line)
			}
		}
		return is(&last), nil
	})
	if err != nil {
		return fmt.Errorf("%w; the last one is %s", err, told)
	}
	return nil
}

// settled waits until each node has sent what it can, and has counted it.
func (f *fleet) settled(ctx context.Context) error {
	for i, n := range f.nodes {
		var last exported
		err := until(ctx, "end of the export of "+n.name(), func() (_ bool, err error) {
			time.Sleep(time.Second)
			last, err = scrape(ctx, n)
			return last.starts >= float64(len(f.tallies[i].pods)) && last.queued == 0, err
		})
		if err != nil {
			return fmt.Errorf("%w: %+v, after %d starts", err, last, len(f.tallies[i].pods))
		}
	}
	return nil
}
