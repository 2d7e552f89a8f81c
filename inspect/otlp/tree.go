package otlp

import (
	"github.com/kubeloupe/kubeloupe/trace"
)

// verdict is what became of a span.
type verdict int

const (
	placed verdict = iota
	held
	foreign
	repeated
)

// tree knows which spans are below which CRI call. It is bounded: the oldest is forgotten.
//
// A trace is usually about one pod, and then its id says whose a span is. Where calls for
// several pods share a trace (a pass of the garbage collection), a span is held until the
// one above it has come: senders tell a span when it ends, so children come first.
type tree struct {
	calls  *recent[trace.SpanID, call]
	traces map[trace.TraceID]*known
	told   *recent[key, trace.Pod]
	// sandboxes are the last calls that have CNI plugins run.
	sandboxes *recent[sandboxCall, call]
	held      []span
	lost      uint64
}

type call struct {
	trace trace.TraceID
	span  trace.SpanID
	pod   trace.Pod
}

// known is what is known of a trace.
type known struct {
	pod   trace.Pod
	calls int  // how many of them are remembered
	mixed bool // they are not all for one pod
}

type key struct {
	trace trace.TraceID
	span  trace.SpanID
}

func newTree() *tree {
	return &tree{
		calls:  newRecent[trace.SpanID, call](maxCalls),
		traces: map[trace.TraceID]*known{},
		told:   newRecent[key, trace.Pod](maxPublished),

		sandboxes: newRecent[sandboxCall, call](maxSandboxes),
	}
}

// follow learns of the CRI calls among recs.
func (t *tree) follow(recs []trace.Record) {
	for i := range recs {
		r := &recs[i]
		e, ok := r.Event.(*trace.CRICall)
		if !ok || r.Trace.IsZero() {
			continue
		}
		if _, known := t.calls.get(r.Span); known {
			continue
		}
		c := call{trace: r.Trace, span: r.Span, pod: r.Pod}
		if old, full := t.calls.put(r.Span, c); full {
			t.forget(old.trace)
		}
		t.noteSandbox(e.Method, r.Pod, c)
		k := t.traces[r.Trace]
		if k == nil {
			k = &known{pod: r.Pod}
			t.traces[r.Trace] = k
		}
		k.calls++
		k.mixed = k.mixed || k.pod != r.Pod
	}
}

func (t *tree) forget(id trace.TraceID) {
	k := t.traces[id]
	if k == nil {
		return
	}
	if k.calls--; k.calls <= 0 {
		delete(t.traces, id)
	}
}

// add takes a span and returns what can be published now, parents first.
func (t *tree) add(s span) (ready []span, v verdict) {
	if s.cni != "" {
		return t.place(s)
	}
	if _, again := t.told.get(key{s.trace, s.id}); again || t.waits(s) {
		return nil, repeated
	}
	k := t.traces[s.trace]
	if k == nil {
		return nil, foreign
	}
	pod, ok := t.above(s)
	switch {
	case ok:
	case !k.mixed:
		pod = k.pod
	default:
		if len(t.held) >= maxHeld {
			t.held = t.held[1:]
			t.lost++
		}
		t.held = append(t.held, s)
		return nil, held
	}
	s.pod = pod
	t.told.put(key{s.trace, s.id}, pod)
	return t.release([]span{s}), placed
}

// above returns the pod of the call or span above s.
func (t *tree) above(s span) (trace.Pod, bool) {
	if c, ok := t.calls.get(s.parent); ok && c.trace == s.trace {
		return c.pod, true
	}
	return t.told.get(key{s.trace, s.parent})
}

func (t *tree) waits(s span) bool {
	for i := range t.held {
		if t.held[i].id == s.id && t.held[i].trace == s.trace {
			return true
		}
	}
	return false
}

// release adds to ready what was held for those in it.
func (t *tree) release(ready []span) []span {
	for i := 0; i < len(ready) && len(t.held) > 0; i++ {
		kept := t.held[:0]
		for _, s := range t.held {
			if s.trace != ready[i].trace || s.parent != ready[i].id {
				kept = append(kept, s)
				continue
			}
			s.pod = ready[i].pod
			t.told.put(key{s.trace, s.id}, s.pod)
			ready = append(ready, s)
		}
		clear(t.held[len(kept):])
		t.held = kept
	}
	return ready
}

// recent is a map that keeps the last entries put into it.
type recent[K comparable, V any] struct {
	m    map[K]V
	ring []K
	next int
}

func newRecent[K comparable, V any](n int) *recent[K, V] {
	return &recent[K, V]{m: map[K]V{}, ring: make([]K, 0, n)}
}

func (r *recent[K, V]) get(k K) (V, bool) {
	v, ok := r.m[k]
	return v, ok
}

// set adds an entry or replaces it.
func (r *recent[K, V]) set(k K, v V) {
	if _, ok := r.m[k]; ok {
		r.m[k] = v
		return
	}
	r.put(k, v)
}

// put adds an entry that is not there yet and returns the one that had to go.
func (r *recent[K, V]) put(k K, v V) (old V, full bool) {
	if len(r.ring) < cap(r.ring) {
		r.ring = append(r.ring, k)
	} else {
		old, full = r.m[r.ring[r.next]], true
		delete(r.m, r.ring[r.next])
		r.ring[r.next] = k
		r.next = (r.next + 1) % len(r.ring)
	}
	r.m[k] = v
	return old, full
}
