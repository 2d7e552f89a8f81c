package device

import (
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	podresourcesapi "k8s.io/kubelet/pkg/apis/podresources/v1"
)

// Status returns the health of a container's devices, for its status; nil if it has none. The health is what the plugin said last.
//
// Upstream: pkg/kubelet/cm/devicemanager/manager.go, UpdateAllocatedResourcesStatus.
func (m *Manager) Status(uid types.UID, container string) (out []v1.ResourceStatus) {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := m.holds[uid][container]
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if all[name].answer == nil {
			continue
		}
		s := v1.ResourceStatus{Name: v1.ResourceName(name)}
		for _, id := range all[name].ids {
			health := v1.ResourceHealthStatusHealthy
			if d, known := m.deviceOf(name, id); known && !d.said {
				health = v1.ResourceHealthStatusUnhealthy
			}
			s.Resources = append(s.Resources, v1.ResourceHealth{ResourceID: v1.ResourceID(id), Health: health})
		}
		out = append(out, s)
	}
	return out
}

func (m *Manager) deviceOf(name, id string) (device, bool) {
	devices := m.gone[name]
	if r := m.resources[name]; r != nil {
		devices = r.devices
	}
	d, known := devices[id]
	return d, known
}

// Devices returns the devices of a container, for the podresources API. A device of several NUMA nodes is listed with each.
//
// Upstream: pkg/kubelet/cm/container_manager.go, containerDevicesFromResourceDeviceInstances.
func (m *Manager) Devices(uid types.UID, container string) (out []*podresourcesapi.ContainerDevices) {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := m.holds[uid][container]
	for _, name := range slices.Sorted(maps.Keys(all)) {
		for _, node := range slices.Sorted(maps.Keys(all[name].byNode)) {
			for _, id := range all[name].byNode[node] {
				out = append(out, shown(name, id, node))
			}
		}
	}
	return out
}

// Allocatable returns all healthy devices, for the podresources API.
func (m *Manager) Allocatable() (out []*podresourcesapi.ContainerDevices) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(m.resources)) {
		devices := m.resources[name].devices
		for _, id := range devices.healthy() {
			nodes := devices[id].nodes
			if len(nodes) == 0 {
				nodes = []int64{noNode}
			}
			for _, node := range nodes {
				out = append(out, shown(name, id, node))
			}
		}
	}
	return out
}

func shown(resource, id string, node int64) *podresourcesapi.ContainerDevices {
	d := &podresourcesapi.ContainerDevices{ResourceName: resource, DeviceIds: []string{id}}
	if node != noNode {
		d.Topology = &podresourcesapi.TopologyInfo{Nodes: []*podresourcesapi.NUMANode{{ID: node}}}
	}
	return d
}

// Refresh frees the devices of pods that have ended, so that they are not shown.
func (m *Manager) Refresh() { m.look() }
