package agent

import (
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/agent/pods"
	"github.com/kubeloupe/kubeloupe/agent/resize"
	"github.com/kubeloupe/kubeloupe/agent/worker"
)

// measureResizes adds the pods whose resize waits or is in progress. Upstream: pkg/kubelet/status/status_manager.go.
func (p *parts) measureResizes(m *measured) {
	pending, progress := p.pods.resizes.Counts()
	type kind struct{ priority, reason string }
	counts := map[kind]int{}
	for uid, reason := range pending {
		counts[kind{bucketOf(p.pods.store.Newest(uid)), strings.ToLower(reason)}]++
	}
	m.Gauge("kubelet_pod_pending_resizes", "Number of pending resizes for pods, by reason (deferred, infeasible) and by the pod's priority.")
	for k, n := range counts {
		m.sample(float64(n), "priority_bucket", k.priority, "reason", k.reason)
	}
	m.gauge("kubelet_pod_in_progress_resizes", "Number of in-progress resizes for pods.", float64(progress))
}

// bucketOf returns the class of a pod's priority.
func bucketOf(pod *v1.Pod) string {
	if pod == nil {
		return resize.UnknownPriority
	}
	return resize.Priority(pod)
}

func working(state worker.State, config string, static bool) pods.Working {
	return pods.Working{State: state, Config: config, Static: static}
}
