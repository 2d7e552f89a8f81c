package cpus

import (
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/cpuset"

	"github.com/kubeloupe/kubeloupe/trace"
)

// Release frees the CPUs of a pod of which nothing runs.
func (m *Manager) Release(pod types.UID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.release(string(pod), nil, trace.AllocationEnded)
	delete(m.reusable, string(pod))
	delete(m.levels, string(pod))
}

// tidy frees the CPUs of containers that no pod has, once all pods are known.
//
// Upstream: pkg/kubelet/cm/cpumanager/cpu_manager.go, removeStaleState.
func (m *Manager) tidy() {
	if len(m.content.Assigned)+len(m.content.Pods) == 0 || !m.cfg.Pods.Complete() {
		return
	}
	active := map[string]*v1.Pod{}
	for _, pod := range m.cfg.Pods.Active() {
		active[string(pod.UID)] = pod
	}
	for _, uid := range m.holders() {
		m.release(uid, active[uid], trace.AllocationStale)
	}
}

// release frees the CPUs of those containers that the pod does not have; of all if there is none. What the pod has for all of its containers
// is free when none of them has a part of it.
//
// Upstream: pkg/kubelet/cm/cpumanager/policy_static.go, RemoveContainer.
func (m *Manager) release(uid string, pod *v1.Pod, why trace.AllocationWhy) {
	assigned, freed := m.content.Assigned[uid], false
	ref, known := m.refs[uid]
	if !known {
		ref = trace.Pod{UID: uid}
	}
	free := func(e trace.Allocation, set cpuset.CPUSet) {
		m.content.Default, freed = m.content.Default.Union(set), true
		e.Outcome, e.Why = trace.AllocationReleased, why
		m.use(&e)
		m.tell(trace.Span{Pod: ref}, e)
	}
	all, ofPod := m.content.Pods[uid]
	for _, name := range slices.Sorted(maps.Keys(assigned)) {
		if pod != nil && has(pod, name) {
			continue
		}
		set := assigned[name]
		delete(assigned, name)
		m.forget(uid, name)
		if ofPod {
			free(trace.Allocation{Source: m.part(uid, name), Container: name, CPUs: set.String()}, cpuset.New())
			continue
		}
		for _, others := range assigned { // what an init container had, others may have now
			set = set.Difference(others)
		}
		free(trace.Allocation{Source: m.source(uid, name), Container: name, CPUs: set.String()}, set)
	}
	if ofPod && (len(assigned) == 0 && freed || pod == nil) {
		delete(m.content.Pods, uid)
		free(trace.Allocation{Source: trace.SourcePod, CPUs: all.CPUSet.String()}, all.CPUSet)
	}
	if len(assigned) == 0 {
		delete(m.content.Assigned, uid)
		if _, ofPod = m.content.Pods[uid]; !ofPod {
			delete(m.refs, uid)
		}
	}
	if pod == nil {
		delete(m.levels, uid)
	}
	if freed {
		m.save()
		m.changed()
	}
}

func has(pod *v1.Pod, container string) bool {
	is := func(c v1.Container) bool { return c.Name == container }
	return slices.ContainsFunc(pod.Spec.InitContainers, is) || slices.ContainsFunc(pod.Spec.Containers, is)
}

// CPUs returns the CPUs that a container may use, in the kernel's format, "" for all, and whether it has them for itself.
//
// Upstream: GetCPUAffinity.
func (m *Manager) CPUs(pod types.UID, container string) (list string, own bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	set, own := m.of(pod, container)
	return set.String(), own
}

func (m *Manager) of(pod types.UID, container string) (cpuset.CPUSet, bool) {
	if set, ok := m.content.Assigned[string(pod)][container]; ok {
		return set, !set.IsEmpty() && !m.levels[string(pod)].shares(container)
	}
	return m.content.Default, false
}

// Own reports whether a container of the pod has CPUs for itself or, of a pod with pod-level resources, whether each has.
//
// Upstream: pkg/kubelet/cm/container_manager_linux.go, PodHasExclusiveCPUs.
func (m *Manager) Own(pod types.UID) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if l, ok := m.levels[string(pod)]; ok {
		return !slices.ContainsFunc(l.containers, func(name string) bool {
			_, own := m.of(pod, name)
			return !own
		})
	}
	for _, set := range m.content.Assigned[string(pod)] {
		if !set.IsEmpty() {
			return true
		}
	}
	return false
}

// Exclusive returns the CPUs that a container has for itself, in ascending order.
//
// Upstream: GetExclusiveCPUs.
func (m *Manager) Exclusive(pod types.UID, container string) []int {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.levels[string(pod)].shares(container) {
		return nil
	}
	return m.content.Assigned[string(pod)][container].List()
}

// OfPod returns the CPUs that a pod with pod-level resources has for all of its containers, in ascending order.
//
// Upstream: GetPodCPUs.
func (m *Manager) OfPod(pod types.UID) []int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.content.Pods[string(pod)].CPUSet.List()
}

// Allocatable returns the CPUs that containers can have for themselves, in ascending order; none with the policy none.
//
// Upstream: GetAllocatableCPUs.
func (m *Manager) Allocatable() []int {
	if m.static == nil {
		return nil
	}
	return m.static.details.all().Difference(m.static.reserved).List()
}
