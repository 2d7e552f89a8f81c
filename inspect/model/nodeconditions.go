package model

import (
	"slices"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/evidence"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/sorting"
)

// Condition is one of the node's conditions, as last written.
type Condition struct {
	Type   string
	Status string // True, False, Unknown
	Reason string // CamelCase; "" if unknown
	// At is when it was written; zero: not seen.
	At  time.Time
	Seq uint64 // its record's number
}

// NodeConditions returns the conditions of the node that are known from writes of its object, Ready first. Except for
// Ready, which every write has, conditions that have not changed since the first record are missing.
func (m *Model) NodeConditions() []Condition {
	out := make([]Condition, 0, len(m.conditions))
	for _, c := range m.conditions {
		out = append(out, c)
	}
	order := evidence.NodeConditions()
	sorting.Stable(out, func(a, b *Condition) int { return slices.Index(order, a.Type) - slices.Index(order, b.Type) })
	return out
}

// applyConditions takes the conditions from a write of the node's object.
func (m *Model) applyConditions(r *trace.Record, e *trace.NodeStatus) {
	if r.Edge == trace.EdgeBegin || e.Err != "" {
		return
	}
	for i := range e.Changed {
		if c := &e.Changed[i]; c.What == trace.ChangeCondition && c.From != c.To && slices.Contains(evidence.NodeConditions(), c.Name) {
			m.conditions[c.Name] = Condition{Type: c.Name, Status: c.To, Reason: c.Reason, At: r.At(), Seq: r.Seq}
		}
	}
	ready := "False"
	if e.Ready {
		ready = "True"
	}
	if m.conditions["Ready"].Status != ready {
		m.conditions["Ready"] = Condition{Type: "Ready", Status: ready, At: r.At(), Seq: r.Seq}
	}
}
