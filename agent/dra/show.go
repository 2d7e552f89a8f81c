package dra

import (
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeloupe/kubeloupe/agent/dra/checkpoint"
)

// Status returns the health of the devices of a container's claims, for its status; nil if it has none. It is called with the newest
// version of the pod.
//
// Upstream: pkg/kubelet/cm/dra/manager.go, UpdateAllocatedResourcesStatus.
func (m *Manager) Status(pod *v1.Pod, container string) (out []v1.ResourceStatus) {
	i := slices.IndexFunc(pod.Spec.Containers, func(c v1.Container) bool { return c.Name == container })
	if i < 0 {
		return nil
	}
	for _, r := range pod.Spec.Containers[i].Resources.Claims {
		if s, ok := m.statusOfClaim(pod, r); ok {
			out = append(out, s)
		}
	}
	return out
}

func (m *Manager) statusOfClaim(pod *v1.Pod, r v1.ResourceClaim) (out v1.ResourceStatus, ok bool) {
	i := slices.IndexFunc(pod.Spec.ResourceClaims, func(c v1.PodResourceClaim) bool { return c.Name == r.Name })
	if i < 0 {
		return out, false
	}
	of, needed, err := refOf(pod, &pod.Spec.ResourceClaims[i])
	if err != nil || !needed {
		return out, false
	}
	out.Name = v1.ResourceName("claim:" + r.Name)
	request, _, _ := strings.Cut(r.Request, "/")
	if r.Request != "" {
		out.Name += v1.ResourceName("/" + r.Request)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	c := m.claims[types.NamespacedName{Namespace: pod.Namespace, Name: of.name}]
	if c == nil {
		return out, false
	}
	seen := map[v1.ResourceID]bool{}
	for _, name := range slices.Sorted(maps.Keys(c.DriverState)) {
		for _, d := range c.DriverState[name].Devices {
			one := m.deviceStatus(name, &d)
			if request != "" && len(d.RequestNames) > 0 && !slices.Contains(d.RequestNames, request) || seen[one.ResourceID] {
				continue
			}
			seen[one.ResourceID] = true
			out.Resources = append(out.Resources, one)
		}
	}
	return out, len(out.Resources) > 0
}

func (m *Manager) deviceStatus(driver string, d *checkpoint.Device) v1.ResourceHealth {
	health, message := m.health.of(deviceID{driver, d.PoolName, d.DeviceName})
	out := v1.ResourceHealth{ResourceID: v1.ResourceID(driver + "/" + d.PoolName + "/" + d.DeviceName), Health: health}
	if len(d.CDIDeviceIDs) > 0 {
		out.ResourceID = v1.ResourceID(d.CDIDeviceIDs[0])
	}
	if m.cfg.HealthMessages && message != "" {
		out.Message = &message
	}
	return out
}
