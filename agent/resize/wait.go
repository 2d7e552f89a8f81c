package resize

import (
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/component-helpers/scheduling/corev1"

	"github.com/kubeloupe/kubeloupe/agent/podspec"
	"github.com/kubeloupe/kubeloupe/trace"
)

// UnknownPriority is the class of the priority of a pod that is gone.
const UnknownPriority = "unknown"

// Priority returns the class of a pod's priority in the kubelet's metrics of resizes.
//
// Upstream: pkg/kubelet/metrics/metrics.go, GetPriorityBucketLabel.
func Priority(pod *v1.Pod) string {
	switch priority := corev1.PodPriority(pod); {
	case priority >= 2_000_000_000:
		return "system-critical"
	case priority >= 100_000:
		return "high"
	case priority > 0:
		return "medium"
	case priority == 0:
		return "normal"
	case priority > -1000:
		return "low"
	}
	return "very-low"
}

// wait notes that a pod waits for free resources. Called with mu.
func (m *Manager) wait(pod *v1.Pod) {
	if _, known := m.waiting[pod.UID]; !known {
		m.waiting[pod.UID] = wait{pod: podspec.Ref(pod), since: time.Now()}
	}
}

// waited reports how a pod's waiting ended, if it waited. Called with mu.
//
// Upstream: pkg/kubelet/status/status_manager.go, observeDeferredResizeDuration.
func (m *Manager) waited(span trace.Span, uid types.UID, e trace.Resize) {
	w, known := m.waiting[uid]
	if !known {
		return
	}
	delete(m.waiting, uid)
	e.Op, e.Took = trace.ResizeWaited, time.Since(w.since)
	trace.Point(m.cfg.Bus, trace.ForPod(span, w.pod), e)
}

// Begin notes that the cgroups of a pod begin to change. Done or Failed follows.
func (m *Manager) Begin(uid types.UID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.began[uid] = time.Now()
}

// changed reports how long the change took, once. Called with mu.
//
// Upstream: pkg/kubelet/kuberuntime/kuberuntime_manager.go, doPodResizeAction.
func (m *Manager) changed(span trace.Span, pod *v1.Pod, failed bool) {
	began, known := m.began[pod.UID]
	if !known {
		return
	}
	delete(m.began, pod.UID)
	trace.Point(m.cfg.Bus, trace.ForPod(span, podspec.Ref(pod)), trace.Resize{Op: trace.ResizeActuated, Took: time.Since(began), Failed: failed})
}
