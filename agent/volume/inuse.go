package volume

import (
	"maps"
	"slices"
	"strconv"

	v1 "k8s.io/api/core/v1"
)

// volumeGID is the annotation of a persistent volume with the group of its files.
const volumeGID = "pv.beta.kubernetes.io/gid"

// InUse returns the attachable volumes that pods want or still have, sorted, for the node's status. Volumes of an earlier agent count until
// their pod is known to be deleted: they must not be detached.
//
// Upstream: pkg/kubelet/volumemanager/volume_manager.go, GetVolumesInUse.
func (m *Manager) InUse() []v1.UniqueVolumeName {
	m.looked.Do(m.findLeft)
	m.mu.Lock()
	defer m.mu.Unlock()
	in := m.inUse()
	news := false
	for name := range in {
		news = news || m.reported[name] && !m.listed[name]
	}
	if m.listed = in; news {
		m.wakeAll()
	}
	return slices.Sorted(maps.Keys(in))
}

// inUse returns what [Manager.InUse] does. Called with mu.
func (m *Manager) inUse() map[v1.UniqueVolumeName]bool {
	in := map[v1.UniqueVolumeName]bool{}
	for _, p := range m.pods {
		for _, w := range p.wanted {
			in[w.attach] = true
		}
	}
	for _, s := range m.states {
		in[s.attach] = true
	}
	for _, l := range m.left {
		in[l.attach] = true
	}
	for _, s := range m.staged {
		in[s.attach] = true
	}
	delete(in, "")
	return in
}

// confirmed returns the volumes that a controller will not detach: the node's status lists them as in use, and so does the one that is
// written next. It returns nil, which means all, if nobody has called MarkInUse. Called with mu.
func (m *Manager) confirmed() map[v1.UniqueVolumeName]bool {
	if m.reported == nil {
		return nil
	}
	both := map[v1.UniqueVolumeName]bool{}
	for name := range m.reported {
		if m.listed[name] {
			both[name] = true
		}
	}
	return both
}

// Images returns the images of image volumes, with the runtime's names, until the volumes are gone.
func (m *Manager) Images() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []string
	for _, s := range m.states {
		if image := s.result.Image.GetImage(); image != "" {
			out = append(out, image)
		}
	}
	return out
}

// MarkInUse sets the volumes that the node's status in the API lists as in use. From the first call on, a volume that a controller attaches
// is mounted only after it is in that list, and in the latest result of InUse.
//
// Upstream: pkg/kubelet/volumemanager/volume_manager.go, MarkVolumesAsReportedInUse.
func (m *Manager) MarkInUse(reported []v1.UniqueVolumeName) {
	if m.mark(reported) && m.cfg.InUseChanged != nil {
		m.cfg.InUseChanged()
	}
}

// mark stores the list, and reports whether it no longer has a volume that is in use.
func (m *Manager) mark(reported []v1.UniqueVolumeName) (lost bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	was := m.reported
	m.reported = map[v1.UniqueVolumeName]bool{}
	for _, name := range reported {
		m.reported[name] = true
	}
	for name := range m.inUse() {
		lost = lost || was[name] && !m.reported[name]
	}
	m.wakeAll()
	return lost
}

// wakeAll wakes the reconciler and everyone who waits. Called with mu.
func (m *Manager) wakeAll() {
	for _, p := range m.pods {
		p.wake()
	}
	m.kick()
}

func (m *Manager) inUseChanged(want map[key]*wanted) {
	if m.cfg.InUseChanged == nil {
		return
	}
	m.mu.Lock()
	confirmed := m.confirmed()
	news := false
	for _, w := range want {
		news = news || w.attach != "" && !confirmed[w.attach]
	}
	m.mu.Unlock()
	if news {
		m.cfg.InUseChanged()
	}
}

// ExtraGroups returns the groups that the pod's containers get for its persistent volumes.
//
// Upstream: pkg/kubelet/volumemanager/volume_manager.go, GetExtraSupplementalGroupsForPod.
func (m *Manager) ExtraGroups(obj *v1.Pod) []int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	p := m.pods[obj.UID]
	if p == nil {
		return nil
	}
	groups := map[int64]bool{}
	for _, w := range p.wanted {
		if w.spec.PV == nil {
			continue
		}
		gid, err := strconv.ParseInt(w.spec.PV.Annotations[volumeGID], 10, 64)
		if err == nil && (obj.Spec.SecurityContext == nil || !slices.Contains(obj.Spec.SecurityContext.SupplementalGroups, gid)) {
			groups[gid] = true
		}
	}
	return slices.Sorted(maps.Keys(groups))
}

// BlockVolumes returns the links to the devices of a pod's block volumes, by the volumes' names in the pod.
//
// Upstream: pkg/kubelet/kubelet_pods.go, makeBlockVolumes.
func (m *Manager) BlockVolumes(obj *v1.Pod) map[string]string {
	out := map[string]string{}
	for i := range obj.Spec.Volumes {
		name := obj.Spec.Volumes[i].Name
		if k, ok := m.find(obj, name); ok && k.block {
			out[name] = m.place(k).Dir
		}
	}
	return out
}

func (m *Manager) find(obj *v1.Pod, name string) (key, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	p := m.pods[obj.UID]
	if p == nil {
		return key{}, false
	}
	for k, w := range p.wanted {
		if slices.Contains(w.names, name) {
			return k, true
		}
	}
	return key{}, false
}
