package say

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/human"
)

// Allocation describes a decision of the managers of CPUs, memory and topology.
func Allocation(e *trace.Allocation) string {
	who := cmp.Or(e.Container, "the pod")
	switch e.Outcome {
	case trace.AllocationGranted:
		out := fmt.Sprintf("%s: %s has %s for itself", e.Manager, who, share(e))
		switch e.Source {
		case trace.SourcePod:
			out = fmt.Sprintf("%s: %s has %s for all of its containers", e.Manager, who, share(e))
		case trace.SourcePodExclusive:
			return fmt.Sprintf("%s: %s has %s of the pod for itself", e.Manager, who, share(e))
		case trace.SourcePodShared:
			return fmt.Sprintf("%s: %s shares %s of the pod", e.Manager, who, share(e))
		case trace.SourceNode:
		}
		if why := allocationWhy(e); why != "" {
			out += ", " + why
		}
		if e.Pool != "" {
			out += "; all others share CPUs " + e.Pool
		}
		return out
	case trace.AllocationKept:
		return fmt.Sprintf("%s: %s keeps %s", e.Manager, who, share(e))
	case trace.AllocationReleased:
		if e.Source == trace.SourcePodExclusive || e.Source == trace.SourcePodShared {
			return fmt.Sprintf("%s: %s of %s belong to the pod again: %s", e.Manager, share(e), who, allocationWhy(e))
		}
		return fmt.Sprintf("%s: %s of %s are free again: %s", e.Manager, share(e), who, allocationWhy(e))
	case trace.AllocationAdmitted:
		out := "topology: the pod is admitted by policy " + e.Policy
		if e.Affinity != "" {
			out += ", on NUMA nodes " + e.Affinity
		}
		return out
	case trace.AllocationStarted:
		return fmt.Sprintf("%s: policy %s has started; containers share CPUs %s", e.Manager, e.Policy, e.Pool)
	case trace.AllocationRefused:
		out := fmt.Sprintf("%s: %s is refused by policy %s: %s: %s", e.Manager, who, e.Policy, e.Code, e.Err)
		var hints []string
		for i := range e.Hints {
			if e.Hints[i].Resource != "" {
				hints = append(hints, Hints(&e.Hints[i]))
			}
		}
		return strings.Join(append([]string{out}, hints...), "; ")
	}
	return string(e.Manager)
}

// share describes what a container has.
func share(e *trace.Allocation) string {
	if e.Manager == trace.ManagerCPU {
		out := "CPUs " + cmp.Or(e.CPUs, "none")
		if e.Nodes != "" {
			out += " (NUMA node " + e.Nodes + ")"
		}
		return out
	}
	var parts []string
	for _, m := range e.Memory {
		parts = append(parts, fmt.Sprintf("%s of %s (NUMA node %s)", human.Bytes(int64(m.Bytes)), m.Resource, m.Nodes))
	}
	return strings.Join(parts, " and ")
}

func allocationWhy(e *trace.Allocation) string {
	switch e.Why {
	case trace.AllocationAligned:
		return "as NUMA nodes " + e.Affinity + " were chosen"
	case trace.AllocationPartly:
		return "not all from NUMA nodes " + e.Affinity + ", which were chosen"
	case trace.AllocationAnywhere:
		return ""
	case trace.AllocationReused:
		return "some of which an init container had"
	case trace.AllocationResized:
		return "after the pod was resized"
	case trace.AllocationEnded:
		return "the pod has ended"
	case trace.AllocationStale:
		return "the pod is unknown"
	case trace.AllocationInitDone:
		return "it has finished"
	case trace.AllocationUnlisted:
		return "the kubelet does not list it any more"
	}
	return string(e.Why)
}

// Hints describes the sets of NUMA nodes that can give a resource.
func Hints(h *trace.ResourceHints) string {
	name := cmp.Or(h.Resource, h.Provider)
	switch {
	case h.Err != "":
		return name + ": " + h.Err
	case h.Preferred == "" && h.Possible == "" && h.Any:
		return name + ": any NUMA nodes"
	case h.Preferred == "" && h.Possible == "":
		return name + ": no NUMA nodes have enough"
	case h.Preferred == "":
		return name + ": NUMA nodes " + h.Possible + ", none of them preferred"
	}
	out := name + ": NUMA nodes " + h.Preferred
	if h.Possible != "" {
		out += ", not preferred " + h.Possible
	}
	return out
}
