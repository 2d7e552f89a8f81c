package main

import (
	"context"
	"fmt"
	"math"
	"time"
)

// others are how many dropped spans may be of no start: those of the garbage collection, which runs each minute.
const others = 64

// drain waits until the Collector, which is there again, has what waits, and checks that what it has is whole and the rest is counted.
func (f *fleet) drain(ctx context.Context, n *flooded, file string) error {
	var e exported
	var got *received
	err := until(ctx, "rest of the flood", func() (_ bool, err error) {
		time.Sleep(2 * time.Second)
		if e, err = n.look(ctx); err != nil {
			return false, err
		}
		got, err = read(file)
		return err == nil && e.queued == 0 && e.sent > 0 && got.spans[n.name()]-int(e.sent) <= got.late(n.name(), time.Now().Add(-lag)), err
	})
	switch {
	case err != nil:
		return fmt.Errorf("%w: %+v, and %d spans came", err, e, got.spans[n.name()])
	case int(e.sent) > got.spans[n.name()]:
		return fmt.Errorf("the flooded agent has sent %.0f spans, and %d came", e.sent, got.spans[n.name()])
	}
	came, least, most := 0, math.MaxInt, 0
	for _, t := range got.traces {
		if t.root == nil {
			continue // a sync, or a run of the garbage collection
		}
		if err := t.linked(); err != nil {
			return err
		}
		came, least, most = came+1, min(least, len(t.spans)), max(most, len(t.spans))
	}
	f.sayf("flood: when the Collector was there again: %.0f spans sent, %.0f dropped; of %.0f starts, %d came, each whole, with %d to %d spans\n", e.sent, e.dropped, e.starts, came, least, most)
	lost := int(e.starts) - came
	if d := int(e.dropped); lost <= 0 || d < lost*least || d > lost*most+others {
		return fmt.Errorf("%d starts are missing, and %d spans were dropped: want %d to %d for each", lost, d, least, most)
	}
	return nil
}
