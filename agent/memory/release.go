package memory

import (
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeloupe/kubeloupe/agent/memory/state"
	"github.com/kubeloupe/kubeloupe/agent/podspec"
	"github.com/kubeloupe/kubeloupe/trace"
)

// Release frees the memory of a pod of which nothing runs.
func (m *Manager) Release(pod types.UID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.release(string(pod), trace.AllocationEnded, func(string) bool { return false })
	delete(m.reusable, string(pod))
	delete(m.shared, string(pod))
}

// Created frees the memory of the init containers before a container: they have finished.
//
// Upstream: pkg/kubelet/cm/memorymanager/memory_manager.go, AddContainer.
func (m *Manager) Created(pod *v1.Pod, container string) {
	if !has(pod, container) {
		return // an ephemeral one can start before the init containers have finished
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	finished := map[string]bool{}
	for i := range pod.Spec.InitContainers {
		c := &pod.Spec.InitContainers[i]
		if c.Name == container {
			break
		}
		finished[c.Name] = !podspec.RestartableInit(c)
	}
	m.release(string(pod.UID), trace.AllocationInitDone, func(name string) bool { return !finished[name] })
}

// tidy frees the memory of containers that no pod has, once all pods are known.
//
// Upstream: removeStaleState.
func (m *Manager) tidy() {
	if len(m.content.Entries) == 0 || !m.cfg.Pods.Complete() {
		return
	}
	active := map[string]*v1.Pod{}
	for _, pod := range m.cfg.Pods.Active() {
		active[string(pod.UID)] = pod
	}
	for _, uid := range slices.Sorted(maps.Keys(m.content.Entries)) {
		m.release(uid, trace.AllocationStale, func(name string) bool { return active[uid] != nil && has(active[uid], name) })
	}
}

// release frees the memory of those containers of a pod that do not keep it. What the pod has for all of its containers is free when none of
// them has a part of it.
//
// Upstream: pkg/kubelet/cm/memorymanager/policy_static.go, RemoveContainer.
func (m *Manager) release(uid string, why trace.AllocationWhy, keeps func(container string) bool) {
	entries, freed := m.content.Entries[uid], false
	ref, known := m.refs[uid]
	if !known {
		ref = trace.Pod{UID: uid}
	}
	all, ofPod := m.content.PodEntries[uid]
	free := func(source trace.AllocationSource, container string, blocks []state.Block, back bool) {
		for _, b := range blocks {
			if back {
				giveBack(m.content.MachineState, b)
			}
		}
		freed = true
		m.tell(trace.Span{Pod: ref}, trace.Allocation{
			Outcome: trace.AllocationReleased, Source: source, Container: container, Why: why, Memory: told(blocks), Nodes: nodesOf(blocks), Free: m.left(blocks),
		})
	}
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		if keeps(name) {
			continue
		}
		blocks := entries[name]
		delete(entries, name)
		free(m.source(uid, name), name, blocks, !ofPod)
	}
	if len(entries) == 0 {
		if ofPod && freed {
			free(trace.SourcePod, "", all.MemoryBlocks, true)
		}
		delete(m.content.PodEntries, uid)
		delete(m.content.Entries, uid)
		delete(m.refs, uid)
	}
	if freed {
		regroup(m.content)
		settle(m.content)
		m.save()
	}
}

func has(pod *v1.Pod, container string) bool {
	is := func(c v1.Container) bool { return c.Name == container }
	return slices.ContainsFunc(pod.Spec.InitContainers, is) || slices.ContainsFunc(pod.Spec.Containers, is)
}

// Nodes returns the NUMA nodes of a container's memory in the kernel's format, "" for all.
//
// Upstream: GetMemoryNUMANodes.
func (m *Manager) Nodes(pod types.UID, container string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return nodesOf(m.content.Entries[string(pod)][container])
}

// Blocks returns the memory that a container has for itself. The caller must not change the lists of NUMA nodes.
func (m *Manager) Blocks(pod types.UID, container string) []state.Block {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.shared[string(pod)][container] {
		return nil
	}
	return slices.Clone(m.content.Entries[string(pod)][container])
}

// OfPod returns the memory that a pod with pod-level resources has for all of its containers. The caller must not change the lists of NUMA
// nodes.
//
// Upstream: GetPodMemory.
func (m *Manager) OfPod(pod types.UID) []state.Block {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.content.PodEntries[string(pod)].MemoryBlocks)
}

// Allocatable returns the memory that containers can have for themselves, by NUMA node and resource; none with the policy None.
//
// Upstream: pkg/kubelet/cm/memorymanager/policy_static.go, GetAllocatableMemory.
func (m *Manager) Allocatable() []state.Block {
	if !m.static {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []state.Block
	for _, node := range slices.Sorted(maps.Keys(m.content.MachineState)) {
		tables := m.content.MachineState[node].MemoryMap
		for _, name := range slices.Sorted(maps.Keys(tables)) {
			if size := tables[name].Allocatable; size > 0 {
				out = append(out, state.Block{NUMAAffinity: []int{node}, Type: name, Size: size})
			}
		}
	}
	return out
}
