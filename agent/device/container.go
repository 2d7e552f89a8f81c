package device

import (
	"context"
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/kubeloupe/kubeloupe/agent/criconfig"
)

// Container returns what a container's request gets from the plugins. If the container needs devices and has none, because its resource
// was not registered when its pod was admitted, they are allocated now; the error is that of Reserve or Allocate.
//
// Upstream: pkg/kubelet/cm/devicemanager/manager.go, GetDeviceRunContainerOptions.
func (m *Manager) Container(ctx context.Context, pod *v1.Pod, c *v1.Container) (criconfig.Given, error) {
	if len(c.Resources.Limits) == 0 {
		return criconfig.Given{}, nil
	}
	if m.lacks(pod, c) {
		err := m.reserveContainer(ctx, pod, c)
		if err == nil {
			err = m.allocateAll(ctx, pod, c, func(h *hold) bool { return h.answer == nil })
		}
		if err != nil {
			m.cancel(pod, c)
			return criconfig.Given{}, err
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return given(m.holds[pod.UID][c.Name]), nil
}

// lacks reports whether a container has not got all its devices.
func (m *Manager) lacks(pod *v1.Pod, c *v1.Container) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.ContainsFunc(m.requests(pod, c), func(r request) bool {
		one := m.holds.get(pod.UID, c.Name, r.resource)
		return one == nil || one.answer == nil
	})
}

// cancel frees what is only reserved for a container.
func (m *Manager) cancel(pod *v1.Pod, c *v1.Container) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for name, one := range m.holds[pod.UID][c.Name] {
		if one.reserved() {
			m.holds.drop(pod.UID, c.Name, name, one)
		}
	}
}

// given combines the answers about a container's resources. If two have the same variable, path, annotation or CDI device, the first one
// counts, by the resource's name.
//
// Upstream: pkg/kubelet/cm/devicemanager/pod_devices.go, deviceRunContainerOptions.
func given(all map[string]*hold) (out criconfig.Given) {
	seen := map[[2]string]bool{}
	first := func(kind, name string) bool {
		k := [2]string{kind, name}
		was := seen[k]
		seen[k] = true
		return !was
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		a := all[name].answer
		for _, k := range slices.Sorted(maps.Keys(a.GetEnvs())) {
			if first("env", k) {
				out.Env = append(out.Env, criconfig.Var{Name: k, Value: a.GetEnvs()[k]})
			}
		}
		for _, d := range a.GetDevices() {
			if first("device", d.GetContainerPath()) {
				out.Devices = append(out.Devices, &runtimeapi.Device{HostPath: d.GetHostPath(), ContainerPath: d.GetContainerPath(), Permissions: d.GetPermissions()})
			}
		}
		for _, mt := range a.GetMounts() {
			if first("mount", mt.GetContainerPath()) {
				out.Mounts = append(out.Mounts, &runtimeapi.Mount{HostPath: mt.GetHostPath(), ContainerPath: mt.GetContainerPath(), Readonly: mt.GetReadOnly()})
			}
		}
		for k, v := range a.GetAnnotations() {
			if first("annotation", k) {
				if out.Annotations == nil {
					out.Annotations = map[string]string{}
				}
				out.Annotations[k] = v
			}
		}
		for _, d := range a.GetCdiDevices() {
			if first("cdi", d.GetName()) {
				out.CDIDevices = append(out.CDIDevices, &runtimeapi.CDIDevice{Name: d.GetName()})
			}
		}
	}
	return out
}
