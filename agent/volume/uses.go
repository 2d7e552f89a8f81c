package volume

import "github.com/kubeloupe/kubeloupe/trace"

// Use is a persistent volume that a pod wants. What it points to is shared: do not change it.
type Use struct {
	Pod trace.Pod
	// Names are the volume's names in the pod: several volumes of a pod may use one claim.
	Names []string
	Spec  Spec
}

// Uses returns the persistent volumes of a plugin that pods want, in no order. It does not wait for operations.
//
// Upstream: pkg/kubelet/volumemanager/cache/volume_health.go, GetVolumesToReportHealth.
func (m *Manager) Uses(plugin string) []Use {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []Use
	for _, p := range m.pods {
		if p.released {
			continue
		}
		for k, w := range p.wanted {
			if k.plugin == plugin && w.spec.PV != nil {
				out = append(out, Use{Pod: p.ref, Names: w.names, Spec: w.spec})
			}
		}
	}
	return out
}
