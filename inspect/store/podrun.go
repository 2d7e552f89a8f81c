package store

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/evidence"
	"github.com/kubeloupe/kubeloupe/inspect/waterfall"
	"github.com/kubeloupe/kubeloupe/trace"
)

// PodRun is one run of a pod, from when it was seen until it was gone.
//
// Many fields: one for each fact that tells a run from those before and after it.
type PodRun struct {
	Pod trace.Pod
	// N counts the runs of this pod from 1, as far as they were seen.
	N int
	// Before is the run of the same pod before this one, nil where none is kept.
	Before *PodRun
	// Times are those of its records.
	Times evidence.Times

	store  *Store
	after  *PodRun
	win    window
	again  evidence.Routine
	traces []trace.TraceID
	next   *Item // the milestone seen of the run that begins when this one is gone
	until  int64 // when the next run began, 0 while none did
	// shift is what is taken off the times of its records from here on: by so much the wall clock jumped while it started or ended. jumps are those
	// steps, the newest first: the runtime's spans are told late.
	shift int64
	jumps []jump
	// born and died are how often the agent had stopped when the run began and when it was over; died is -1 before that. ending is how often it
	// had started when the pod was to go first; -1 before that.
	born, died, ending int
	forgotten          bool
	marked             bool // it has had a milestone
	found, started     bool // found running; seen to start
	incomplete         bool
	startIncomplete    bool
}

// Records are the run's records as far as they are kept, in order; those until the agent stopped, if it did.
func (p *PodRun) Records() []trace.Record { return p.Append(make([]trace.Record, 0, p.win.count())) }

// Append appends the records to some.
func (p *PodRun) Append(to []trace.Record) []trace.Record {
	recs := p.win.records(to)
	if stopped := p.stopped(); stopped != 0 {
		return slices.DeleteFunc(recs, func(r trace.Record) bool { _, span := r.Event.(*trace.RuntimeSpan); return r.Time > stopped && !span })
	}
	return recs
}

// Between calls f for each begin before from of what has not ended, and for each record made in [from, to], in order within each part, until
// f is false; then it is false, too.
func (p *PodRun) Between(from, to int64, f func(*Item) bool) bool { return p.win.between(from, to, f) }

// Continues reports whether something in it has begun and not ended.
func (p *PodRun) Continues() bool { return slices.ContainsFunc(p.win.open, isOpen) }

// Next is the milestone of the pod's next run, which waits for the end of this one; nil when there is none.
func (p *PodRun) Next() *Item { return p.next }

// stopped is when the agent stopped last during the run, 0 while it had not: waits that end after that were given up, not over.
func (p *PodRun) stopped() int64 {
	stops := p.store.stops
	if p.died >= 0 {
		stops = stops[:p.died]
	}
	if len(stops) <= p.born {
		return 0
	}
	return stops[len(stops)-1]
}

// ended notes that the run is over, by its own milestone or because the next began.
func (p *PodRun) ended() {
	if p.died < 0 {
		p.died = len(p.store.stops)
		p.store.over++
	}
}

// From is when its first record was made.
func (p *PodRun) From() time.Time { return time.Unix(0, p.Times.From) }

// Last is when its newest record was made.
func (p *PodRun) Last() time.Time { return time.Unix(0, p.Times.Last) }

// Incomplete says that records of it are known to be missing.
func (p *PodRun) Incomplete() bool { return p.incomplete || p.win.dropped != 0 }

// Over reports whether the pod is gone, or its next run has begun.
func (p *PodRun) Over() bool { return p.Times.Gone != 0 || p.until != 0 }

// Started returns the run in which the pod was seen to start: p, unless an agent that came later found the pod running;
// then the earlier one, of which that agent continues. nil: none that is kept.
func (p *PodRun) Started() *PodRun {
	if !p.found {
		return p
	}
	for e := p.Before; e != nil && e.Times.Gone == 0; e = e.Before {
		if !e.found {
			if e.started {
				return e
			}
			return nil
		}
	}
	return nil
}

// Ref names the run, as session.Find takes it.
func (p *PodRun) Ref() string { return fmt.Sprintf("%s#%d", p.Pod, p.N) }

// Waterfall explains the run's start. What continues is drawn up to now (zero: the run's last record).
func (p *PodRun) Waterfall(now time.Time) (*waterfall.Waterfall, error) {
	return p.WaterfallOf(p.Records(), now)
}

// WaterfallOf is Waterfall of the run's records.
func (p *PodRun) WaterfallOf(recs []trace.Record, now time.Time) (*waterfall.Waterfall, error) {
	w, err := waterfall.BuildAt(recs, p.Pod, p.At(now))
	if err != nil {
		return nil, err
	}
	w.Incomplete = w.Incomplete || p.StartIncomplete()
	return w, nil
}

// StartIncomplete says that records of its start are known to be missing.
func (p *PodRun) StartIncomplete() bool {
	return p.startIncomplete || p.win.dropped != 0 && (p.Times.Ready == 0 || p.win.dropped <= p.Times.Ready)
}

// At bounds a time by the run's end, or the agent's.
func (p *PodRun) At(now time.Time) time.Time {
	if !now.IsZero() {
		now = now.Add(-time.Duration(p.shift))
	}
	for _, end := range []int64{p.until, p.stopped()} {
		if end != 0 && (now.IsZero() || now.UnixNano() > end) {
			now = time.Unix(0, end)
		}
	}
	return now
}

// Interest is when what happened around it explains the run.
func (p *PodRun) Interest(now time.Time) []evidence.Interval {
	return p.Times.Interest(cmp.Or(p.until, now.UnixNano()))
}

// add takes a record.
func (p *PodRun) add(it *Item) {
	if p.store.policy.Straight {
		it.Time -= p.shift
		if e, ok := it.Event.(*trace.RuntimeSpan); ok {
			it.Event = p.straight(e)
		}
	}
	p.Times.See(&it.Record)
	switch e := it.Event.(type) {
	case *trace.Milestone:
		p.mark(e)
	case *trace.Worker:
		if evidence.Ends(e) {
			p.ends()
		}
	case *trace.Sync:
		p.store.settle(p, it)
	}
	p.win.add(it)
	if a := p.again.See(&p.Times, &it.Record); a != nil {
		p.win.forget(a)
	}
}

func (p *PodRun) mark(e *trace.Milestone) {
	if !p.marked && e.Name != trace.MilestoneSeen {
		p.lose() // it was seen before the first record
	}
	p.marked = true
	p.found = p.found || e.Adopted
	switch e.Name {
	case trace.MilestoneStarted:
		p.started = true
	case trace.MilestoneTerminating:
		p.ends()
	case trace.MilestoneGone:
		p.ends()
		p.ended()
	case trace.MilestoneSeen, trace.MilestoneReady:
	}
}

// ends notes that the pod is to go.
func (p *PodRun) ends() {
	if p.ending < 0 {
		p.ending = p.store.agents
	}
}

// lose says that records of this run may be missing from here on.
func (p *PodRun) lose() {
	p.incomplete = true
	p.startIncomplete = p.startIncomplete || p.Times.Ready == 0
}
