package pods

import (
	"context"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeloupe/kubeloupe/agent/worker"
	"github.com/kubeloupe/kubeloupe/trace"
)

// Run removes the remains of unknown pods whenever housekeeping requests it, until ctx ends. It is separate from the
// syncLoop: an operation that hangs here (unmounting a network file system, a process that does not exit) must not stop
// the node's other pods.
//
// Upstream cleans in the syncLoop (pkg/kubelet/kubelet_pods.go, HandlePodCleanups).
func (m *Manager) Run(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case cause := <-m.clean:
			m.cleanOrphans(trace.ContextWith(ctx, cause))
		}
	}
}

func (m *Manager) cleanOrphans(ctx context.Context) {
	for _, o := range m.cfg.Orphans {
		var claimed []types.UID
		_, err := o.Clean(ctx, func(uid types.UID) bool {
			if m.cfg.Seen.Get(uid) != nil || m.cfg.Workers.State(uid) != worker.None || !m.cfg.Store.claim(uid) {
				return true
			}
			claimed = append(claimed, uid)
			return false
		})
		m.cfg.Store.giveUp(claimed)
		if err != nil && ctx.Err() == nil {
			trace.Point(m.cfg.Bus, trace.FromContext(ctx), trace.Log{Level: "warn", Message: "clean up after unknown pods: " + err.Error()})
		}
	}
}

// claim claims an unknown pod for cleaning. While it is claimed, no work for it begins.
func (s *Store) claim(uid types.UID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.pods[uid] != nil {
		return false
	}
	if s.claimed[uid] == nil {
		s.claimed[uid] = make(chan struct{})
	}
	return true
}

// giveUp releases claims.
func (s *Store) giveUp(uids []types.UID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, uid := range uids {
		if ch := s.claimed[uid]; ch != nil {
			close(ch)
			delete(s.claimed, uid)
		}
	}
}

// awaitClean returns when nothing of an earlier pod with the same UID is being cleaned.
func (s *Syncer) awaitClean(ctx context.Context, pod *v1.Pod) error {
	s.cfg.Store.mu.Lock()
	claimed := s.cfg.Store.claimed[pod.UID]
	s.cfg.Store.mu.Unlock()
	if claimed == nil {
		return nil
	}
	wait := trace.Wait{For: trace.WaitLock, Target: trace.Target{Kind: trace.TargetLeftovers}}
	span := trace.Begin(s.cfg.Bus, trace.FromContext(ctx), wait)
	defer func() { trace.End(s.cfg.Bus, span, wait) }()
	select {
	case <-claimed:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
