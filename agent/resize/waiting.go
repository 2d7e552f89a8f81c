package resize

import (
	"cmp"
	"time"

	v1 "k8s.io/api/core/v1"
	resourcehelper "k8s.io/component-helpers/resource"
	"k8s.io/component-helpers/scheduling/corev1"

	"github.com/kubeloupe/kubeloupe/agent/qos"
	"github.com/kubeloupe/kubeloupe/trace/sorting"
)

// Waiting returns those of the pods whose resize waits for free resources or for a first decision, in the order in which they get them. Call
// Update for each when there may be some.
//
// Upstream: pkg/kubelet/allocation/allocation_manager.go, sortPendingResizes.
func (m *Manager) Waiting(pods []*v1.Pod) []*v1.Pod {
	m.mu.Lock()
	defer m.mu.Unlock()
	type place struct {
		pod    *v1.Pod
		more   int // 0: it requests no more than it has
		rank   int32
		class  int // 0: guaranteed
		waited time.Time
	}
	var line []place
	for _, pod := range pods {
		c := m.conditions[pod.UID].pending
		if !m.undecided[pod.UID] && (c == nil || c.Reason != v1.PodReasonDeferred) {
			continue
		}
		since := time.Now()
		if c != nil {
			since = c.LastTransitionTime.Time
		}
		line = append(line, place{
			pod: pod, more: number(m.grows(pod)), rank: corev1.PodPriority(pod), class: number(qos.Class(pod) != v1.PodQOSGuaranteed), waited: since,
		})
	}
	sorting.Stable(line, func(a, b *place) int {
		return cmp.Or(cmp.Compare(a.more, b.more), cmp.Compare(b.rank, a.rank), cmp.Compare(a.class, b.class), a.waited.Compare(b.waited),
			cmp.Compare(a.pod.UID, b.pod.UID))
	})
	var out []*v1.Pod
	for _, p := range line {
		out = append(out, p.pod)
	}
	return out
}

// AnyWaiting reports whether the resize of a pod waits for free resources.
func (m *Manager) AnyWaiting() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.waiting) > 0
}

// grows reports whether the pod requests more CPU or memory than it is allocated. Called with mu.
func (m *Manager) grows(pod *v1.Pod) bool {
	has := resourcehelper.PodRequests(as(pod, m.allocated[pod.UID]), resourcehelper.PodResourcesOptions{})
	wants := resourcehelper.PodRequests(pod, resourcehelper.PodResourcesOptions{})
	return wants.Cpu().Cmp(*has.Cpu()) > 0 || wants.Memory().Cmp(*has.Memory()) > 0
}

func number(is bool) int {
	if is {
		return 1
	}
	return 0
}
