package export

import (
	"cmp"

	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/sorting"
)

// mark is one event of the trace: the begin or end of a span, a point, or a count.
type mark struct {
	at    int64
	typ   uint64
	track uint64
	span  *span
	point *point
	value int64
}

// marks returns all events in the order of time. At one time what ends on a track comes before what begins on it.
func (p *perfetto) marks() []mark {
	var out []mark
	for _, l := range p.lanes.all {
		out = l.marks(out)
	}
	points := func(in []point) {
		for i := range in {
			out = append(out, mark{at: in[i].at, typ: typeInstant, track: p.points[in[i].pod], point: &in[i]})
		}
	}
	points(p.session.points)
	for _, sp := range p.session.spans {
		points(sp.points)
	}
	out = append(out, p.countMarks()...)
	sorting.Stable(out, func(a, b *mark) int { return cmp.Compare(a.at, b.at) })
	return out
}

// marks adds the lane's begins and ends, in the order in which they nest.
func (l *lane) marks(out []mark) []mark {
	var stack []*span
	leave := func(at int64, all bool) {
		for n := len(stack); n > 0 && (all || stack[n-1].end <= at); n-- {
			out = append(out, mark{at: stack[n-1].end, typ: typeEnd, track: l.uuid(), span: stack[n-1]})
			stack = stack[:n-1]
		}
	}
	for _, sp := range l.spans {
		leave(sp.start, false)
		out = append(out, mark{at: sp.start, typ: typeBegin, track: l.uuid(), span: sp})
		stack = append(stack, sp)
	}
	leave(0, true)
	return out
}

// mark writes an event.
func (p *perfetto) mark(m mark) {
	var e, packet message
	e.uint(eventType, m.typ)
	e.uint(eventTrack, m.track)
	switch {
	case m.typ == typeBegin:
		p.begin(&e, m.span)
	case m.typ == typeInstant:
		e.string(eventCategories, m.point.event.Kind().String())
		e.string(eventName, nameOf(m.point.event))
		annotate(&e, m.point.event)
	case m.typ == typeCounter:
		e.uint(eventCount, uint64(m.value))
	}
	packet.uint(packetTime, uint64(max(m.at, 0)))
	packet.message(packetEvent, e)
	p.packet(packet)
}

func (p *perfetto) begin(e *message, sp *span) {
	e.string(eventCategories, sp.event.Kind().String())
	e.string(eventName, nameOf(sp.event))
	for _, id := range p.flows[sp] {
		e.fixed(eventFlows, id)
	}
	if p.caused[sp] {
		e.fixed(eventFlowsEnd, uint64(sp.id))
	}
	annotate(e, sp.event)
	note(e, "span", sp.id.String())
	if !sp.trace.IsZero() {
		note(e, "trace", sp.trace.String())
	}
	if sp.open {
		note(e, "open", true)
	}
	if err := trace.Failure(sp.event); err != "" {
		note(e, "failed", true)
	}
}

// annotate tells an event's fields.
func annotate(e *message, of trace.Event) {
	for _, f := range fieldsOf(of) {
		note(e, f.name, f.value)
	}
}

func note(e *message, name string, value any) {
	var m message
	m.string(noteName, name)
	switch v := value.(type) {
	case bool:
		m.uint(noteBool, map[bool]uint64{true: 1}[v])
	case int64:
		m.uint(noteInt, uint64(v))
	case float64:
		m.double(noteDouble, v)
	case string:
		m.string(noteString, v)
	}
	e.message(eventAnnotations, m)
}
