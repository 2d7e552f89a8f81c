package model

import (
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
)

// keptRecord is a record of a start without its pod, which all of a start have.
type keptRecord struct {
	Seq          uint64
	Time         int64
	Dur          time.Duration
	Trace        trace.TraceID
	Span, Parent trace.SpanID
	Event        trace.Event
	Edge         trace.Edge
	Observer     trace.Observer
	Precision    trace.Precision
}

func keep(r *trace.Record) keptRecord {
	return keptRecord{
		Seq: r.Seq, Time: r.Time, Dur: r.Dur, Trace: r.Trace, Span: r.Span, Parent: r.Parent, Event: r.Event,
		Edge: r.Edge, Observer: r.Observer, Precision: r.Precision,
	}
}

// records appends the records that are kept of the pod's start.
func (p *pod) records(to []trace.Record) []trace.Record {
	for i := range p.recs {
		k := &p.recs[i]
		to = append(to, trace.Record{
			Seq: k.Seq, Time: k.Time, Edge: k.Edge, Dur: k.Dur, Trace: k.Trace, Span: k.Span, Parent: k.Parent, Pod: p.Key, Event: k.Event,
			Observer: k.Observer, Precision: k.Precision,
		})
	}
	return to
}

const (
	// usualStart is how many records there is room for at first.
	usualStart = 16
	// maxSpare is how much room is kept of starts that are forgotten, each of PerStart records and as many spans at most.
	maxSpare = 4
)

// room is room for the records of a start.
func (m *Model) room() []keptRecord {
	if n := len(m.spare); n > 0 {
		r := m.spare[n-1]
		m.spare = m.spare[:n-1]
		return r
	}
	return make([]keptRecord, 0, usualStart)
}

// reuse takes the room of a start that is forgotten.
func (m *Model) reuse(r []keptRecord) {
	if cap(r) > 0 && len(m.spare) < maxSpare {
		clear(r)
		m.spare = append(m.spare, r[:0])
	}
}
