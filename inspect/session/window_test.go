package session

import (
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubeloupe/kubeloupe/trace"
)

// TestNotable: what a window notes is what a look at all of its records finds.
func TestNotable(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		w := newWindow(rng.IntN(4), 1+rng.IntN(20))
		w.notes = seenAfar
		for seq := range uint64(rng.IntN(100)) {
			r := trace.Record{Seq: seq, Time: int64(seq / 2), Span: trace.SpanID(rng.IntN(8)), Edge: trace.Edge(rng.IntN(3))}
			switch rng.IntN(3) {
			case 0:
				r.Event = &trace.GC{}
			case 1:
				r.Event = &trace.Usage{}
			default:
				r.Event = &trace.Loop{}
			}
			w.add(r)
		}
		from := rng.Int64N(50)
		to := from + rng.Int64N(20)
		var want, got []uint64
		w.between(from, to, func(r *trace.Record) bool {
			if seenAfar(r.Event) {
				want = append(want, r.Seq)
			}
			return true
		})
		w.notable(from, to, func(r *trace.Record) bool {
			if seenAfar(r.Event) {
				got = append(got, r.Seq)
			}
			return true
		})
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("from %d to %d (-want +got):\n%s", from, to, diff)
		}
	}
}

// TestReachesWithin: blocks leave out nothing that a look at each run finds.
func TestReachesWithin(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 100 {
		var runs []*PodRun
		for range rng.IntN(5 * reachBlock) {
			from := rng.Int64N(1000)
			runs = append(runs, &PodRun{from: from, last: from + rng.Int64N(10)})
		}
		all := reachesOf(runs)
		at := reach{from: rng.Int64N(1000)}
		at.to = at.from + rng.Int64N(100)
		var want, got []int
		for i, l := range runs {
			if l.from <= at.to && l.last >= at.from {
				want = append(want, i)
			}
		}
		for i := range all.within(at.from, at.to) {
			got = append(got, i)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("of %d runs, %+v (-want +got):\n%s", len(runs), at, diff)
		}
	}
}
