package device

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeloupe/kubeloupe/agent/numa"
	"github.com/kubeloupe/kubeloupe/agent/podspec"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/sorting"
)

// reserveContainer chooses the devices of one container. It calls no plugin. The error says, in upstream's words, why the container cannot
// have them. Containers must be passed in the order of the pod, init containers first. After an error, Release must be called.
//
// Upstream: pkg/kubelet/cm/devicemanager/manager.go, Allocate.
func (m *Manager) reserveContainer(ctx context.Context, pod *v1.Pod, c *v1.Container) error {
	if len(c.Resources.Limits) == 0 {
		return nil
	}
	now := m.look()
	m.mu.Lock()
	want, err := m.reserveAll(pod, c, now)
	kept, affinity := m.kept(pod, c), m.near[pod.UID][c.Name]
	m.mu.Unlock()
	for _, e := range kept {
		trace.Point(m.cfg.Bus, trace.FromContext(ctx), e)
	}
	if err != nil {
		trace.Point(m.cfg.Bus, trace.FromContext(ctx), trace.DeviceAllocation{
			Container: c.Name, Resource: want.resource, Outcome: trace.DevicesRefused, Count: want.needed, Affinity: affinity.String(), Err: err.Error(),
		})
	}
	return err
}

// Release frees what a pod has. Nothing of the pod may run.
func (m *Manager) Release(uid types.UID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.near, uid)
	delete(m.deferred, uid)
	if _, has := m.holds[uid]; has {
		delete(m.holds, uid)
		m.markDirty()
	}
}

// keep keeps the NUMA nodes from which a container should get its devices; 0 for any. It may request resources that no plugin offers yet.
func (m *Manager) keep(uid types.UID, c *v1.Container, nodes numa.Mask) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for name := range c.Resources.Limits {
		if !extendedName(string(name)) {
			continue
		}
		if m.near[uid] == nil {
			m.near[uid] = map[string]numa.Mask{}
		}
		m.near[uid][c.Name] = nodes
	}
}

// containers returns the containers that can have devices, in order.
func containers(pod *v1.Pod) (out []*v1.Container) {
	for i := range pod.Spec.InitContainers {
		out = append(out, &pod.Spec.InitContainers[i])
	}
	for i := range pod.Spec.Containers {
		out = append(out, &pod.Spec.Containers[i])
	}
	return out
}

// request is how many devices of a resource a container needs. They cannot be overcommitted, so limits are enough.
type request struct {
	resource string
	needed   int
}

// requests returns the devices that a container needs, sorted. A resource counts if a plugin offers it or a container has some of it.
//
// Upstream: pkg/kubelet/cm/devicemanager/manager.go, isDevicePluginResource, isDRAExtendedResource.
func (m *Manager) requests(pod *v1.Pod, c *v1.Container) (out []request) {
	for name, q := range c.Resources.Limits {
		resource := string(name)
		if q.Value() <= 0 || m.known(resource) == nil && !m.holds.any(resource) || fromClaim(pod, c.Name, resource) {
			continue
		}
		out = append(out, request{resource, int(q.Value())})
	}
	sorting.Stable(out, byResource)
	return out
}

func byResource(a, b *request) int { return strings.Compare(a.resource, b.resource) }

// fromClaim reports whether a DRA driver gives the container this resource.
func fromClaim(pod *v1.Pod, container, resource string) bool {
	if s := pod.Status.ExtendedResourceClaimStatus; s != nil {
		for _, r := range s.RequestMappings {
			if r.ContainerName == container && r.ResourceName == resource {
				return true
			}
		}
	}
	return false
}

// withoutClaimed returns the pod without the limits of resources that a DRA driver gives.
func withoutClaimed(pod *v1.Pod) *v1.Pod {
	if pod.Status.ExtendedResourceClaimStatus == nil {
		return pod
	}
	out := pod.DeepCopy()
	for _, c := range containers(out) {
		for name := range c.Resources.Limits {
			if fromClaim(pod, c.Name, string(name)) {
				delete(c.Resources.Limits, name)
			}
		}
	}
	return out
}

// reserveAll reserves the devices of a container, and returns the request that failed. Called with mu.
func (m *Manager) reserveAll(pod *v1.Pod, c *v1.Container, now view) (request, error) {
	for _, r := range m.requests(pod, c) {
		if err := m.reserve(pod, c, r, now); err != nil {
			return r, err
		}
	}
	return request{}, nil
}

// reserve reserves devices of one resource. Called with mu.
//
// Upstream: pkg/kubelet/cm/devicemanager/manager.go, devicesToAllocate, whose messages these are.
func (m *Manager) reserve(pod *v1.Pod, c *v1.Container, want request, now view) error {
	has := m.holds.get(pod.UID, c.Name, want.resource)
	if has != nil && len(has.ids) != want.needed {
		return fmt.Errorf("pod %q container %q changed request for resource %q from %d to %d", pod.UID, c.Name, want.resource, len(has.ids), want.needed)
	}
	r := m.known(want.resource)
	if r == nil {
		return fmt.Errorf("cannot allocate unregistered device %s", want.resource)
	}
	if m.defers(pod, r, has != nil) {
		return nil
	}
	healthy := r.devices.healthy()
	if len(healthy) == 0 {
		return fmt.Errorf("no healthy devices present; cannot allocate unhealthy devices %s", want.resource)
	}
	if has != nil {
		if len(without(has.ids, healthy)) > 0 {
			return fmt.Errorf("previously allocated devices are no longer healthy; cannot allocate unhealthy devices %s", want.resource)
		}
		return nil
	}
	if err := m.uncertain(pod, c, want.resource, now); err != nil {
		return err
	}
	in := m.choice(pod, c, want, r)
	ids, reused, err := choose(in)
	if err != nil {
		return err
	}
	m.holds.put(pod.UID, c.Name, want.resource, &hold{ids: ids, reused: reused})
	return nil
}

// choice collects the current input. Called with mu.
func (m *Manager) choice(pod *v1.Pod, c *v1.Container, want request, r *resourceState) choice {
	taken := m.holds.taken(want.resource)
	healthy := r.devices.healthy()
	return choice{
		resource: want.resource, devices: r.devices, needed: want.needed, nodes: m.near[pod.UID][c.Name],
		reusable: intersect(m.reusable(pod, c, want.resource), healthy),
		free:     slices.DeleteFunc(slices.Clone(healthy), func(id string) bool { return taken[id] }),
	}
}

// reusable returns the devices of a pod's earlier init containers that a container can use, sorted: those have exited when it runs. What a
// sidecar or an app container has is its own. Called with mu.
//
// Upstream: pkg/kubelet/cm/devicemanager/manager.go, Allocate.
func (m *Manager) reusable(pod *v1.Pod, c *v1.Container, resource string) []string {
	out, kept := map[string]bool{}, map[string]bool{}
	earlier := true
	for i := range pod.Spec.InitContainers {
		o := &pod.Spec.InitContainers[i]
		earlier = earlier && o.Name != c.Name
		has := m.holds.get(pod.UID, o.Name, resource)
		if has == nil || o.Name == c.Name {
			continue
		}
		for _, id := range has.ids {
			switch {
			case podspec.RestartableInit(o):
				kept[id] = true
			case earlier:
				out[id] = true
			}
		}
	}
	for i := range pod.Spec.Containers {
		if has := m.holds.get(pod.UID, pod.Spec.Containers[i].Name, resource); has != nil && pod.Spec.Containers[i].Name != c.Name {
			for _, id := range has.ids {
				kept[id] = true
			}
		}
	}
	maps.DeleteFunc(out, func(id string, _ bool) bool { return kept[id] })
	return slices.Sorted(maps.Keys(out))
}

// markDirty has the checkpoint written soon.
func (m *Manager) markDirty() {
	select {
	case m.dirty <- struct{}{}:
	default:
	}
}
