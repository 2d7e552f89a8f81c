package trace

import "context"

// Pod names the pod that a record is about. The zero value means the node.
type Pod struct {
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name,omitempty"`
	UID       string `json:"uid,omitempty"`
}

// String returns namespace/name, or "" for the node.
func (p Pod) String() string {
	if p.Namespace == "" && p.Name == "" {
		return ""
	}
	return p.Namespace + "/" + p.Name
}

// IsZero reports whether no pod is named.
func (p Pod) IsZero() bool { return p == Pod{} }

// Span is the identity of something that has begun. It is a value: copy it
// freely. The zero Span is the root of a new trace.
type Span struct {
	Trace  TraceID
	ID     SpanID
	Parent SpanID
	Pod    Pod
	// Observer says who observed what is published under it, Precision how exactly the time is known.
	Observer  Observer
	Precision Precision
	start     int64 // monotonic time since the bus's birth, and one nanosecond; 0 where it was not begun on one
}

// ForPod returns the span stamped with a pod; spans below it inherit the stamp.
func ForPod(s Span, p Pod) Span {
	s.Pod = p
	return s
}

// Linked returns a span that continues the trace of id under parent, for work
// whose cause was handed over by value rather than by context.
func Linked(trace TraceID, parent SpanID, pod Pod) Span {
	return Span{Trace: trace, ID: parent, Pod: pod}
}

type spanKey struct{}

// ContextWith returns a context that carries the span.
func ContextWith(ctx context.Context, s Span) context.Context {
	return context.WithValue(ctx, spanKey{}, s)
}

// FromContext returns the span that ctx carries, or the zero Span.
func FromContext(ctx context.Context) Span {
	s, _ := ctx.Value(spanKey{}).(Span)
	return s
}
