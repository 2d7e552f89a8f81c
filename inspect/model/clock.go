package model

import (
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
)

// jump is by how much later times of records are from a time on, as the wall clock was set forth.
type jump struct{ at, by int64 }

// maxJumps bounds those that are remembered of a start; more are nobody's work.
const maxJumps = 16

// clockStepped has what is kept of the starts and ends that continue be as if it had been by the clock as it is now: none is longer by a step.
func (m *Model) clockStepped(r *trace.Record, e *trace.ClockStepped) {
	if e.Jump <= 0 {
		return
	}
	for _, p := range m.pods {
		if !p.Terminating.IsZero() && p.Gone.IsZero() {
			p.Terminating = p.Terminating.Add(e.Jump)
		}
		if !p.recording || !p.Start.Ready.IsZero() || len(p.jumps) >= maxJumps {
			continue
		}
		// Nothing was between the two times on both sides of a step: the middle leaves room for clocks that are read one after the other.
		j := jump{at: r.Time - int64(e.Jump)/2, by: int64(e.Jump)}
		for i := range p.recs {
			p.recs[i].Time += j.by
			if span, ok := p.recs[i].Event.(*trace.RuntimeSpan); ok {
				p.recs[i].Event = j.over(span)
			}
		}
		p.jumps = append(p.jumps, j)
		if !p.Start.Seen.IsZero() {
			p.Start.Seen = p.Start.Seen.Add(time.Duration(j.by))
		}
	}
}

// over moves a span that began before the jump to where its start's records are.
func (j jump) over(e *trace.RuntimeSpan) *trace.RuntimeSpan {
	if e.Start >= j.at {
		return e
	}
	moved := *e
	moved.Start += j.by
	return &moved
}

// straight moves a span that is told late.
func (p *pod) straight(e *trace.RuntimeSpan) *trace.RuntimeSpan {
	for _, j := range p.jumps {
		e = j.over(e)
	}
	return e
}
