package device

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/trace"
)

// kept returns what to publish of a container that is admitted and has devices already: an earlier agent allocated them. Called with mu.
func (m *Manager) kept(pod *v1.Pod, c *v1.Container) (out []trace.DeviceAllocation) {
	all := m.holds[pod.UID][c.Name]
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if one := all[name]; !one.reserved() {
			out = append(out, trace.DeviceAllocation{
				Container: c.Name, Resource: name, Outcome: trace.DevicesKept, Count: len(one.ids), IDs: one.shown(), Nodes: one.nodes(),
			})
		}
	}
	return out
}

// shown returns the IDs that an event has.
func (h *hold) shown() []string { return slices.Clone(h.ids[:min(len(h.ids), shownIDs)]) }

// nodes returns the NUMA nodes of the devices, such as 0,1; "" if they are not known.
func (h *hold) nodes() string {
	var out []string
	for _, id := range slices.Sorted(maps.Keys(h.byNode)) {
		if id != noNode {
			out = append(out, strconv.FormatInt(id, 10))
		}
	}
	return strings.Join(out, ",")
}
