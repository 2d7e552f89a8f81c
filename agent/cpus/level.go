package cpus

import (
	"errors"
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	resourcehelper "k8s.io/component-helpers/resource"

	"github.com/kubeloupe/kubeloupe/agent/cpus/state"
	"github.com/kubeloupe/kubeloupe/agent/podspec"
	"github.com/kubeloupe/kubeloupe/agent/qos"
	"github.com/kubeloupe/kubeloupe/trace"
)

// containersOf is what the specification of a pod with pod-level resources says of its containers: which there are, and which share CPUs.
type containersOf struct {
	containers []string
	shared     map[string]bool
}

func (l containersOf) shares(container string) bool { return l.shared[container] }

// level reports whether the pod has pod-level resources that count.
func (p *static) level(pod *v1.Pod) bool {
	return p.podLevel && resourcehelper.IsPodLevelResourcesSet(pod)
}

// know remembers which containers of a pod with pod-level resources share CPUs, even if the state has CPUs of theirs.
//
// Upstream: pkg/kubelet/cm/cpumanager/cpu_manager.go, GetResourceIsolationLevel.
func (m *Manager) know(pod *v1.Pod) {
	if m.static == nil || !m.static.level(pod) {
		return
	}
	l := containersOf{shared: map[string]bool{}}
	for c := range podspec.Each(pod) {
		l.containers = append(l.containers, c.Name)
		l.shared[c.Name] = !qos.GuaranteedContainer(c) || whole(c.Resources.Limits) == 0
	}
	m.levels[string(pod.UID)] = l
}

// emptyPool checks that the containers that share the CPUs of a pod have any: those that run together, and each init container beside the
// sidecars before it. The texts are upstream's.
//
// Upstream: pkg/kubelet/cm/cpumanager/policy_static.go, validatePodScopeResources.
func (p *static) emptyPool(pod *v1.Pod, all int) error {
	shared, own := false, 0
	for c, long := range podspec.Each(pod) {
		switch n := p.wanted(pod, c); {
		case long:
			own, shared = own+n, shared || n == 0
		case n == 0 && own >= all:
			return errors.New("pod rejected, pod has shared init containers but no cpus available for them")
		}
	}
	if shared && own >= all {
		return errors.New("pod rejected, sum of exclusive container cpu requests equals pod budget, leaving no cpus for shared containers")
	}
	return nil
}

// source is whose the CPUs of a container are; empty without the feature gate.
func (m *Manager) source(uid, container string) trace.AllocationSource {
	if _, ofPod := m.content.Pods[uid]; ofPod {
		return m.part(uid, container)
	}
	if m.cfg.PodLevel {
		return trace.SourceNode
	}
	return ""
}

// part is whose a part of a pod's CPUs is.
func (m *Manager) part(uid, container string) trace.AllocationSource {
	if m.levels[uid].shares(container) {
		return trace.SourcePodShared
	}
	return trace.SourcePodExclusive
}

// holders are the pods that have something, in order.
func (m *Manager) holders() []string {
	all := map[string]bool{}
	for uid := range m.content.Assigned {
		all[uid] = true
	}
	for uid := range m.content.Pods {
		all[uid] = true
	}
	return slices.Sorted(maps.Keys(all))
}

// dropPods removes from the state what pods have: all of it without the feature gate, as upstream; with it, entries without CPUs, and what an
// agent had released when it ended before it could remove the pod.
func (m *Manager) dropPods() {
	if !m.cfg.PodLevel || m.static == nil {
		m.content.Pods = state.PodCPUAssignments{}
		return
	}
	maps.DeleteFunc(m.content.Pods, func(uid string, pod state.PodEntry) bool {
		return pod.CPUSet.IsEmpty() || len(m.content.Assigned[uid]) == 0 && pod.CPUSet.IsSubsetOf(m.content.Default)
	})
}
