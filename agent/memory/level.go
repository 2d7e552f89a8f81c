package memory

import (
	"fmt"
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	resourcehelper "k8s.io/component-helpers/resource"

	"github.com/kubeloupe/kubeloupe/agent/memory/state"
	"github.com/kubeloupe/kubeloupe/agent/podspec"
	"github.com/kubeloupe/kubeloupe/agent/qos"
	"github.com/kubeloupe/kubeloupe/trace"
)

// level reports whether the pod has pod-level resources that count.
func (m *Manager) level(pod *v1.Pod) bool {
	return m.cfg.PodLevel && resourcehelper.IsPodLevelResourcesSet(pod)
}

// know remembers which containers of a pod with pod-level resources share memory, even if the state has memory of theirs.
//
// Upstream: pkg/kubelet/cm/memorymanager/memory_manager.go, GetResourceIsolationLevel.
func (m *Manager) know(pod *v1.Pod) {
	if !m.static || !m.level(pod) {
		return
	}
	shared := map[string]bool{}
	for c := range podspec.Each(pod) {
		shared[c.Name] = !qos.GuaranteedContainer(c)
	}
	m.shared[string(pod.UID)] = shared
}

// emptyPool checks that the containers that share the memory of a pod have any, of each resource: those that run together, and each init
// container beside the sidecars before it. The texts are upstream's.
//
// Upstream: pkg/kubelet/cm/memorymanager/policy_static.go, validatePodScopeResources.
func (m *Manager) emptyPool(pod *v1.Pod, all amounts) error {
	shared, own := false, amounts{}
	used := func() v1.ResourceName {
		for _, name := range slices.Sorted(maps.Keys(all)) {
			if own[name] >= all[name] {
				return name
			}
		}
		return ""
	}
	for c, long := range podspec.Each(pod) {
		of, err := m.wanted(pod, c)
		if err != nil {
			return err
		}
		if long {
			for name, n := range of {
				own[name] += n
			}
			shared = shared || len(of) == 0
		} else if name := used(); len(of) == 0 && name != "" {
			return fmt.Errorf("pod rejected, pod has shared init containers but no %s available for them", name)
		}
	}
	if name := used(); shared && name != "" {
		return fmt.Errorf("pod rejected, sum of exclusive container %s requests equals pod budget, leaving no memory for shared containers", name)
	}
	return nil
}

// source is whose the memory of a container is; empty without the feature gate.
func (m *Manager) source(uid, container string) trace.AllocationSource {
	_, ofPod := m.content.PodEntries[uid]
	switch {
	case !m.cfg.PodLevel:
		return ""
	case !ofPod:
		return trace.SourceNode
	case m.shared[uid][container]:
		return trace.SourcePodShared
	}
	return trace.SourcePodExclusive
}

// dropPods removes from the state what pods have: all of it without the feature gate; with it, entries without memory, and those of pods whose
// containers have nothing. As upstream, neither counts.
func (m *Manager) dropPods() {
	if !m.cfg.PodLevel || !m.static {
		m.content.PodEntries = state.PodMemoryAssignments{}
		return
	}
	maps.DeleteFunc(m.content.PodEntries, func(uid string, pod state.PodEntry) bool {
		return len(pod.MemoryBlocks) == 0 || len(m.content.Entries[uid]) == 0
	})
}
