package model

import (
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
)

// maxPassDecisions limits Pass.Decisions.
const maxPassDecisions = 500

// Pass is one garbage collection pass.
type Pass struct {
	What       trace.GCKind
	Cause      trace.GCCause
	Begin      time.Time
	Dur        time.Duration // 0 while it runs
	Running    bool
	Uncertain  bool
	Considered int
	Removed    int
	Freed      int64 // bytes
	Usage      int   // percent; 0 if the pass does not depend on it
	Err        string
	// Decisions are the first 500 verdicts in order; Omitted counts the others.
	Decisions []Decision
	Omitted   int
}

// Decision is one verdict.
type Decision struct {
	Seq uint64
	At  time.Time
	Pod trace.Pod
	trace.Decision
}

// Passes returns the last garbage collection passes, oldest first.
func (m *Model) Passes() []Pass {
	out := make([]Pass, 0, m.passes.Len())
	m.passes.Each(func(p *Pass) {
		c := *p
		c.Decisions = append([]Decision(nil), p.Decisions...)
		out = append(out, c)
	})
	return out
}

// Decisions returns the last verdicts of any kind, oldest first.
func (m *Model) Decisions() []Decision { return m.decisions.List() }

func (m *Model) applyGC(r *trace.Record, e *trace.GC) {
	p := m.pass(r.Span)
	if p.Begin.IsZero() {
		p.Begin = at(r.Start())
	}
	p.What, p.Cause, p.Considered, p.Removed = e.What, e.Cause, e.Considered, e.Removed
	p.Freed, p.Usage, p.Err = e.Freed, e.Usage, e.Err
	if r.Edge == trace.EdgeBegin {
		p.Running = true
		m.begin(func() { p.Running = false }, func() { p.Uncertain = true })
		return
	}
	m.end()
	p.Running, p.Uncertain, p.Dur = false, false, r.Dur
}

// pass returns the pass of a span, which may be new.
func (m *Model) pass(id trace.SpanID) *Pass {
	if p := m.passOf[id]; p != nil {
		return p
	}
	p := &Pass{}
	if old, displaced := m.passes.Push(p); displaced {
		for id, o := range m.passOf {
			if o == old {
				delete(m.passOf, id)
				break
			}
		}
	}
	m.passOf[id] = p
	return p
}

func (m *Model) applyDecision(r *trace.Record, e *trace.Decision, p *pod) {
	d := Decision{Seq: r.Seq, At: r.At(), Pod: r.Pod, Decision: *e}
	m.decisions.Push(d)
	if p != nil {
		p.decide(d)
	}
	pass := m.passOf[r.Parent]
	switch {
	case pass == nil:
	case len(pass.Decisions) < maxPassDecisions:
		pass.Decisions = append(pass.Decisions, d)
	default:
		pass.Omitted++
	}
}
