package trace

import "time"

// Edge distinguishes a begin, an end and an event without duration.
type Edge uint8

// The edges.
const (
	EdgePoint Edge = iota
	EdgeBegin
	EdgeEnd
)

// Record is one event with its time and its place in the causal tree.
type Record struct {
	// Seq numbers the records of one bus from 1, without gaps.
	Seq uint64
	// Time is in Unix nanoseconds. It follows the monotonic clock from the bus's creation, and may jump ahead at a
	// ClockStepped. It never goes back.
	Time int64
	// Edge says whether this is a begin, an end or a point.
	Edge Edge
	// Observer is who observed it, Also who else observed the same; Precision is how exactly its Time is known.
	Observer  Observer
	Also      ObserverSet
	Precision Precision
	// Dur is the time since the matching begin. Only ends have it.
	Dur time.Duration
	// Trace groups the records of one cause, usually one life of a pod.
	Trace TraceID
	// Span identifies a begin/end pair; a point has its own.
	Span SpanID
	// Parent is the span that caused this one; zero for a root.
	Parent SpanID
	// Pod is the record's pod; zero for the node.
	Pod Pod
	// Event is a pointer to one of this package's event types.
	Event Event
}

// At returns the record's time.
func (r *Record) At() time.Time { return time.Unix(0, r.Time) }

// Start returns when it began: Time minus Dur for an end, Time otherwise.
func (r *Record) Start() int64 { return r.Time - int64(r.Dur) }
