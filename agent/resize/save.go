package resize

import (
	"context"
	"errors"
	"path/filepath"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeloupe/kubeloupe/trace"
)

// saveDelay is how long after a pod was added it is saved: pods that are added at the same time are saved together. A resize is
// saved at once.
const saveDelay = time.Second

// Run saves added pods until ctx ends, and then those that are not saved yet.
func (m *Manager) Run(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
		case <-m.added:
			select {
			case <-ctx.Done():
			case <-time.After(saveDelay):
			}
		}
		if err := m.saveAdded(); err != nil {
			trace.Point(m.cfg.Bus, trace.Span{}, trace.Log{Level: trace.LevelWarn, Message: err.Error()})
		}
		if ctx.Err() != nil {
			return nil
		}
	}
}

// saveLater has Run save the pods. Called with mu.
func (m *Manager) saveLater() {
	m.unsaved = true
	select {
	case m.added <- struct{}{}:
	default: // already requested
	}
}

// saveAdded writes the checkpoints if pods are not saved. While it writes, others can read what pods have.
func (m *Manager) saveAdded() error {
	m.mu.Lock()
	if !m.unsaved {
		m.mu.Unlock()
		return nil
	}
	f, err := m.files()
	m.unsaved = false
	m.disk.Lock()
	m.mu.Unlock()
	if err == nil {
		err = f.write(m.cfg.Dir)
	}
	m.disk.Unlock()
	if err != nil {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.unsaved = true // until the next save
	}
	return err
}

// store writes the checkpoints. Called with mu.
func (m *Manager) store() error {
	f, err := m.files()
	if err != nil {
		return err
	}
	m.disk.Lock()
	defer m.disk.Unlock()
	err = f.write(m.cfg.Dir)
	m.unsaved = m.unsaved && err != nil
	return err
}

// files are the contents of the checkpoints.
type files struct{ allocated, actuated []byte }

// files returns what the checkpoints should be. A pod that was never resized has what it is allocated; without an entry, upstream's kubelet would
// not carry out its next resize, and without the limits that containers have from their pod, it would take the pod for one that is being resized
// forever. Called with mu.
//
// Upstream: pkg/kubelet/kuberuntime/kuberuntime_manager.go, InitializeActuatedPod.
func (m *Manager) files() (f files, err error) {
	actuated := make(map[types.UID]info, len(m.allocated))
	for uid, i := range m.allocated {
		if given, known := m.actuated[uid]; known {
			i = given
		}
		actuated[uid] = i.whole()
	}
	if f.allocated, err = format(m.allocated); err != nil {
		return f, err
	}
	f.actuated, err = format(actuated)
	return f, err
}

// write replaces the checkpoints. The first one is what pods have: an agent that crashes in between must not take a resize for carried out.
func (f files) write(dir string) error {
	return errors.Join(save(filepath.Join(dir, actuatedFile), f.actuated), save(filepath.Join(dir, allocatedFile), f.allocated))
}
