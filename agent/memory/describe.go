package memory

import (
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/agent/memory/state"
	"github.com/kubeloupe/kubeloupe/agent/numa"
	"github.com/kubeloupe/kubeloupe/trace"
)

// Describe adds the policy, and how much memory and how many huge pages each NUMA node has.
func (m *Manager) Describe(to *trace.ResourcesDescribed) {
	m.mu.Lock()
	defer m.mu.Unlock()
	to.MemoryPolicy = m.cfg.Policy
	for _, n := range m.cfg.Machine.Nodes {
		add := func(name v1.ResourceName, total uint64) {
			if total == 0 {
				return
			}
			of := trace.NUMAMemory{Node: n.ID, Resource: string(name), Total: total}
			if t := table(m.content.MachineState, n.ID, name); t != nil {
				of.Allocatable, of.Free = t.Allocatable, t.Free
			}
			to.Memory = append(to.Memory, of)
		}
		add(v1.ResourceMemory, n.Memory)
		for _, h := range n.HugePages {
			add(pagesName(h.Size), h.Total)
		}
	}
}

// left returns what the NUMA nodes of blocks have left, by resource.
func (m *Manager) left(blocks []state.Block) (out []trace.NodeMemory) {
	of := map[v1.ResourceName]numa.Mask{}
	for _, b := range blocks {
		of[b.Type] |= numa.MaskOf(b.NUMAAffinity...)
	}
	for _, name := range slices.Sorted(maps.Keys(of)) {
		for _, id := range of[name].Nodes() {
			out = append(out, trace.NodeMemory{Resource: string(name), Bytes: free(m.content.MachineState, id, name), Nodes: numa.MaskOf(id).String()})
		}
	}
	return out
}
