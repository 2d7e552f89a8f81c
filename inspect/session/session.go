package session

import (
	"cmp"
	"slices"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/evidence"
	"github.com/kubeloupe/kubeloupe/trace"
)

// Defaults of Options.
const (
	DefaultRuns   = 20_000
	DefaultPerRun = evidence.PerRun
	DefaultNode   = 1 << 17
	DefaultBytes  = 512 << 20
	DefaultOthers = 10_000_000
)

// Options bound what is kept.
type Options struct {
	// Runs is how many runs; of more, the oldest that is over goes first.
	Runs int
	// PerRun is how many records of a run: half of them the first, half the newest. What has not ended, milestones and the last
	// status are kept besides.
	PerRun int
	// Node is how many records about the node itself: the newest.
	Node int
	// Bytes is how much all records may have taken in memory; from then on records are kept with short texts and lists. Anybody may have
	// written a recording.
	Bytes int
	// Others is about how many records of the node and of other runs all cases of [Session.Cases] have together.
	Others int
}

// Session is a stream of records, folded.
type Session struct {
	opt   Options
	runs  []*PodRun // oldest first
	byPod map[trace.Pod]*PodRun
	// byTrace finds whose a span of the runtime is that does not say.
	byTrace map[trace.TraceID]*PodRun
	node    window
	// reaches are the runs' times, in their order; made when a case asks, and empty again when a record comes.
	reaches reaches
	// whole are the runs of which no record was lost since they began.
	whole []*PodRun
	// stops are when the agent stopped.
	stops []int64
	// left are verdicts on directories of pods that are gone, by their UIDs.
	left map[string]trace.Record
	last int64
	size int // bytes of all records that came
}

// New returns a session without records.
func New(opt Options) *Session {
	opt.Runs, opt.PerRun = cmp.Or(opt.Runs, DefaultRuns), cmp.Or(opt.PerRun, DefaultPerRun)
	opt.Node, opt.Others = cmp.Or(opt.Node, DefaultNode), cmp.Or(opt.Others, DefaultOthers)
	opt.Bytes = cmp.Or(opt.Bytes, DefaultBytes)
	s := &Session{
		opt: opt, byPod: map[trace.Pod]*PodRun{}, byTrace: map[trace.TraceID]*PodRun{}, node: newWindow(0, opt.Node), left: map[string]trace.Record{},
	}
	s.node.notes = seenAfar
	return s
}

// Apply folds a record in. Records come in the order in which they were published.
func (s *Session) Apply(r *trace.Record) {
	if r.Event == nil {
		return
	}
	s.last, s.reaches = max(s.last, r.Time), reaches{}
	rec := lean(*r)
	if s.size += rec.Size(); s.size > s.opt.Bytes {
		rec.Shorten()
	}
	l := s.runOf(&rec)
	if l == nil {
		s.stepped(&rec)
		s.agent(&rec)
		s.leave(&rec)
		s.node.add(rec)
		return
	}
	l.add(rec)
}

// stepped has the runs that have not come to be ready, or are ending, go on as if the wall clock had not been set, or the machine not
// been suspended: what a start or an end takes, and what waits in it, is not to be longer by that.
func (s *Session) stepped(r *trace.Record) {
	e, ok := r.Event.(*trace.ClockStepped)
	if !ok || e.Jump <= 0 {
		return
	}
	for _, l := range s.runs {
		if (l.ready.IsZero() || l.ending) && !l.over() {
			l.jumped(r.Time, int64(e.Jump))
		}
	}
}

// agent notes that the agent stops.
func (s *Session) agent(r *trace.Record) {
	a, ok := r.Event.(*trace.Agent)
	switch {
	case !ok || a.State != trace.AgentStopping:
	case len(s.stops) == maxStops: // the newest counts
		s.stops[maxStops-1] = r.Time
	default:
		s.stops = append(s.stops, r.Time)
	}
}

// Lost says that n records are missing here.
func (s *Session) Lost(n uint64) {
	if n == 0 {
		return
	}
	for _, l := range s.whole {
		if l.gone.IsZero() && l.until == 0 {
			l.lose()
		}
	}
	s.whole = s.whole[:0] // what was lost once is: a second time adds nothing
}

// Runs returns all runs that are kept, the oldest first.
func (s *Session) Runs() []*PodRun { return s.runs }

// Last is when the newest record was made; zero before the first.
func (s *Session) Last() time.Time {
	if s.last == 0 {
		return time.Time{}
	}
	return time.Unix(0, s.last)
}

// runOf returns the run that a record belongs to, which may begin with it; nil for the node.
func (s *Session) runOf(r *trace.Record) *PodRun {
	if span, ok := r.Event.(*trace.RuntimeSpan); ok {
		return s.runOfSpan(r, span)
	}
	if r.Pod.Name == "" { // of a pod that no longer exists there is a UID: what is done to its leftovers is the node's
		return nil
	}
	l := s.byPod[r.Pod]
	if m, ok := r.Event.(*trace.Milestone); l == nil || ok && m.Name == trace.MilestoneSeen && l.marked {
		l = s.begin(r, l)
	}
	if _, ok := r.Event.(*trace.CRICall); ok && !r.Trace.IsZero() && s.byTrace[r.Trace] != l && len(l.traces) < maxTraces && len(s.byTrace) < maxAllTraces {
		s.byTrace[r.Trace] = l
		l.traces = append(l.traces, r.Trace)
	}
	return l
}

// runOfSpan finds the run that a span of the runtime is about: it may be told when the next has begun.
func (s *Session) runOfSpan(r *trace.Record, span *trace.RuntimeSpan) *PodRun {
	l := s.byPod[r.Pod]
	if l == nil {
		l = s.byTrace[r.Trace]
	}
	for range maxBack {
		if l == nil || l.before == nil || span.Start >= l.from {
			break
		}
		l = l.before
	}
	if l != nil {
		r.Pod = l.Pod
	}
	return l
}

// begin begins a run of the record's pod, after the one before it, if any.
func (s *Session) begin(r *trace.Record, before *PodRun) *PodRun {
	l := &PodRun{Pod: r.Pod, N: 1, from: r.Time, win: newWindow(s.opt.PerRun/2, s.opt.PerRun-s.opt.PerRun/2), before: before, session: s, born: len(s.stops), died: -1}
	if before != nil {
		l.N, before.until, before.after = before.N+1, r.Time, l
		before.ended()
	}
	s.byPod[r.Pod] = l
	s.runs, s.whole = append(s.runs, l), append(s.whole, l)
	if len(s.runs) > s.opt.Runs {
		s.forget()
	}
	return l
}

// maxBack is how many runs back a span of the runtime may be told late.
const maxBack = 64

// maxTraces bounds the traces that lead to a run: it mostly has one; maxAllTraces those of all. maxStops bounds how often the agent
// stopped. Anybody may have written a recording.
const (
	maxTraces    = 256
	maxAllTraces = 1 << 18
	maxStops     = 1 << 16
)

// forget drops the oldest run that is over; if none is, the oldest. Room is made for some at once.
func (s *Session) forget() {
	drop := max(1, s.opt.Runs/64)
	kept := make([]*PodRun, 0, len(s.runs))
	newest := s.runs[len(s.runs)-1]
	for _, l := range s.runs {
		if drop > 0 && l != newest && l.over() {
			drop--
			s.unlink(l)
			continue
		}
		kept = append(kept, l)
	}
	if over := len(kept) - s.opt.Runs; over > 0 {
		over = min(over+drop-1, len(kept)-1)
		for _, l := range kept[:over] {
			s.unlink(l)
		}
		kept = append([]*PodRun(nil), kept[over:]...)
	}
	s.runs = kept
	s.whole = slices.DeleteFunc(s.whole, func(l *PodRun) bool { return l.forgotten })
}

// unlink removes what leads to a run.
func (s *Session) unlink(l *PodRun) {
	l.forgotten = true
	if s.byPod[l.Pod] == l {
		delete(s.byPod, l.Pod)
	}
	for _, t := range l.traces {
		if s.byTrace[t] == l {
			delete(s.byTrace, t)
		}
	}
	if l.after != nil {
		l.after.before = nil
	}
}

// lean is a record without what is large and looked at only by views.
func lean(r trace.Record) trace.Record {
	r.Event = trace.WithoutBodies(r.Event)
	if e, ok := r.Event.(*trace.StatusPatch); ok && e.Patch != "" {
		c := *e
		c.Patch = ""
		r.Event = &c
	}
	return r
}
