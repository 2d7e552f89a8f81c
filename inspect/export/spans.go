package export

import (
	"cmp"
	"slices"

	"github.com/kubeloupe/kubeloupe/inspect/pair"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/sorting"
)

// Options choose among records.
type Options struct {
	// Pod limits the export to one pod; the zero value is all pods and the node. Without UID it
	// is all lives of that name.
	Pod trace.Pod
}

// span is something that took time.
type span struct {
	id, parent trace.SpanID
	trace      trace.TraceID
	pod        trace.Pod
	start, end int64 // Unix ns
	event      trace.Event
	open       bool // no end was recorded: end is the last record's time
	points     []point
	seen       seen
}

// seen is who observed something, and how exactly its times are known.
type seen struct {
	by        trace.Observer
	also      trace.ObserverSet
	precision trace.Precision
}

// see adds who observed a further record.
func (s *seen) see(r *trace.Record) {
	s.by, s.also, s.precision = r.Observer, s.also|r.Also, max(s.precision, r.Precision)
}

// point is something without duration.
type point struct {
	id, parent trace.SpanID
	trace      trace.TraceID
	pod        trace.Pod
	at         int64
	event      trace.Event
	seen       seen
}

// session is what a list of records tells, in the order of time.
type session struct {
	spans []*span
	by    pair.List[span]
	// points are those of which no span is known that caused them; others are in their spans.
	points []point
	// counts are points that are figures over time.
	counts []point
	agent  trace.Agent // what is known of it
	first  int64       // when the first of all began
}

// wants reports whether a record of that pod is requested.
func (o Options) wants(p trace.Pod) bool {
	if o.Pod.IsZero() {
		return true
	}
	return p.Namespace == o.Pod.Namespace && p.Name == o.Pod.Name && (o.Pod.UID == "" || o.Pod.UID == p.UID)
}

// fold pairs begins with ends. Records need not be complete: what has no end is open, what has no begin began
// when its end says.
func fold(recs []trace.Record, opt Options) *session {
	s := &session{by: pair.NewList[span](0)}
	var points []point
	last := int64(0)
	for i := range recs {
		r := &recs[i]
		last = max(last, r.Time)
		if a, ok := r.Event.(*trace.Agent); ok {
			s.know(a)
		}
		if r.Event == nil || !opt.wants(r.Pod) {
			continue
		}
		if s.first == 0 || r.Start() < s.first {
			s.first = r.Start()
		}
		switch e := r.Event.(type) {
		case *trace.RuntimeSpan:
			if sp, fresh := s.of(r); fresh {
				sp.start, sp.end = e.Start, e.Start+int64(max(e.Dur, 0))
			}
			continue
		case *trace.Pressure, *trace.Usage, *trace.ImageProgress:
			s.counts = append(s.counts, pointOf(r))
			continue
		}
		switch r.Edge {
		case trace.EdgeBegin:
			if sp, fresh := s.of(r); fresh {
				sp.open = true
			}
		case trace.EdgeEnd:
			sp, _ := s.of(r)
			sp.end, sp.open, sp.event = max(r.Time, sp.start), false, r.Event
		case trace.EdgePoint:
			points = append(points, pointOf(r))
		}
	}
	s.finish(points, last)
	return s
}

func pointOf(r *trace.Record) point {
	p := point{id: r.Span, parent: r.Parent, trace: r.Trace, pod: r.Pod, at: r.Time, event: r.Event}
	p.seen.see(r)
	return p
}

func (s *session) know(a *trace.Agent) {
	s.agent.Node, s.agent.Version = cmp.Or(a.Node, s.agent.Node), cmp.Or(a.Version, s.agent.Version)
	s.agent.Runtime, s.agent.RuntimeVersion = cmp.Or(a.Runtime, s.agent.Runtime), cmp.Or(a.RuntimeVersion, s.agent.RuntimeVersion)
}

// of is the span of a record, and whether this is the first of it.
func (s *session) of(r *trace.Record) (sp *span, fresh bool) {
	sp, fresh = s.by.Of(r)
	if fresh {
		start := r.Time - int64(max(r.Dur, 0))
		*sp = span{id: r.Span, parent: r.Parent, trace: r.Trace, pod: r.Pod, start: start, end: start, event: r.Event}
	}
	sp.seen.see(r)
	return sp, fresh
}

// finish ends what is open, hands points to their spans and puts all in order: by start, what is longer first.
func (s *session) finish(points []point, last int64) {
	s.spans = slices.Clone(s.by.All)
	for _, sp := range s.spans {
		if sp.open {
			sp.end = max(last, sp.start)
		}
	}
	for _, p := range points {
		if sp := s.by.Get(p.parent); sp != nil && sp.pod == p.pod {
			sp.points = append(sp.points, p)
			continue
		}
		s.points = append(s.points, p)
	}
	slices.SortStableFunc(s.spans, func(a, b *span) int {
		return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(b.end, a.end))
	})
}

// pods returns the pods that anything is known of, as they come; the node is the zero pod.
func (s *session) pods() []trace.Pod {
	first := map[trace.Pod]int64{}
	see := func(p trace.Pod, at int64) {
		if t, ok := first[p]; !ok || at < t {
			first[p] = at
		}
	}
	for _, sp := range s.spans {
		see(sp.pod, sp.start)
	}
	for _, p := range s.points {
		see(p.pod, p.at)
	}
	for _, p := range s.counts {
		see(p.pod, p.at)
	}
	out := make([]trace.Pod, 0, len(first))
	for p := range first {
		out = append(out, p)
	}
	sorting.Stable(out, func(a, b *trace.Pod) int {
		return cmp.Or(-compareBool(a.IsZero(), b.IsZero()), cmp.Compare(first[*a], first[*b]), cmp.Compare(a.String(), b.String()), cmp.Compare(a.UID, b.UID))
	})
	return out
}

// compareBool orders false before true.
func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}
