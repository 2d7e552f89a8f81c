package otlp

import (
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
)

// verdict is what became of a span.
type verdict int

const (
	placed verdict = iota
	held
	passed // to whoever merges the observers of a kubelet that is not ours
	foreign
	repeated
	outside // of the time of the call that it is below
	tooMany // of one call
)

// How far a span may reach beyond its call. The clocks are one machine's; slack is for what the bus's clock, which follows
// the monotonic one, and the wall clock differ by. A runtime continues for some time with a call that was cut short.
const (
	slack      = time.Second
	afterwards = 2 * time.Minute
)

// tree knows which spans are below which CRI call. It is bounded: the oldest is forgotten.
//
// Whose a span is, and when it may have been, is said by the call above it: a span is held until the one above it has come.
// Senders tell a span when it ends, so children come first.
type tree struct {
	calls  *recent[trace.SpanID, *call]
	traces map[trace.TraceID]int // how many calls of each are remembered
	told   *recent[key, *call]
	// sandboxes are the last calls that have CNI plugins run.
	sandboxes *recent[sandboxCall, *call]
	waiting   waiting
	now       func() time.Time
	// ahead is by how much times of records are ahead of the wall clock, by which spans are told, since that was set back; before is by how
	// much they were until it was set last.
	ahead, before int64
	// foreign takes in the spans of a kubelet that is not ours; nil for our own.
	foreign *adopter
}

type call struct {
	trace      trace.TraceID
	span       trace.SpanID
	pod        trace.Pod
	begin, end int64 // Unix nanoseconds; end is 0 while it is under way
	grace      time.Duration
	spans      int // placed below it
}

type key struct {
	trace trace.TraceID
	span  trace.SpanID
}

func newTree() *tree {
	return &tree{
		calls:  newRecent[trace.SpanID, *call](maxCalls),
		traces: map[trace.TraceID]int{},
		told:   newRecent[key, *call](maxPublished),

		sandboxes: newRecent[sandboxCall, *call](maxSandboxes),
		waiting:   waiting{below: map[key][]span{}, ids: map[key]bool{}, of: map[trace.TraceID]int{}},
		now:       time.Now,
	}
}

// follow learns of the CRI calls among recs. It returns what can be published now, parents first.
func (t *tree) follow(recs []trace.Record) (ready []span) {
	if t.foreign != nil {
		return t.followForeign(recs)
	}
	for i := range recs {
		r := &recs[i]
		if e, ok := r.Event.(*trace.ClockStepped); ok {
			t.before, t.ahead = t.ahead, int64(e.Ahead)
		}
		e, ok := r.Event.(*trace.CRICall)
		if !ok || r.Trace.IsZero() {
			continue
		}
		c, known := t.calls.get(r.Span)
		if !known {
			c = &call{trace: r.Trace, span: r.Span, pod: r.Pod, begin: r.Time - int64(r.Dur)}
			if old, full := t.calls.put(r.Span, c); full {
				t.forget(old.trace)
			}
			t.noteSandbox(e.Method, r.Pod, c)
			t.traces[r.Trace]++
		}
		if r.Edge == trace.EdgeEnd {
			c.end, c.grace = r.Time, slack
			if e.Err != "" {
				c.grace = afterwards
			}
		}
	}
	return nil
}

func (t *tree) forget(id trace.TraceID) {
	if t.traces[id]--; t.traces[id] <= 0 {
		delete(t.traces, id)
		t.waiting.drop(id)
	}
}

// within reports whether a span lies within the call's time, and puts it there by the clock of records: one that began before the wall
// clock was set is told by the time that it had then.
func (t *tree) within(c *call, s *trace.RuntimeSpan) bool {
	now := t.now().UnixNano() + t.ahead
	for _, ahead := range []int64{t.ahead, t.before} {
		moved := *s
		moved.Start += ahead
		if c.covers(&moved, now) {
			*s = moved
			return true
		}
	}
	return false
}

// covers reports whether a span lies within the call's time.
func (c *call) covers(s *trace.RuntimeSpan, now int64) bool {
	until := now + int64(slack)
	if c.end != 0 {
		until = c.end + int64(c.grace)
	}
	return s.Start >= c.begin-int64(slack) && s.Start <= until && int64(s.Dur) <= until-s.Start
}

// add takes a span and returns what can be published now, parents first. What became of the span itself is v; refused is what became of
// others that waited for it and were refused.
func (t *tree) add(s span) (ready []span, v verdict, refused []verdict) {
	if s.cni != "" {
		ready, v = t.place(s)
		return ready, v, nil
	}
	if t.foreign != nil {
		return t.adopt(s)
	}
	if _, again := t.told.get(s.key()); again || t.waiting.ids[s.key()] {
		return nil, repeated, nil
	}
	if t.traces[s.trace] == 0 {
		return nil, foreign, nil
	}
	c := t.above(s)
	if c == nil {
		t.waiting.hold(s)
		return nil, held, nil
	}
	return t.below(s, c)
}

// below places a span below a call, and those that waited for it.
func (t *tree) below(s span, c *call) (ready []span, v verdict, refused []verdict) {
	if v = t.put(&s, c); v != placed {
		return nil, v, nil
	}
	more, refused := t.waited(s.key(), c)
	return append([]span{s}, more...), placed, refused
}

// waited places the spans below a call that waited for one, and those that waited for them.
func (t *tree) waited(above key, c *call) (ready []span, refused []verdict) {
	for next := []key{above}; len(next) > 0; next = next[1:] {
		for _, child := range t.waiting.take(next[0]) {
			if v := t.put(&child, c); v != placed {
				refused = append(refused, v)
				continue
			}
			ready = append(ready, child)
			next = append(next, child.key())
		}
	}
	return ready, refused
}

// put gives a span to the call that it is below.
func (t *tree) put(s *span, c *call) verdict {
	switch {
	case !t.within(c, &s.event):
		return outside
	case c.spans >= maxCallSpans:
		return tooMany
	}
	c.spans++
	s.pod, s.in = c.pod, c.trace
	t.told.put(s.key(), c)
	return placed
}

// above returns the call that a span is below, nil where that is not known.
func (t *tree) above(s span) *call {
	if c, ok := t.calls.get(s.parent); ok && c.trace == s.trace {
		return c
	}
	c, _ := t.told.get(key{s.trace, s.parent})
	return c
}

func (s *span) key() key { return key{s.trace, s.id} }
