package nodecause

import (
	"slices"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/cause"
	"github.com/kubeloupe/kubeloupe/inspect/model"
	"github.com/kubeloupe/kubeloupe/trace"
)

// State is how a node is.
type State string

// The states, in the order of their weight.
const (
	Ready    State = "ready"
	Slow     State = "slow"      // it is Ready, and its processors, memory or disk stall, or the syncLoop is blocked
	Pressed  State = "pressure"  // it is Ready, and short of memory, disk or processes
	Unknown  State = "unknown"   // its lease has ended: the control plane does not know how it is
	Cut      State = "cut-off"   // it is Ready, and the API server does not answer
	NotReady State = "not-ready" // it does not run pods, or has no certificate yet with which it could join its cluster
	Untold   State = "untold"    // no record shows it
)

// cutFor is how long the API server has not answered.
func cutFor(found []cause.Finding) time.Duration {
	for i := range found {
		if found[i].ID == "KN02" {
			return found[i].Cost
		}
	}
	return 0
}

// joins reports whether the node waits for its first client certificate: the API server does not know it yet.
func joins(m *model.Model) bool {
	return slices.ContainsFunc(m.Certificates(), func(c model.Certificate) bool { return c.Use == trace.UseClient && c.Awaited })
}

// StateOf returns the state of a node with these findings.
func StateOf(in *Input, found []cause.Finding) State {
	n, o := in.Model.Node(), in.Model.NodeObject()
	_, told := readyOf(in.Model)
	switch {
	case has(found, "KN01", "KL15", "KL07") || n.State == trace.AgentStarting || joins(in.Model):
		return NotReady
	case !o.Lease.IsZero() && in.Now.Sub(o.Lease) >= LeaseOver || cutFor(found) >= LeaseOver:
		return Unknown
	case has(found, "KN02"):
		return Cut
	case has(found, "KN05", "KL22"):
		return Pressed
	case has(found, "KL16", "KL23", "KL24", "KL25"):
		return Slow
	case n.State == "" && !told:
		return Untold
	}
	return Ready
}
