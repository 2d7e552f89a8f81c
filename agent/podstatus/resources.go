package podstatus

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/kubeloupe/kubeloupe/agent/podstate"
	"github.com/kubeloupe/kubeloupe/agent/qos"
)

// At or below these values, which are the kernel's minimum, its figures are not meaningful. In thousandths of a CPU.
// Upstream: pkg/kubelet/cm/helpers_linux.go.
const (
	leastRequest = qos.MinShares
	leastLimit   = 10
)

// resources sets the allocated and the actual resources of a container; for a running one, the kernel's. Upstream:
// pkg/kubelet/kubelet_pods.go, convertContainerStatusResources.
func (g *generator) resources(c *v1.Container, seen *podstate.Container, s, old *v1.ContainerStatus) {
	s.AllocatedResources = c.Resources.Requests
	s.Resources = c.Resources.DeepCopy()
	if seen.State != podstate.Running {
		return
	}
	actual := g.actual(c.Name, seen)
	var before v1.ResourceRequirements
	if old != nil && old.State.Running != nil && old.ContainerID == s.ContainerID && old.Resources != nil {
		before = *old.Resources
	}
	if s.Resources.Limits != nil {
		tell(s.Resources.Limits, v1.ResourceCPU, actual.Limits, before.Limits, leastLimit)
		tell(s.Resources.Limits, v1.ResourceMemory, actual.Limits, before.Limits, 0)
	}
	if s.Resources.Requests != nil {
		tell(s.Resources.Requests, v1.ResourceCPU, actual.Requests, before.Requests, leastRequest)
		tell(s.Resources.Requests, v1.ResourceMemory, actual.Requests, before.Requests, 0)
	}
}

// tell sets a resource to its actual value or, if unknown, to the value of the last status.
func tell(out v1.ResourceList, name v1.ResourceName, actual, before v1.ResourceList, least int64) {
	if q, ok := actual[name]; ok {
		if have := out[name]; least == 0 || q.MilliValue() > least || have.MilliValue() > least {
			out[name] = q
		}
	} else if q, ok := before[name]; ok {
		out[name] = q
	}
}

// actual returns the kernel's values for a running container, otherwise the last ones set. Upstream:
// pkg/kubelet/kuberuntime, toKubeContainerResources.
func (g *generator) actual(name string, seen *podstate.Container) v1.ResourceRequirements {
	out := v1.ResourceRequirements{Limits: v1.ResourceList{}, Requests: v1.ResourceList{}}
	var given v1.ResourceRequirements
	known := false
	if g.in.Actuated != nil {
		given, known = g.in.Actuated(name)
	}
	if q, ok := given.Requests[v1.ResourceMemory]; known && ok && !q.IsZero() {
		out.Requests[v1.ResourceMemory] = q
	}
	r := seen.Resources
	if r == nil {
		if known {
			return given
		}
		return out
	}
	if r.CPUShares >= qos.MinShares {
		// Rounded up, because requests are rounded down to shares.
		out.Requests[v1.ResourceCPU] = *resource.NewMilliQuantity(qos.Milli(r.CPUShares), resource.DecimalSI)
	}
	if r.CPUPeriod > 0 && r.CPUQuota > 0 {
		out.Limits[v1.ResourceCPU] = *resource.NewMilliQuantity(r.CPUQuota*1000/r.CPUPeriod, resource.DecimalSI)
	}
	if r.Memory > 0 {
		out.Limits[v1.ResourceMemory] = *resource.NewQuantity(r.Memory, resource.BinarySI)
	}
	return out
}

func user(u *podstate.User) *v1.ContainerUser {
	if u == nil {
		return nil
	}
	return &v1.ContainerUser{Linux: &v1.LinuxContainerUser{UID: u.UID, GID: u.GID, SupplementalGroups: u.SupplementalGroups}}
}

// mounts returns how the container's volumes are mounted. Upstream: pkg/kubelet/kubelet_pods.go,
// convertToAPIContainerStatuses.
func (g *generator) mounts(c *v1.Container) []v1.VolumeMountStatus {
	var out []v1.VolumeMountStatus
	for i := range c.VolumeMounts {
		m := &c.VolumeMounts[i]
		s := v1.VolumeMountStatus{Name: m.Name, MountPath: m.MountPath, ReadOnly: m.ReadOnly}
		if m.ReadOnly {
			s.RecursiveReadOnly = new(v1.RecursiveReadOnlyDisabled)
			if mode := m.RecursiveReadOnly; g.in.RecursiveReadOnly && mode != nil && *mode != v1.RecursiveReadOnlyDisabled {
				s.RecursiveReadOnly = new(v1.RecursiveReadOnlyEnabled)
			}
		}
		out = append(out, s)
	}
	return out
}

// keptMounts returns the mounts of the container with that ID. Those of the earlier status count: mounts do not change, but what the runtime's
// handler supports may be another now, or not known yet, because the agent has just started.
//
// Upstream: pkg/kubelet/kubelet_pods.go, convertToAPIContainerStatuses.
func keptMounts(mounts []v1.VolumeMountStatus, id string, old *v1.ContainerStatus) []v1.VolumeMountStatus {
	if old == nil || old.ContainerID != id || len(old.VolumeMounts) != len(mounts) {
		return mounts
	}
	for i := range mounts {
		m, o := &mounts[i], &old.VolumeMounts[i]
		if m.RecursiveReadOnly != nil && o.RecursiveReadOnly != nil && o.Name == m.Name && o.MountPath == m.MountPath {
			m.RecursiveReadOnly = o.RecursiveReadOnly
		}
	}
	return mounts
}
