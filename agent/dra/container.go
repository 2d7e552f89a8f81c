package dra

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	podresourcesapi "k8s.io/kubelet/pkg/apis/podresources/v1"

	"github.com/kubeloupe/kubeloupe/agent/dra/checkpoint"
)

// use is a claim that a container uses, with the requests that it uses; "" is all of the claim.
type use struct {
	claim    string
	requests []string
}

// usesOf returns the claims that a container uses.
//
// Upstream: pkg/kubelet/cm/dra/manager.go, GetResources.
func usesOf(pod *v1.Pod, c *v1.Container) (out []use, err error) {
	for i := range pod.Spec.ResourceClaims {
		u := use{}
		for _, r := range c.Resources.Claims {
			if r.Name == pod.Spec.ResourceClaims[i].Name {
				u.requests = append(u.requests, r.Request)
			}
		}
		if len(u.requests) == 0 {
			continue
		}
		r, needed, err := refOf(pod, &pod.Spec.ResourceClaims[i])
		if err != nil {
			return nil, err
		}
		if u.claim = r.name; needed {
			out = append(out, u)
		}
	}
	if s := pod.Status.ExtendedResourceClaimStatus; s != nil {
		u := use{claim: s.ResourceClaimName}
		for _, r := range s.RequestMappings {
			if q := c.Resources.Requests[v1.ResourceName(r.ResourceName)]; r.ContainerName == c.Name && !q.IsZero() && extended(r.ResourceName) {
				u.requests = append(u.requests, r.RequestName)
			}
		}
		if len(u.requests) > 0 {
			out = append(out, u)
		}
	}
	return out, nil
}

// extended reports whether a resource may be given by a DRA driver.
//
// Upstream: pkg/scheduler/util, IsDRAExtendedResourceName. The API server has validated the names.
func extended(name string) bool {
	if strings.HasPrefix(name, resourceapi.ResourceDeviceClassPrefix) {
		return true
	}
	return strings.Contains(name, "/") && !strings.Contains(name, v1.ResourceDefaultNamespacePrefix) && !strings.HasPrefix(name, v1.DefaultResourceRequestsPrefix)
}

// Has reports whether a pod refers to claims.
func (m *Manager) Has(pod *v1.Pod) bool { return uses(m.newest(pod)) }

// Ready reports whether the state file has all claims of a pod, so that its containers can be created. The drivers need not be asked again
// while the pod's sandbox exists.
func (m *Manager) Ready(pod *v1.Pod) bool {
	all, err := refs(m.newest(pod))
	if err != nil {
		return false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, r := range all {
		c := m.claims[types.NamespacedName{Namespace: pod.Namespace, Name: r.name}]
		if c == nil || !c.PodUIDs.Has(string(pod.UID)) {
			return false
		}
	}
	return true
}

// Container returns the CDI devices of a container's claims, in the order of the pod's claims and of the drivers' names, each once.
func (m *Manager) Container(pod *v1.Pod, c *v1.Container) (out []*runtimeapi.CDIDevice, err error) {
	pod = m.newest(pod)
	all, err := usesOf(pod, c)
	if err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	seen := map[string]bool{}
	for _, u := range all {
		known := m.claims[types.NamespacedName{Namespace: pod.Namespace, Name: u.claim}]
		if known == nil {
			return nil, fmt.Errorf("internal error: unable to get claim info for ResourceClaim %s in namespace %s", u.claim, pod.Namespace)
		}
		for _, name := range slices.Sorted(maps.Keys(known.DriverState)) {
			for _, d := range known.DriverState[name].Devices {
				if !u.has(&d) {
					continue
				}
				for _, id := range d.CDIDeviceIDs {
					if !seen[id] {
						seen[id] = true
						out = append(out, &runtimeapi.CDIDevice{Name: id})
					}
				}
			}
		}
	}
	return out, nil
}

// has reports whether a device is of the requests.
func (u *use) has(d *checkpoint.Device) bool {
	return len(d.RequestNames) == 0 || slices.ContainsFunc(u.requests, func(r string) bool { return r == "" || slices.Contains(d.RequestNames, r) })
}

// Dynamic returns the devices of a container's claims, for the podresources API: all of the claim, whatever requests the container uses.
//
// Upstream: pkg/kubelet/cm/container_manager_linux.go, GetDynamicResources, which lists the CDI devices of a driver's earlier devices with
// its later ones again.
func (m *Manager) Dynamic(pod *v1.Pod, c *v1.Container) (out []*podresourcesapi.DynamicResource) {
	pod = m.newest(pod)
	all, err := usesOf(pod, c)
	if err != nil {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, u := range all {
		known := m.claims[types.NamespacedName{Namespace: pod.Namespace, Name: u.claim}]
		if known == nil {
			return nil
		}
		one := &podresourcesapi.DynamicResource{ClaimName: known.ClaimName, ClaimNamespace: known.Namespace}
		for _, name := range slices.Sorted(maps.Keys(known.DriverState)) {
			for _, d := range known.DriverState[name].Devices {
				r := &podresourcesapi.ClaimResource{DriverName: name, PoolName: d.PoolName, DeviceName: d.DeviceName, ShareId: (*string)(d.ShareID)}
				for _, id := range d.CDIDeviceIDs {
					r.CdiDevices = append(r.CdiDevices, &podresourcesapi.CDIDevice{Name: id})
				}
				one.ClaimResources = append(one.ClaimResources, r)
			}
		}
		out = append(out, one)
	}
	return out
}
