package trace

import "context"

// Pod identifies the pod of a record. The zero value means the node.
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

// IsZero reports whether there is no pod.
func (p Pod) IsZero() bool { return p == Pod{} }

// Span is the identity of something that has begun. It is a value that can be copied. The zero Span is the root of a
// new trace.
type Span struct {
	Trace  TraceID
	ID     SpanID
	Parent SpanID
	Pod    Pod
	// Observer is the observer of everything that is published below it, Precision how exactly the time is known.
	Observer  Observer
	Precision Precision
	start     int64 // monotonic time since the bus's creation, plus one nanosecond; 0 if it did not begin on a bus
}

// ForPod returns the span with a pod; spans below it inherit the pod.
func ForPod(s Span, p Pod) Span {
	s.Pod = p
	return s
}

// Linked returns a span that continues a trace below parent, for work whose cause was passed by value, not in a
// context.
func Linked(trace TraceID, parent SpanID, pod Pod) Span {
	return Span{Trace: trace, ID: parent, Pod: pod}
}

type spanKey struct{}

// ContextWith returns a context with the span.
func ContextWith(ctx context.Context, s Span) context.Context {
	return context.WithValue(ctx, spanKey{}, s)
}

// FromContext returns the span in ctx, or the zero Span.
func FromContext(ctx context.Context) Span {
	s, _ := ctx.Value(spanKey{}).(Span)
	return s
}
