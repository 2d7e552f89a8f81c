package podresources

import (
	"maps"
	"slices"

	api "k8s.io/kubelet/pkg/apis/podresources/v1"

	"github.com/kubeloupe/kubeloupe/trace"
)

// maxIDs is how many IDs of devices an event names.
const maxIDs = 16

// some are devices of one resource.
type some struct{ ids, nodes map[string]bool }

// takeDevices takes in a container's devices. Upstream lists each by itself, with its NUMA nodes.
func (h *holding) takeDevices(all []*api.ContainerDevices) {
	for _, d := range all {
		name := trace.Clip(d.GetResourceName(), maxName)
		s := h.devices[name]
		if s == nil {
			if name == "" || len(h.devices) >= maxResources {
				continue
			}
			s = &some{map[string]bool{}, map[string]bool{}}
			h.devices[name] = s
		}
		for _, id := range d.GetDeviceIds() {
			s.ids[id] = true
		}
		s.nodes[nodesOf(d.GetTopology())] = true
	}
}

// allDevices are a container's devices, by resource.
func (h *holding) allDevices(container string) (out []trace.DeviceAllocation) {
	for _, name := range slices.Sorted(maps.Keys(h.devices)) {
		s, on := h.devices[name], map[int]bool{}
		for text := range s.nodes {
			for _, n := range parse(text) {
				on[n] = true
			}
		}
		e := trace.DeviceAllocation{Container: container, Resource: name, Count: len(s.ids), Nodes: format(on)}
		ids := slices.Sorted(maps.Keys(s.ids))
		for _, id := range ids[:min(len(ids), maxIDs)] {
			e.IDs = append(e.IDs, trace.Clip(id, maxID))
		}
		if e.Count > 0 {
			out = append(out, e)
		}
	}
	return out
}

// countDevices is how many devices of each resource the node can give.
func countDevices(all []*api.ContainerDevices) map[string]int {
	ids := map[string]map[string]bool{}
	for _, d := range all {
		name := trace.Clip(d.GetResourceName(), maxName)
		if ids[name] == nil {
			if name == "" || len(ids) >= maxListed {
				continue
			}
			ids[name] = map[string]bool{}
		}
		for _, id := range d.GetDeviceIds() {
			ids[name][id] = true
		}
	}
	out := map[string]int{}
	for name, of := range ids {
		out[name] = len(of)
	}
	return out
}
