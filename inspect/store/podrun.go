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
// Many fields: one for each fact that distinguishes it from earlier and later runs.
type PodRun struct {
	Pod trace.Pod
	// N numbers the observed runs of this pod from 1.
	N int
	// Before is the pod's earlier run, nil if none is kept.
	Before *PodRun
	// Times are the times of its records.
	Times evidence.Times

	store  *Store
	after  *PodRun
	win    window
	again  evidence.Routine
	traces []trace.TraceID
	next   *Item // the milestone seen of the next run, which begins when this one is gone
	until  int64 // when the next run began, 0 if it has not
	// shift is subtracted from the times of its records from now on: the wall clock jumped by this during its start or
	// termination. jumps are these steps, newest first: the runtime's spans arrive late.
	shift int64
	jumps []jump
	// born and died are how often the agent had stopped when the run began and when it ended; died is -1 before that.
	// ending is how often the agent had started when the pod's termination began; -1 before that.
	born, died, ending int
	forgotten          bool
	marked             bool // it has had a milestone
	found, started     bool // found running; start observed
	incomplete         bool
	startIncomplete    bool
}

// Records returns the run's kept records, in order; those until the agent stopped, if it did.
func (p *PodRun) Records() []trace.Record { return p.Append(make([]trace.Record, 0, p.win.count())) }

// Append appends the records to a slice.
func (p *PodRun) Append(to []trace.Record) []trace.Record {
	recs := p.win.records(to)
	if stopped := p.stopped(); stopped != 0 {
		return slices.DeleteFunc(recs, func(r trace.Record) bool { _, span := r.Event.(*trace.RuntimeSpan); return r.Time > stopped && !span })
	}
	return recs
}

// Between calls f for each begin before from that has not ended, and for each record in [from, to], in order within
// each part, until f returns false; then it returns false, too.
func (p *PodRun) Between(from, to int64, f func(*Item) bool) bool { return p.win.between(from, to, f) }

// Continues reports whether something in it has begun and not ended.
func (p *PodRun) Continues() bool { return slices.ContainsFunc(p.win.open, isOpen) }

// Next returns the milestone of the pod's next run, which waits for the end of this one; nil if there is none.
func (p *PodRun) Next() *Item { return p.next }

// stopped returns when the agent last stopped during the run, 0 if it has not: waits that end after that were canceled,
// not finished.
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

// ended records that the run has ended, by its own milestone or because the next began.
func (p *PodRun) ended() {
	if p.died < 0 {
		p.died = len(p.store.stops)
		p.store.over++
	}
}

// From returns the time of its first record.
func (p *PodRun) From() time.Time { return time.Unix(0, p.Times.From) }

// Last returns the time of its newest record.
func (p *PodRun) Last() time.Time { return time.Unix(0, p.Times.Last) }

// Incomplete reports whether records of it are known to be missing.
func (p *PodRun) Incomplete() bool { return p.incomplete || p.win.dropped != 0 }

// Over reports whether the pod is gone, or its next run has begun.
func (p *PodRun) Over() bool { return p.Times.Gone != 0 || p.until != 0 }

// Started returns the run in which the pod's start was observed: p, unless a later agent found the pod running; then
// the earlier run that this one continues. nil: none is kept.
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

// Ref returns the run's name, as for session.Find.
func (p *PodRun) Ref() string { return fmt.Sprintf("%s#%d", p.Pod, p.N) }

// Waterfall explains the run's start. What has not ended is drawn up to now (zero: the run's last record).
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

// StartIncomplete reports whether records of its start are known to be missing.
func (p *PodRun) StartIncomplete() bool {
	return p.startIncomplete || p.win.dropped != 0 && (p.Times.Ready == 0 || p.win.dropped <= p.Times.Ready)
}

// At limits a time to the run's end, or the agent's.
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

// Interest returns when events around the run explain it.
func (p *PodRun) Interest(now time.Time) []evidence.Interval {
	return p.Times.Interest(cmp.Or(p.until, now.UnixNano()))
}

// add adds a record.
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
	if !p.marked && e.Name != trace.MilestoneSeen && !e.Adopted {
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

// ends records that the pod's termination begins.
func (p *PodRun) ends() {
	if p.ending < 0 {
		p.ending = p.store.agents
	}
}

// lose marks that records of this run may be missing from now on.
func (p *PodRun) lose() {
	p.incomplete = true
	p.startIncomplete = p.startIncomplete || p.Times.Ready == 0
}
