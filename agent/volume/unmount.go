package volume

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeloupe/kubeloupe/trace"
)

// Unmount returns when the pod has no volumes on the node, including those of an earlier agent. It fails if an attempt
// fails; the reconciler retries, and another Unmount waits for the next attempt.
func (m *Manager) Unmount(ctx context.Context, ref trace.Pod) error {
	if !element(ref.UID) {
		return fmt.Errorf("unmount volumes of pod %s: UID %q cannot name a directory", ref, ref.UID)
	}
	found, err := m.scanUnknown(types.UID(ref.UID))
	if err != nil {
		return err
	}
	m.mu.Lock()
	if m.pods[types.UID(ref.UID)] == nil && len(found) == 0 {
		m.mu.Unlock()
		return nil
	}
	p := m.know(ref, found)
	w := m.release(p, trace.ForPod(trace.FromContext(ctx), ref))
	m.mu.Unlock()
	m.kick()
	return w.await(ctx)
}

// release makes the pod desire no volumes. Called with mu.
func (m *Manager) release(p *pod, span trace.Span) *waiter {
	p.span = span
	uid := types.UID(p.ref.UID)
	if !p.released {
		m.wakeSharers(p)
		p.released, p.wanted, p.claims = true, nil, nil
		for k, s := range m.states {
			if k.uid != uid {
				continue
			}
			s.fresh()
			if s.quit != nil {
				close(s.quit)
				s.quit = nil
			}
		}
		p.wake()
	}
	w := m.waiter(p, tearDown)
	m.forget(uid)
	return w
}
