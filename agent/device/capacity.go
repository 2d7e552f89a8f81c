package device

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
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

func quantity(n int) resource.Quantity { return *resource.NewQuantity(int64(n), resource.DecimalSI) }
