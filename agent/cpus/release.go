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
}

// tidy frees the CPUs of containers that no pod has, once all pods are known.
//
// Upstream: pkg/kubelet/cm/cpumanager/cpu_manager.go, removeStaleState.
func (m *Manager) tidy() {
	if len(m.content.Assigned) == 0 || !m.cfg.Pods.Complete() {
		return
	}
	active := map[string]*v1.Pod{}
	for _, pod := range m.cfg.Pods.Active() {
		active[string(pod.UID)] = pod
	}
	for _, uid := range slices.Sorted(maps.Keys(m.content.Assigned)) {
		m.release(uid, active[uid], trace.AllocationStale)
	}
}

// release frees the CPUs of those containers that the pod does not have; of all if there is none.
func (m *Manager) release(uid string, pod *v1.Pod, why trace.AllocationWhy) {
	assigned, freed := m.content.Assigned[uid], false
	ref, known := m.refs[uid]
	if !known {
		ref = trace.Pod{UID: uid}
	}
	for _, name := range slices.Sorted(maps.Keys(assigned)) {
		if pod != nil && has(pod, name) {
			continue
		}
		set := assigned[name]
		delete(assigned, name)
		for _, others := range assigned { // what an init container had, others may have now
			set = set.Difference(others)
		}
		m.content.Default = m.content.Default.Union(set)
		freed = true
		e := trace.Allocation{Outcome: trace.AllocationReleased, Container: name, Why: why, CPUs: set.String()}
		m.use(&e)
		m.tell(trace.Span{Pod: ref}, e)
	}
	if len(assigned) == 0 {
		delete(m.content.Assigned, uid)
		delete(m.refs, uid)
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
		return set, !set.IsEmpty()
	}
	return m.content.Default, false
}

// Own reports whether a container of the pod has CPUs for itself.
func (m *Manager) Own(pod types.UID) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
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
	return m.content.Assigned[string(pod)][container].List()
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
