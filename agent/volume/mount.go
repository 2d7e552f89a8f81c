package volume

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeloupe/kubeloupe/agent/criconfig"
	"github.com/kubeloupe/kubeloupe/trace"
)

// Mount returns when all volumes that the pod's containers use are mounted, by volume
// name. Called again it is cheap, and brings up to date what a change of the pod changes.
//
// It fails as soon as all of them are either mounted or were tried and failed; the reconciler
// goes on trying, and a further Mount waits for the next attempt. When ctx ends first, what was
// begun goes on. The volumes are wanted until Unmount. The pod is kept: do not change it.
//
// Upstream: pkg/kubelet/volumemanager/volume_manager.go, WaitForAttachAndMount.
func (m *Manager) Mount(ctx context.Context, obj *v1.Pod) (map[string]criconfig.Volume, error) {
	want, err := m.wants(obj)
	if err != nil {
		return nil, err
	}
	if len(want) == 0 {
		return map[string]criconfig.Volume{}, nil
	}
	ref := trace.Pod{Namespace: obj.Namespace, Name: obj.Name, UID: string(obj.UID)}
	found, err := m.scanUnknown(obj.UID)
	if err != nil {
		return nil, err
	}
	m.mu.Lock()
	p := m.know(ref, found)
	p.want(ref, trace.ForPod(trace.FromContext(ctx), ref), want, m.states)
	w := m.waiter(p, setUp)
	m.mu.Unlock()
	m.kick()

	if err := w.await(ctx); err != nil {
		return nil, err
	}
	return w.result, nil
}

// want replaces what the pod wants. Called with the lock held.
func (p *pod) want(ref trace.Pod, span trace.Span, want map[key]*wanted, states map[key]*state) {
	for k, w := range want {
		old, s := p.wanted[k], states[k]
		if s != nil && (p.released || old == nil || old.version != w.version) {
			s.fresh()
		}
	}
	p.ref, p.span, p.wanted = ref, span, want
	if p.released {
		p.released = false
		p.wake()
	}
}

// wants says what the pod's volumes are. A volume that no container uses is left out.
//
// Upstream: pkg/kubelet/volumemanager/populator, processPodVolumes.
func (m *Manager) wants(obj *v1.Pod) (map[key]*wanted, error) {
	if !element(string(obj.UID)) {
		return nil, fmt.Errorf("pod %s/%s: metadata.uid %q cannot name a directory", obj.Namespace, obj.Name, obj.UID)
	}
	if len(obj.Spec.Volumes) == 0 {
		return nil, nil
	}
	used := usedVolumes(obj)
	want := map[key]*wanted{}
	for i := range obj.Spec.Volumes {
		v := &obj.Spec.Volumes[i]
		if !used[v.Name] {
			continue
		}
		if !element(v.Name) {
			return nil, fmt.Errorf("spec.volumes[%d].name %q: want a DNS label", i, v.Name)
		}
		plugin := m.pluginFor(v)
		if plugin == nil {
			return nil, m.unsupported(v)
		}
		k := key{obj.UID, plugin.Name(), v.Name}
		w := &wanted{spec: Spec{Pod: obj, Volume: v, Place: m.place(k)}, plugin: plugin}
		var err error
		if w.version, err = plugin.Version(w.spec); err != nil {
			return nil, &Error{Op: setUp.String(), Volume: v.Name, Plugin: k.plugin, Err: err}
		}
		want[k] = w
	}
	return want, nil
}

func (m *Manager) pluginFor(v *v1.Volume) Plugin {
	for _, p := range m.cfg.Plugins {
		if p.CanSupport(v) {
			return p
		}
	}
	return nil
}

func usedVolumes(obj *v1.Pod) map[string]bool {
	used := map[string]bool{}
	note := func(mounts []v1.VolumeMount, devices []v1.VolumeDevice) {
		for _, m := range mounts {
			used[m.Name] = true
		}
		for _, d := range devices {
			used[d.Name] = true
		}
	}
	for i := range obj.Spec.InitContainers {
		note(obj.Spec.InitContainers[i].VolumeMounts, obj.Spec.InitContainers[i].VolumeDevices)
	}
	for i := range obj.Spec.Containers {
		note(obj.Spec.Containers[i].VolumeMounts, obj.Spec.Containers[i].VolumeDevices)
	}
	for i := range obj.Spec.EphemeralContainers {
		note(obj.Spec.EphemeralContainers[i].VolumeMounts, obj.Spec.EphemeralContainers[i].VolumeDevices)
	}
	return used
}

// scanUnknown looks at the disk for a pod that is new to this agent.
func (m *Manager) scanUnknown(uid types.UID) ([]key, error) {
	m.mu.Lock()
	known := m.pods[uid] != nil
	m.mu.Unlock()
	if known {
		return nil, nil
	}
	return m.scan(uid)
}
