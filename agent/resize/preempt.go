package resize

import (
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// sparing returns a verdict with the pods that must be preempted in addition to those that were preempted before and still terminate. A
// resize is tried again whenever a pod changes; each time, other pods that request as much could be chosen. Called with mu.
func (m *Manager) sparing(pod *v1.Pod, others []*v1.Pod, v Verdict) Verdict {
	maps.DeleteFunc(m.leaving, func(uid types.UID, _ bool) bool {
		return uid != pod.UID && !slices.ContainsFunc(others, func(o *v1.Pod) bool { return o.UID == uid })
	})
	stay := slices.DeleteFunc(slices.Clone(others), func(o *v1.Pod) bool { return m.leaving[o.UID] })
	if len(v.Victims) > 0 && len(stay) < len(others) {
		v.Preemption = m.cfg.Admit(pod, stay).Preemption
	}
	for _, victim := range v.Victims {
		m.leaving[victim.UID] = true
	}
	return v
}
