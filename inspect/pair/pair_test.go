package pair_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kubeloupe/kubeloupe/inspect/pair"
	"github.com/kubeloupe/kubeloupe/trace"
)

func rec(seq uint64, at int64, edge trace.Edge, span, parent trace.SpanID) *trace.Record {
	return &trace.Record{Seq: seq, Time: at, Edge: edge, Span: span, Parent: parent, Event: &trace.Wait{}}
}

const b, e = trace.EdgeBegin, trace.EdgeEnd

func TestOf(t *testing.T) {
	type span struct {
		Begin, End  uint64 // numbers of the records
		Start, Stop int64
		Open        bool
	}
	late := rec(2, 30, e, 1, 0)
	late.Dur = 20
	for name, c := range map[string]struct {
		recs []*trace.Record
		want []span
	}{
		"one":                {[]*trace.Record{rec(1, 10, b, 1, 0), rec(2, 30, e, 1, 0)}, []span{{1, 2, 10, 30, false}}},
		"open":               {[]*trace.Record{rec(1, 10, b, 1, 0)}, []span{{1, 0, 10, 99, true}}},
		"no begin":           {[]*trace.Record{late}, []span{{0, 2, 10, 30, false}}},
		"both twice":         {[]*trace.Record{rec(1, 10, b, 1, 0), rec(1, 10, b, 1, 0), rec(2, 30, e, 1, 0), rec(2, 30, e, 1, 0)}, []span{{1, 2, 10, 30, false}}},
		"begin after end":    {[]*trace.Record{late, rec(1, 10, b, 1, 0)}, []span{{1, 2, 10, 30, false}}},
		"in order of begins": {[]*trace.Record{rec(1, 10, b, 1, 0), rec(2, 11, b, 2, 0), rec(3, 12, e, 2, 0), rec(4, 13, e, 1, 0)}, []span{{1, 4, 10, 13, false}, {2, 3, 11, 12, false}}},
		"without a span":     {[]*trace.Record{rec(1, 10, b, 0, 0), rec(2, 11, b, 0, 0)}, []span{{1, 0, 10, 99, true}, {2, 0, 11, 99, true}}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []span
			for _, s := range pair.Of[*trace.Wait](c.recs, time.Unix(0, 99)) {
				one := span{Start: s.Start.UnixNano(), Stop: s.Stop.UnixNano(), Open: s.Open}
				if s.Begin != nil {
					one.Begin = s.Begin.Seq
				}
				if s.End != nil {
					one.End = s.End.Seq
				}
				got = append(got, one)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("spans (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTable(t *testing.T) {
	const minute = int64(time.Minute)
	var over, lost []int
	table := func(size int) *pair.Table[int] {
		over, lost = nil, nil
		return new(pair.NewTable(size, func(v int) { over = append(over, v) }, func(v int) { lost = append(lost, v) }))
	}
	check := func(t *testing.T, wantOver, wantLost []int) {
		t.Helper()
		slices.Sort(over)
		slices.Sort(lost)
		if !slices.Equal(over, wantOver) || !slices.Equal(lost, wantLost) {
			t.Errorf("over %v, in doubt %v, want %v and %v", over, lost, wantOver, wantLost)
		}
	}
	t.Run("an end that came", func(t *testing.T) {
		tb := table(9)
		tb.Begin(rec(1, 0, b, 1, 0), 1)
		tb.Begin(rec(2, 0, b, 2, 1), 2)
		tb.End(1)
		check(t, []int{1}, nil) // 2 may continue after its parent
	})
	t.Run("an end that was lost", func(t *testing.T) {
		tb := table(9)
		tb.Begin(rec(1, 0, b, 1, 0), 1)
		tb.Begin(rec(2, 0, b, 2, 1), 2)
		tb.Begin(rec(3, 0, b, 3, 2), 3)
		tb.Lost()
		tb.Begin(rec(4, 0, b, 4, 1), 4)
		tb.End(1)
		check(t, []int{1, 2, 3}, []int{1, 2, 3})
	})
	t.Run("no news for ten minutes", func(t *testing.T) {
		tb := table(9)
		tb.Begin(rec(1, 0, b, 1, 0), 1)
		tb.Lost()
		tb.Begin(rec(2, 0, b, 2, 0), 2)
		tb.Sweep(9 * minute)
		check(t, nil, []int{1})
		tb.Sweep(11 * minute)
		check(t, []int{1}, []int{1})
	})
	t.Run("shown to be over", func(t *testing.T) {
		tb := table(9)
		tb.Begin(rec(1, 0, b, 1, 0), 1)
		tb.Lost()
		tb.Begin(rec(2, 0, b, 2, 0), 2)
		tb.Settle(1, 2)
		check(t, []int{1}, []int{1})
	})
	t.Run("the agent starts anew", func(t *testing.T) {
		tb := table(9)
		tb.Begin(rec(1, 0, b, 1, 0), 1)
		tb.Clear()
		check(t, []int{1}, nil)
	})
	t.Run("too many", func(t *testing.T) {
		tb := table(2)
		for i := range 4 {
			tb.Begin(rec(uint64(i), 0, b, trace.SpanID(i+1), 0), i)
		}
		if check(t, []int{0, 1}, nil); tb.Len() != 2 {
			t.Errorf("%d are open, want 2", tb.Len())
		}
	})
}
