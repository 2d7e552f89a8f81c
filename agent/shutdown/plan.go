package shutdown

import (
	"cmp"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	kubeletv1beta1 "k8s.io/kubelet/config/v1beta1"

	"github.com/kubeloupe/kubeloupe/trace/sorting"
)

// systemCritical is the priority from which pods are in the group of shutdownGracePeriodCriticalPods.
//
// Upstream: pkg/apis/scheduling/types.go, SystemCriticalPriority.
const systemCritical = 2_000_000_000

// Settings are the fields of KubeletConfiguration.
type Settings struct {
	// Total is shutdownGracePeriod, Critical shutdownGracePeriodCriticalPods.
	Total, Critical time.Duration
	// ByPriority is shutdownGracePeriodByPodPriority; empty if its feature gate is off.
	ByPriority []kubeletv1beta1.ShutdownGracePeriodByPodPriority
}

// Period is the time of the pods of a priority.
type Period struct {
	// Priority is the lowest priority of these pods.
	Priority int32
	// Grace is how long they may take, in seconds.
	Grace int64
}

// Periods returns the periods by rising priority; none if nothing is configured. Total without ByPriority is one period for critical pods and
// one before for all others.
//
// Upstream: pkg/kubelet/nodeshutdown/nodeshutdown_manager.go, newPodManager and migrateConfig.
func (s Settings) Periods() []Period {
	var out []Period
	for _, p := range s.ByPriority {
		out = append(out, Period{Priority: p.Priority, Grace: max(p.ShutdownGracePeriodSeconds, 0)})
	}
	if len(out) == 0 && s.Total > 0 && s.Critical <= s.Total {
		out = []Period{{0, int64((s.Total - s.Critical) / time.Second)}, {systemCritical, int64(s.Critical / time.Second)}}
	}
	sorting.Stable(out, func(a, b *Period) int { return cmp.Compare(a.Priority, b.Priority) })
	return out
}

// total returns the sum of all periods.
func total(periods []Period) time.Duration {
	var sum int64
	for _, p := range periods {
		sum += p.Grace
	}
	return time.Duration(sum) * time.Second
}

// group is a period with its pods.
type group struct {
	Period
	pods []*v1.Pod
}

// plan returns the groups that have pods, in the order in which they terminate. A pod belongs to the last period whose priority it reaches,
// or to the first period if it reaches none.
//
// Upstream: pkg/kubelet/nodeshutdown/nodeshutdown_manager.go, groupByPriority.
func plan(periods []Period, pods []*v1.Pod) []group {
	all := make([]group, len(periods))
	for i, p := range periods {
		all[i].Period = p
	}
	for _, pod := range pods {
		i, exact := slices.BinarySearchFunc(periods, priority(pod), func(p Period, priority int32) int { return cmp.Compare(p.Priority, priority) })
		if !exact {
			i = max(i-1, 0)
		}
		all[i].pods = append(all[i].pods, pod)
	}
	return slices.DeleteFunc(all, func(g group) bool { return len(g.pods) == 0 })
}

func priority(pod *v1.Pod) int32 {
	if p := pod.Spec.Priority; p != nil {
		return *p
	}
	return 0
}

// grace returns the grace period of a pod in the group, in seconds: its own, or that of the group if this is shorter.
func (g *group) grace(pod *v1.Pod) int64 {
	if own := pod.Spec.TerminationGracePeriodSeconds; own != nil {
		return min(*own, g.Grace)
	}
	return g.Grace
}
