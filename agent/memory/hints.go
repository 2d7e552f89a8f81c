package memory

import (
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/agent/memory/state"
	"github.com/kubeloupe/kubeloupe/agent/numa"
	"github.com/kubeloupe/kubeloupe/agent/topology"
)

// Hints implements topology.HintProvider.
//
// Upstream: pkg/kubelet/cm/memorymanager/policy_static.go, GetTopologyHints.
func (m *Manager) Hints(pod *v1.Pod, c *v1.Container) map[string][]topology.Hint {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.concerns(pod) {
		return nil
	}
	want, err := m.wanted(pod, c)
	if err != nil || len(want) == 0 {
		return nil // Allocate returns the error
	}
	m.tidy()
	if blocks, ok := m.content.Entries[string(pod.UID)][c.Name]; ok {
		if all := m.changes(pod, c, want); len(all) > 0 {
			return m.resizeHints(pod, c, all, want)
		}
		return again(blocks, want)
	}
	return named(m.hints(string(pod.UID), want), want)
}

// PodHints implements topology.HintProvider.
//
// Upstream: GetPodTopologyHints.
func (m *Manager) PodHints(pod *v1.Pod) map[string][]topology.Hint {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.concerns(pod) {
		return nil
	}
	want, err := m.wantedByPod(pod)
	if err != nil || len(want) == 0 {
		return nil
	}
	m.tidy()
	if has := m.content.PodEntries[string(pod.UID)].MemoryBlocks; len(has) > 0 && m.level(pod) {
		return ofBlocks(has)
	}
	if m.level(pod) && m.emptyPool(pod, want) != nil {
		return noHints(want) // AllocatePod returns the error if the pod is admitted all the same
	}
	var stays map[string][]topology.Hint // of a pod whose resize is tried: its memory is not allocated again
	for _, list := range [][]v1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range list {
			blocks, ok := m.content.Entries[string(pod.UID)][list[i].Name]
			if of, err := m.wanted(pod, &list[i]); ok && err == nil {
				if all := m.changes(pod, &list[i], of); len(all) > 0 {
					return m.resizeHints(pod, &list[i], all, of)
				}
			}
			switch {
			case ok && m.trial == nil:
				return again(blocks, want)
			case ok && stays == nil:
				stays = ofBlocks(blocks)
			}
		}
	}
	if stays != nil {
		return stays
	}
	return named(m.hints(string(pod.UID), want), want)
}

// named returns the hints for each resource: they are the same for all. As upstream, no hints are no preference: Allocate then fails.
func named(hints []topology.Hint, want amounts) map[string][]topology.Hint {
	out := map[string][]topology.Hint{}
	if len(hints) == 0 {
		return out
	}
	for name := range want {
		out[string(name)] = hints
	}
	return out
}

// noHints says that no nodes can give what is wanted.
func noHints(want amounts) map[string][]topology.Hint {
	out := map[string][]topology.Hint{}
	for name := range want {
		out[string(name)] = []topology.Hint{}
	}
	return out
}

// resizeHints returns the hints for a container that requests another amount than it has: its memory stays on its NUMA nodes.
func (m *Manager) resizeHints(pod *v1.Pod, c *v1.Container, all map[int]change, want amounts) map[string][]topology.Hint {
	if m.room(string(pod.UID), c.Name, all, want) != nil {
		return noHints(want)
	}
	return ofBlocks(m.content.Entries[string(pod.UID)][c.Name])
}

// again returns the hints for what was allocated before: no preference if it is not what is requested now.
//
// Upstream: regenerateHints.
func again(blocks []state.Block, want amounts) map[string][]topology.Hint {
	if len(blocks) != len(want) {
		return nil
	}
	for _, b := range blocks {
		if n, ok := want[b.Type]; !ok || n != b.Size {
			return nil
		}
	}
	return ofBlocks(blocks)
}

// ofBlocks returns the hints for blocks that are allocated.
func ofBlocks(blocks []state.Block) map[string][]topology.Hint {
	out := map[string][]topology.Hint{}
	for _, b := range blocks {
		out[string(b.Type)] = append(out[string(b.Type)], topology.Hint{Nodes: numa.MaskOf(b.NUMAAffinity...), Preferred: true})
	}
	return out
}

// hints returns the sets of NUMA nodes that have what is wanted. A node gives memory either alone, or always together with the same
// others.
//
// Upstream: calculateHints.
func (m *Manager) hints(uid string, want amounts) []topology.Hint {
	s := m.content.MachineState
	nodes := slices.Sorted(maps.Keys(s))
	least := len(nodes)
	var out []topology.Hint
	numa.Subsets(nodes, func(set numa.Mask) {
		of := set.Nodes()
		for name, n := range want {
			all := uint64(0)
			for _, id := range of {
				if t := table(s, id, name); t != nil {
					all += t.Allocatable
				}
			}
			if all < n {
				return
			}
		}
		least = min(least, len(of))
		if !m.together(of) {
			return
		}
		for name, n := range want {
			has := m.reusable[uid][set][name]
			for _, id := range of {
				has += free(s, id, name)
			}
			if has < n {
				return
			}
		}
		out = append(out, topology.Hint{Nodes: set})
	})
	for i := range out {
		out[i].Preferred = out[i].Nodes.Count() == least
	}
	return out
}

// together reports whether the nodes can give memory together: one alone if it gives none with others; several if each gives none yet, or
// gives it with exactly these.
func (m *Manager) together(nodes []int) bool {
	if len(nodes) == 1 {
		return len(m.content.MachineState[nodes[0]].Cells) <= 1
	}
	for _, id := range nodes {
		if n := m.content.MachineState[id]; n.NumberOfAssignments > 0 && (len(n.Cells) == 1 || !sameNodes(n.Cells, nodes)) {
			return false
		}
	}
	return true
}
