package status

import (
	"context"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeloupe/kubeloupe/agent/podspec"
	"github.com/kubeloupe/kubeloupe/trace"
)

// Set sets a pod's latest status. Its cause is the span of ctx. p is the pod as its source has it; for the API server,
// with the API's status. A status that would go backward is rejected. Upstream: pkg/kubelet/status/status_manager.go,
// SetPodStatus.
func (m *Manager) Set(ctx context.Context, p *v1.Pod, s v1.PodStatus) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.set(ctx, m.entry(p), s.DeepCopy())
}

// Gone reports that nothing of a terminated pod is left on the node: no container, volume or cgroup. Containers with an
// unknown result count as failed. If the API server's object must be deleted, now or later, Gone deletes it. Upstream:
// pkg/kubelet/status/status_manager.go, TerminatePod.
func (m *Manager) Gone(ctx context.Context, p *v1.Pod) {
	m.mu.Lock()
	defer m.mu.Unlock()
	e := m.entry(p)
	e.gone = true
	m.set(ctx, e, terminated(p, e.last(), e.static))
	e.settle, e.yields, e.asks = time.Time{}, false, false
	m.note(ctx, e)
}

// Observe takes a pod from the API server's watch: p may be a static pod's mirror, uid is always the agent's UID of the pod. If the
// status in the API differs from the agent's, the agent's is written again.
func (m *Manager) Observe(ctx context.Context, uid types.UID, p *v1.Pod) {
	m.mu.Lock()
	defer m.mu.Unlock()
	e := m.entries[uid]
	if e == nil {
		return
	}
	e.learn(objectOf(p))
	if !e.static {
		e.pod = p
	}
	switch {
	case e.deleted:
	case e.removable(), e.version > e.sent, e.version > 0 && !same(normalised(e.pod, e.api.status), &e.want):
		m.note(ctx, e)
	}
}

// Forget removes the state of a pod that no source has and that is gone.
func (m *Manager) Forget(uid types.UID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.forget(uid)
}

func (m *Manager) forget(uid types.UID) {
	if e := m.entries[uid]; e != nil {
		e.deleted = true
		m.ready(e)
		delete(m.entries, uid)
	}
}

// set sets the pod's status to s, which it owns.
func (m *Manager) set(ctx context.Context, e *entry, s *v1.PodStatus) {
	old := e.last()
	if why := backward(&e.pod.Spec, old, s); why != "" {
		trace.Point(m.cfg.Bus, trace.ForPod(trace.FromContext(ctx), podspec.Ref(e.pod)), trace.Decision{
			By: trace.ByStatus, Subject: podspec.Ref(e.pod).String(), Verdict: trace.VerdictReject, Reason: why,
		})
		return
	}
	complete(e.pod, old, s, e.static, time.Now())
	if e.version > 0 && same(old, s) {
		if e.held {
			m.note(ctx, e)
		}
		return
	}
	m.pace(e, old, s, time.Now())
	e.want = *s
	e.version++
	e.tries, e.next, e.futile = 0, time.Time{}, ""
	m.note(ctx, e)
}

// removable reports whether the API's object can be deleted. Upstream: pkg/kubelet/status/status_manager.go,
// canBeDeleted.
func (e *entry) removable() bool {
	return e.gone && !e.deleted && !e.static && e.api != nil && e.api.deleting && terminal(e.api.status.Phase)
}

func terminal(p v1.PodPhase) bool { return trace.PodPhase(p).Terminal() }
