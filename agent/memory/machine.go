package memory

import (
	"fmt"
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/kubeloupe/kubeloupe/agent/memory/state"
	"github.com/kubeloupe/kubeloupe/agent/numa"
)

// fresh returns the NUMA nodes without any container.
//
// Upstream: pkg/kubelet/cm/memorymanager/policy_static.go, getDefaultMachineState.
func fresh(m numa.Machine, reserved map[int]amounts) (state.NUMANodeMap, error) {
	out := state.NUMANodeMap{}
	for _, n := range m.Nodes {
		s := &state.NUMANodeState{MemoryMap: map[v1.ResourceName]*state.MemoryTable{}, Cells: []int{n.ID}}
		pages := uint64(0)
		add := func(name v1.ResourceName, total, rest uint64) error {
			keep := reserved[n.ID][name]
			if keep > rest {
				return fmt.Errorf("reservedMemory: NUMA node %d: %s: %d bytes are reserved, more than the %d that it has", n.ID, name, keep, rest)
			}
			s.MemoryMap[name] = &state.MemoryTable{TotalMemSize: total, SystemReserved: keep, Allocatable: rest - keep, Free: rest - keep}
			return nil
		}
		for _, h := range n.HugePages {
			pages += h.Total
			if err := add(pagesName(h.Size), h.Total, h.Total); err != nil {
				return nil, err
			}
		}
		if err := add(v1.ResourceMemory, n.Memory, n.Memory-min(n.Memory, pages)); err != nil {
			return nil, err
		}
		out[n.ID] = s
	}
	return out, nil
}

// pagesName returns the resource of huge pages of a size in bytes.
func pagesName(size uint64) v1.ResourceName {
	return v1.ResourceName(v1.ResourceHugePagesPrefix + resource.NewQuantity(int64(size), resource.BinarySI).String())
}

// free returns how much of the resource the node has free; 0 if it has none at all.
func free(s state.NUMANodeMap, node int, name v1.ResourceName) uint64 {
	if t := table(s, node, name); t != nil {
		return t.Free
	}
	return 0
}

func table(s state.NUMANodeMap, node int, name v1.ResourceName) *state.MemoryTable {
	if n := s[node]; n != nil {
		return n.MemoryMap[name]
	}
	return nil
}

// take takes an amount from the nodes, one after the other. The nodes belong together from then on.
//
// Upstream: updateMachineState.
func take(s state.NUMANodeMap, nodes []int, name v1.ResourceName, bytes uint64) {
	for _, id := range nodes {
		s[id].NumberOfAssignments++
		s[id].Cells = slices.Clone(nodes)
		if t := table(s, id, name); t != nil {
			n := min(t.Free, bytes)
			t.Free, t.Reserved, bytes = t.Free-n, t.Reserved+n, bytes-n
		}
	}
}

// giveBack releases a block. A node without any belongs to no others.
//
// Upstream: releaseMemory.
func giveBack(s state.NUMANodeMap, b state.Block) {
	bytes := b.Size
	for _, id := range b.NUMAAffinity {
		if s[id] == nil {
			continue
		}
		if s[id].NumberOfAssignments--; s[id].NumberOfAssignments == 0 {
			s[id].Cells = []int{id}
		}
		if t := table(s, id, b.Type); t != nil {
			n := min(t.Reserved, bytes)
			t.Free, t.Reserved, bytes = t.Free+n, t.Reserved-n, bytes-n
		}
	}
}

// check compares the state with the machine and the reservations.
//
// Upstream: validateState.
func check(c state.Content, want state.NUMANodeMap) error {
	for pod, containers := range c.Entries {
		if of := c.PodEntries[pod].MemoryBlocks; len(of) > 0 { // the containers have parts of it
			containers = map[string][]state.Block{"": of}
		}
		for name, blocks := range containers {
			for _, b := range blocks {
				for _, id := range b.NUMAAffinity {
					if want[id] == nil {
						return fmt.Errorf("(pod: %s, container: %s) the memory assignment uses the NUMA that does not exist", pod, name)
					}
					if table(want, id, b.Type) == nil {
						return fmt.Errorf("(pod: %s, container: %s) the memory assignment uses memory resource that does not exist", pod, name)
					}
				}
				take(want, b.NUMAAffinity, b.Type, b.Size)
			}
		}
	}
	if why := differs(c.MachineState, want); why != "" {
		return fmt.Errorf("the expected machine state is different from the real one: %s", why)
	}
	return nil
}

// differs says how two states differ, "" if they do not. Of nodes that give memory together, the sum matters.
//
// Upstream: areMachineStatesEqual.
func differs(has, want state.NUMANodeMap) string {
	if len(has) != len(want) {
		return fmt.Sprintf("%d NUMA nodes, want %d", len(has), len(want))
	}
	for _, id := range slices.Sorted(maps.Keys(want)) {
		w, h := want[id], has[id]
		switch {
		case h == nil:
			return fmt.Sprintf("no NUMA node %d", id)
		case h.NumberOfAssignments != w.NumberOfAssignments:
			return fmt.Sprintf("NUMA node %d has %d assignments, want %d", id, h.NumberOfAssignments, w.NumberOfAssignments)
		case !sameNodes(h.Cells, w.Cells):
			return fmt.Sprintf("NUMA node %d belongs to %v, want %v", id, h.Cells, w.Cells)
		case len(h.MemoryMap) != len(w.MemoryMap):
			return fmt.Sprintf("NUMA node %d has %d resources, want %d", id, len(h.MemoryMap), len(w.MemoryMap))
		}
		for _, name := range slices.Sorted(maps.Keys(w.MemoryMap)) {
			t, of := w.MemoryMap[name], h.MemoryMap[name]
			if of == nil || of.TotalMemSize != t.TotalMemSize || of.SystemReserved != t.SystemReserved || of.Allocatable != t.Allocatable {
				return fmt.Sprintf("NUMA node %d: %s: %+v, want %+v", id, name, of, *t)
			}
			var a, b state.MemoryTable
			for _, cell := range w.Cells {
				a.Free, a.Reserved = a.Free+free(has, cell, name), a.Reserved+reserved(has, cell, name)
				b.Free, b.Reserved = b.Free+free(want, cell, name), b.Reserved+reserved(want, cell, name)
			}
			if a != b {
				return fmt.Sprintf("NUMA node %d: %s: %d bytes free and %d used, want %d and %d", id, name, a.Free, a.Reserved, b.Free, b.Reserved)
			}
		}
	}
	return ""
}

func reserved(s state.NUMANodeMap, node int, name v1.ResourceName) uint64 {
	if t := table(s, node, name); t != nil {
		return t.Reserved
	}
	return 0
}

func sameNodes(a, b []int) bool { return numa.MaskOf(a...) == numa.MaskOf(b...) }
