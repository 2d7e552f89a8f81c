package device

import (
	"maps"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
)

// Capacity returns the node's capacity and allocatable of all resources of plugins. A resource whose last plugin ended has its devices,
// none of them allocatable, for 5 min; then it has none.
//
// Upstream: pkg/kubelet/cm/devicemanager/manager.go, GetCapacity.
func (m *Manager) Capacity() (capacity, allocatable v1.ResourceList) {
	m.mu.Lock()
	defer m.mu.Unlock()
	capacity, allocatable = v1.ResourceList{}, v1.ResourceList{}
	for name := range m.gone {
		capacity[v1.ResourceName(name)], allocatable[v1.ResourceName(name)] = quantity(0), quantity(0)
	}
	for name, r := range m.resources {
		if r.listed {
			healthy, unhealthy := r.devices.counts()
			capacity[v1.ResourceName(name)], allocatable[v1.ResourceName(name)] = quantity(healthy+unhealthy), quantity(healthy)
		}
	}
	return capacity, allocatable
}

// Offer sets in the node's allocatable resources how many devices there are for a pod. If the pod has devices, there are at least as many of
// each resource as containers have: their plugins may be gone. A resource whose plugin the pod waits for is removed: how many devices there
// are is not known yet.
//
// Upstream: pkg/kubelet/cm/devicemanager/manager.go, UpdatePluginResources.
func (m *Manager) Offer(pod types.UID, allocatable v1.ResourceList) {
	_, all := m.Capacity()
	maps.Copy(allocatable, all)
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.holds[pod]) > 0 {
		for name := range m.holds.resources() {
			has := allocatable[v1.ResourceName(name)]
			if n := len(m.holds.taken(name)); has.Value() < int64(n) {
				allocatable[v1.ResourceName(name)] = quantity(n)
			}
		}
	}
	if !m.deferred[pod] {
		return
	}
	for name, r := range m.resources {
		if r.arrived != nil {
			delete(allocatable, v1.ResourceName(name))
		}
	}
}

func quantity(n int) resource.Quantity { return *resource.NewQuantity(int64(n), resource.DecimalSI) }
