package session

import (
	"cmp"
	"slices"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/evidence"
	"github.com/kubeloupe/kubeloupe/inspect/waterfall"
	"github.com/kubeloupe/kubeloupe/trace"
)

// PodRun is one run of a pod, from when it was seen until it was gone.
//
// Many fields: one for each kind of record that causes look at, so that none has to be searched for.
type PodRun struct {
	Pod trace.Pod
	// N counts the runs of this pod from 1, as far as they were seen.
	N int

	win    window
	times  evidence.Times
	again  evidence.Routine
	traces []trace.TraceID
	before *PodRun // of the same pod
	after  *PodRun
	// from is when the first record was made, last the newest; until is when the next run began, 0 while none did.
	from, last, until int64
	// shift is what is taken off the times of its records from here on: by so much the wall clock jumped while it started or ended. jumps are those
	// steps, the newest first: the runtime's spans are told late.
	shift int64
	jumps []jump
	// born and died are how often the agent had stopped when the run began and when it was over; died is -1 before that.
	session         *Session
	born, died      int
	forgotten       bool
	marked          bool // it has had a milestone
	found, started  bool // found running; seen to start
	ending          bool
	ready, gone     time.Time
	incomplete      bool
	startIncomplete bool
}

// Records are the run's records as far as they are kept, in order; those until the agent stopped, if it did.
func (l *PodRun) Records() []trace.Record {
	recs := l.win.records()
	if stopped := l.stopped(); stopped != 0 {
		return slices.DeleteFunc(recs, func(r trace.Record) bool { _, span := r.Event.(*trace.RuntimeSpan); return r.Time > stopped && !span })
	}
	return recs
}

// stopped is when the agent stopped last during the run, 0 while it had not: waits that end after that were given up, not over.
func (l *PodRun) stopped() int64 {
	stops := l.session.stops
	if l.died >= 0 {
		stops = stops[:l.died]
	}
	if len(stops) <= l.born {
		return 0
	}
	return stops[len(stops)-1]
}

// ended notes that the run is over, by its own milestone or because the next began.
func (l *PodRun) ended() {
	if l.died < 0 {
		l.died = len(l.session.stops)
	}
}

// From is when its first record was made, Last its newest.
func (l *PodRun) From() time.Time { return time.Unix(0, l.from) }

// Last is when its newest record was made.
func (l *PodRun) Last() time.Time { return time.Unix(0, l.last) }

// Incomplete says that records of it are known to be missing.
func (l *PodRun) Incomplete() bool { return l.incomplete || l.win.dropped }

// Waterfall explains the run's start. What continues is drawn up to now (zero: the run's last record).
func (l *PodRun) Waterfall(now time.Time) (*waterfall.Waterfall, error) {
	return l.fall(l.Records(), now)
}

func (l *PodRun) fall(recs []trace.Record, now time.Time) (*waterfall.Waterfall, error) {
	w, err := waterfall.BuildAt(recs, l.Pod, l.at(now))
	if err != nil {
		return nil, err
	}
	w.Incomplete = w.Incomplete || l.startIncomplete || l.ready.IsZero() && l.win.dropped
	return w, nil
}

// at bounds a time by the run's end, or the agent's.
func (l *PodRun) at(now time.Time) time.Time {
	if !now.IsZero() {
		now = now.Add(-time.Duration(l.shift))
	}
	for _, end := range []int64{l.until, l.stopped()} {
		if end != 0 && (now.IsZero() || now.UnixNano() > end) {
			now = time.Unix(0, end)
		}
	}
	return now
}

func (l *PodRun) over() bool { return !l.gone.IsZero() || l.until != 0 }

// jump is a step of the wall clock: from its time on, so much is taken off in all.
type jump struct{ at, shift int64 }

// maxJumps bounds the steps that are remembered; more in one start are nobody's work.
const maxJumps = 16

// jumped notes that times of records went ahead by so much at a time.
func (l *PodRun) jumped(at, by int64) {
	l.shift += by
	// Nothing was between the two times on both sides of a step: the middle leaves room for clocks that are read one after the other.
	l.jumps = append([]jump{{at: at - by/2, shift: l.shift}}, l.jumps[:min(len(l.jumps), maxJumps)]...)
}

// straight has a span's time continue like those of the run's records.
func (l *PodRun) straight(e *trace.RuntimeSpan) *trace.RuntimeSpan {
	for _, j := range l.jumps {
		if e.Start >= j.at {
			moved := *e
			moved.Start -= j.shift
			return &moved
		}
	}
	return e
}

func (l *PodRun) add(r trace.Record) {
	r.Time -= l.shift
	if e, ok := r.Event.(*trace.RuntimeSpan); ok {
		r.Event = l.straight(e)
	}
	l.last = max(l.last, r.Time)
	l.times.See(&r)
	if m, ok := r.Event.(*trace.Milestone); ok {
		if !l.marked && m.Name != trace.MilestoneSeen {
			l.lose() // it was seen before the first record
		}
		l.marked = true
		l.found = l.found || m.Adopted
		switch m.Name {
		case trace.MilestoneStarted:
			l.started = true
		case trace.MilestoneReady:
			l.ready = r.At()
		case trace.MilestoneTerminating:
			l.ending = true
		case trace.MilestoneGone:
			l.gone = r.At()
			l.ended()
		case trace.MilestoneSeen:
		}
	}
	l.win.add(r)
	if a := l.again.See(&l.times, &r); a != nil {
		l.win.forget(a)
	}
}

// lose says that records of this run may be missing from here on.
func (l *PodRun) lose() {
	l.incomplete = true
	l.startIncomplete = l.startIncomplete || l.ready.IsZero()
}

// interest is when what happened around it explains the run.
func (l *PodRun) interest(now time.Time) []evidence.Interval {
	return l.times.Interest(cmp.Or(l.until, now.UnixNano()))
}
