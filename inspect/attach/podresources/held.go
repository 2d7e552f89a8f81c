package podresources

import (
	"slices"

	"github.com/kubeloupe/kubeloupe/trace"
)

// held is what a container has for itself.
type held struct {
	source      trace.AllocationSource
	cpus, nodes string // in the kernel's format
	memory      []trace.NodeMemory
	clipped     int
	devices     []trace.DeviceAllocation // by resource, without outcome
}

// released are the events of what a container had and has not any more. is is nil if the container is not listed.
func released(container string, was, is *held) (out []trace.Event) {
	if is == nil {
		is = &held{}
	}
	if was.cpus != "" && is.cpus == "" {
		e := was.allocation(container, trace.ManagerCPU, trace.AllocationReleased)
		e.Why, e.Nodes = trace.AllocationUnlisted, ""
		out = append(out, e)
	}
	if len(was.memory) > 0 && len(is.memory) == 0 {
		e := was.allocation(container, trace.ManagerMemory, trace.AllocationReleased)
		e.Why = trace.AllocationUnlisted
		out = append(out, e)
	}
	for i := range was.devices {
		if d := was.devices[i]; is.ofResource(d.Resource) == nil {
			d.Outcome = trace.DevicesReleased
			out = append(out, &d)
		}
	}
	return out
}

// granted are the events of what a container has and had not before, or had differently. was is nil if the container was not listed.
func granted(container string, was, is *held, outcome trace.AllocationOutcome) (out []trace.Event) {
	if was == nil {
		was = &held{}
	}
	if is.cpus != "" && (is.cpus != was.cpus || is.source != was.source) {
		out = append(out, is.allocation(container, trace.ManagerCPU, outcome))
	}
	if len(is.memory) > 0 && (!slices.Equal(is.memory, was.memory) || is.source != was.source) {
		out = append(out, is.allocation(container, trace.ManagerMemory, outcome))
	}
	for i := range is.devices {
		d := is.devices[i]
		if old := was.ofResource(d.Resource); old != nil && old.Count == d.Count && old.Nodes == d.Nodes && slices.Equal(old.IDs, d.IDs) {
			continue
		}
		if d.Outcome = trace.DevicesAllocated; outcome == trace.AllocationKept {
			d.Outcome = trace.DevicesKept
		}
		out = append(out, &d)
	}
	return out
}

func (h *held) ofResource(name string) *trace.DeviceAllocation {
	for i := range h.devices {
		if h.devices[i].Resource == name {
			return &h.devices[i]
		}
	}
	return nil
}

// allocation is the event of one of the managers.
func (h *held) allocation(container string, m trace.AllocationManager, outcome trace.AllocationOutcome) *trace.Allocation {
	e := &trace.Allocation{Manager: m, Outcome: outcome, Container: container, Source: h.source}
	if m == trace.ManagerCPU {
		e.CPUs, e.Nodes = h.cpus, h.nodes
		return e
	}
	e.Memory, e.Clipped = h.memory, h.clipped
	of := map[int]bool{}
	for i := range h.memory {
		for _, n := range parse(h.memory[i].Nodes) {
			of[n] = true
		}
	}
	e.Nodes = format(of)
	return e
}
