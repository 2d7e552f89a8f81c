package device

import (
	"fmt"
	"os"
	"path/filepath"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeloupe/kubeloupe/agent/device/checkpoint"
)

// view is what other parts say about the node's pods. They have locks of their own, so they are asked before mu is taken.
type view struct {
	complete bool
	// active are the pods of which something runs or will run; only after a checkpoint that could not be read.
	active []*v1.Pod
}

// look frees the devices of pods that have ended, and returns the current view.
//
// Upstream: pkg/kubelet/cm/devicemanager/manager.go, UpdateAllocatedDevices.
func (m *Manager) look() view {
	now := view{complete: m.cfg.Complete()}
	m.mu.Lock()
	var uids []types.UID
	for uid := range m.holds {
		uids = append(uids, uid)
	}
	for uid := range m.near {
		if m.holds[uid] == nil {
			uids = append(uids, uid)
		}
	}
	for uid := range m.deferred {
		if m.holds[uid] == nil && m.near[uid] == nil {
			uids = append(uids, uid)
		}
	}
	blind := m.blind
	m.mu.Unlock()
	if blind {
		now.active = m.cfg.Active()
	}
	if !now.complete {
		return now
	}
	for _, uid := range uids {
		if m.cfg.Ended(uid) {
			m.Release(uid)
		}
	}
	return now
}

// uncertain returns an error if containers may have devices of the resource that are not known here, because the checkpoint could not be
// read: then no device is given away that another container may have. It ends when those containers have. Called with mu.
func (m *Manager) uncertain(pod *v1.Pod, c *v1.Container, resource string, now view) error {
	if !m.blind {
		return nil
	}
	if !now.complete {
		return fmt.Errorf("the checkpoint of devices could not be read, and not all pods are known yet: %s may be in use", resource)
	}
	unknown, here := 0, 0
	for _, o := range now.active {
		for _, oc := range containers(o) {
			for name, q := range oc.Resources.Limits {
				if q.Value() <= 0 || m.holds.get(o.UID, oc.Name, string(name)) != nil || o.UID == pod.UID && oc.Name == c.Name {
					continue
				}
				if m.known(string(name)) != nil {
					unknown++
				}
				if string(name) == resource {
					here++
				}
			}
		}
	}
	if unknown == 0 {
		m.settle()
	}
	if here > 0 {
		return fmt.Errorf("the checkpoint of devices could not be read, and %d running containers may have any of %s: end their pods first", here, resource)
	}
	return nil
}

// settle ends the uncertainty: from now on, all that containers have is known. Called with mu.
func (m *Manager) settle() {
	m.blind = false
	// What could not be read is kept for people, under a name that does not make the next agent doubt.
	_ = os.Rename(m.aside(), m.aside()+".settled")
}

func (m *Manager) path() string  { return filepath.Join(m.cfg.Dir, checkpoint.Name) }
func (m *Manager) aside() string { return m.path() + ".unreadable" }
