package model

import (
	"slices"
	"strings"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
)

// Condition is one of the node's conditions, as it was written last.
type Condition struct {
	Type   string
	Status string // True, False, Unknown
	Reason string // CamelCase; "" unknown
	// At is when it was written; zero: none was seen.
	At time.Time
}

// conditionTypes are those that every node has, in the order in which people list them.
var conditionTypes = []string{"Ready", "MemoryPressure", "DiskPressure", "PIDPressure"}

// NodeConditions returns the conditions of the node that are known from what was written of it, Ready first. Those that
// have not changed since before the first record are not among them, but for Ready, which every write tells.
func (m *Model) NodeConditions() []Condition {
	out := make([]Condition, 0, len(m.conditions))
	for _, c := range m.conditions {
		out = append(out, c)
	}
	slices.SortFunc(out, func(a, b Condition) int {
		return slices.Index(conditionTypes, a.Type) - slices.Index(conditionTypes, b.Type)
	})
	return out
}

// applyConditions notes what a write of the node's object says of conditions.
func (m *Model) applyConditions(r *trace.Record, e *trace.NodeStatus) {
	if r.Edge == trace.EdgeBegin || e.Err != "" {
		return
	}
	for _, text := range e.Changed {
		if c, ok := parseCondition(text); ok {
			c.At = r.At()
			m.conditions[c.Type] = c
		}
	}
	ready := "False"
	if e.Ready {
		ready = "True"
	}
	if m.conditions["Ready"].Status != ready {
		m.conditions["Ready"] = Condition{Type: "Ready", Status: ready, At: r.At()}
	}
}

// parseCondition reads "Ready False → True (KubeletReady)" and "MemoryPressure False (KubeletHasSufficientMemory)".
func parseCondition(text string) (Condition, bool) {
	name, rest, _ := strings.Cut(text, " ")
	if !slices.Contains(conditionTypes, name) {
		return Condition{}, false
	}
	rest, reason, _ := strings.Cut(rest, " (")
	words := strings.Fields(rest)
	if len(words) == 0 {
		return Condition{}, false
	}
	status := words[len(words)-1]
	if status != "True" && status != "False" && status != "Unknown" {
		return Condition{}, false
	}
	return Condition{Type: name, Status: status, Reason: strings.TrimSuffix(reason, ")")}, true
}
