package evidence

import (
	"cmp"
	"sort"

	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/sorting"
)

// Times are the times in a pod's run that decide when it is of interest, in Unix nanoseconds; 0 means not yet.
type Times struct {
	From, Last   int64 // of its records
	Ready        int64 // first ready, or found running
	Down         int64 // since when it is no longer ready; 0 while it is
	Ending, Gone int64
	Done         bool // its containers are finished
}

// See adds the times of a record of the run.
func (t *Times) See(r *trace.Record) {
	t.From, t.Last = cmp.Or(t.From, r.Time), max(t.Last, r.Time)
	switch e := r.Event.(type) {
	case *trace.Milestone:
		switch {
		case e.Name == trace.MilestoneGone:
			t.Gone = cmp.Or(t.Gone, r.Time)
		case e.Name == trace.MilestoneTerminating:
			t.Ending = cmp.Or(t.Ending, r.Time)
		case e.Name == trace.MilestoneReady || e.Adopted || e.Final:
			t.Ready = cmp.Or(t.Ready, r.Time)
		}
	case *trace.PodStatus:
		t.Done = e.Phase.Terminal()
		switch {
		case t.Done || e.Ready >= e.Total:
			t.Down = 0
		case t.Ready != 0:
			t.Down = cmp.Or(t.Down, r.Time)
		}
	}
}

// Interval is a time from one instant to another, inclusive.
type Interval struct{ From, To int64 }

// Interest returns when events around a run explain it, as of now, in order.
func (t *Times) Interest(now int64) []Interval {
	end := now
	if t.Gone != 0 {
		end = min(end, t.Gone)
	}
	if t.Ready == 0 {
		if t.Done {
			end = min(end, t.Last)
		}
		return []Interval{{t.From, end}}
	}
	start := Interval{t.From, min(end, t.Ready+int64(settle))}
	since := t.Down
	if t.Ending != 0 && (since == 0 || t.Ending < since) {
		since = t.Ending
	}
	if since == 0 {
		return []Interval{start}
	}
	return Union([]Interval{start, {max(t.From, since-int64(LookBack)), end}})
}

// Union returns the intervals without overlaps, in order; it omits empty ones.
func Union(all []Interval) []Interval {
	sorting.Stable(all, func(a, b *Interval) int { return cmp.Compare(a.From, b.From) })
	out := all[:0]
	for _, i := range all {
		switch n := len(out); {
		case i.To < i.From:
		case n > 0 && i.From <= out[n-1].To:
			out[n-1].To = max(out[n-1].To, i.To)
		default:
			out = append(out, i)
		}
	}
	return out
}

// Within reports whether a time is in one of the intervals, which must be ordered and without overlaps.
func Within(all []Interval, at int64) bool {
	i := sort.Search(len(all), func(i int) bool { return all[i].To >= at })
	return i < len(all) && all[i].From <= at
}

// Overlaps reports whether [from, to] has a time in one of the intervals, which must be ordered and without overlaps.
func Overlaps(all []Interval, from, to int64) bool {
	i := sort.Search(len(all), func(i int) bool { return all[i].To >= from })
	return from <= to && i < len(all) && all[i].From <= to
}
