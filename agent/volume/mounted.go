package volume

import (
	"path/filepath"
	"strings"

	"k8s.io/apimachinery/pkg/types"
)

// Mounted is a volume of a pod that is set up. What it points to is shared: do not change it.
type Mounted struct {
	// Plugin is the plugin's name, or that of the driver of a [Family].
	Plugin string
	// Path is its directory, or, if it is a block volume, a link to the device.
	Path string
	Spec Spec
}

// Mounted returns the volumes of a pod that are set up, by their names in the pod: not images, nor volumes elsewhere on the node, such as
// hostPath volumes. It does not wait for operations.
//
// Upstream: pkg/kubelet/kubelet_getters.go, ListVolumesForPod, ListBlockVolumesForPod.
func (m *Manager) Mounted(uid types.UID) map[string]Mounted {
	m.mu.Lock()
	defer m.mu.Unlock()
	p, out := m.pods[uid], map[string]Mounted{}
	if p == nil {
		return out
	}
	for k, w := range p.wanted {
		s := m.states[k]
		if s == nil || !s.mounted || !m.place(k).has(s.result.HostPath) {
			continue
		}
		for _, name := range w.names {
			out[name] = Mounted{Plugin: k.plugin, Path: s.result.HostPath, Spec: w.spec}
		}
	}
	return out
}

// has reports whether a path is the volume's directory, or below it.
func (p Place) has(path string) bool {
	return path == p.Dir || strings.HasPrefix(path, p.Dir+string(filepath.Separator))
}
