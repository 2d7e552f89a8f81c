package memory

import (
	"cmp"
	"fmt"
	"iter"
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
		bytes -= draw(table(s, id, name), bytes)
	}
}

// draw takes up to an amount from one node, and returns how much.
func draw(t *state.MemoryTable, bytes uint64) uint64 {
	if t == nil {
		return 0
	}
	n := min(t.Free, bytes)
	t.Free, t.Reserved = t.Free-n, t.Reserved+n
	return n
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

// regroup sets the nodes to which each node belongs if what it gave together with them is free again: those of one of the blocks that are left.
//
// Upstream leaves them as they are, and then refuses its own state when it starts.
func regroup(c state.Content) {
	sets := map[int][]numa.Mask{}
	for _, b := range taken(c) {
		for _, id := range b.NUMAAffinity {
			sets[id] = append(sets[id], numa.MaskOf(b.NUMAAffinity...))
		}
	}
	for id, of := range sets {
		if n := c.MachineState[id]; n != nil && !slices.Contains(of, numa.MaskOf(n.Cells...)) {
			n.Cells = slices.Max(of).Nodes()
		}
	}
}

// settle shares out again what nodes gave, if that no longer fits the blocks: a release gives back to the first nodes of its block, which
// may have given less. Blocks of few nodes come first. If it fits in no way, nothing is changed.
//
// Upstream leaves it as it is, and then refuses its own state when it starts.
func settle(c state.Content) {
	start := emptied(c.MachineState)
	if check(c, start) == nil {
		return
	}
	again := c
	again.MachineState = emptied(c.MachineState)
	var blocks []state.Block
	for _, b := range taken(c) {
		blocks = append(blocks, b)
	}
	slices.SortFunc(blocks, func(a, b state.Block) int {
		return cmp.Or(cmp.Compare(len(a.NUMAAffinity), len(b.NUMAAffinity)), slices.Compare(a.NUMAAffinity, b.NUMAAffinity), cmp.Compare(a.Size, b.Size))
	})
	for _, b := range blocks {
		bytes := b.Size
		for _, id := range b.NUMAAffinity {
			bytes -= draw(table(again.MachineState, id, b.Type), bytes)
		}
	}
	if check(again, start) == nil {
		maps.Copy(c.MachineState, again.MachineState)
	}
}

// emptied returns a copy in which no container has memory, with the assignments as they are.
func emptied(s state.NUMANodeMap) state.NUMANodeMap {
	out := make(state.NUMANodeMap, len(s))
	for id, n := range s {
		with := *n
		with.MemoryMap = make(map[v1.ResourceName]*state.MemoryTable, len(n.MemoryMap))
		for name, t := range n.MemoryMap {
			all := *t
			all.Free, all.Reserved = t.Allocatable, 0
			with.MemoryMap[name] = &all
		}
		out[id] = &with
	}
	return out
}

// owner is the container that has a block; without a name, it is the pod.
type owner struct{ pod, container string }

// taken returns the blocks that nodes gave. What a pod has for all of its containers includes what they have.
func taken(c state.Content) iter.Seq2[owner, state.Block] {
	return func(yield func(owner, state.Block) bool) {
		for pod, containers := range c.Entries {
			if all := c.PodEntries[pod].MemoryBlocks; len(all) > 0 {
				containers = map[string][]state.Block{"": all}
			}
			for name, blocks := range containers {
				for _, b := range blocks {
					if !yield(owner{pod, name}, b) {
						return
					}
				}
			}
		}
	}
}

// check compares the state with the machine and the reservations. start is the state without containers.
//
// Upstream: validateState.
func check(c state.Content, start state.NUMANodeMap) error {
	g := given{sets: map[int][]numa.Mask{}, linked: map[int]numa.Mask{}, bytes: map[int]amounts{}}
	for of, b := range taken(c) {
		for _, id := range b.NUMAAffinity {
			if start[id] == nil {
				return fmt.Errorf("(pod: %s, container: %s) the memory assignment uses the NUMA that does not exist", of.pod, of.container)
			}
			if table(start, id, b.Type) == nil {
				return fmt.Errorf("(pod: %s, container: %s) the memory assignment uses memory resource that does not exist", of.pod, of.container)
			}
		}
		g.add(b)
	}
	if why := differs(c.MachineState, start, g); why != "" {
		return fmt.Errorf("the expected machine state is different from the real one: %s", why)
	}
	return nil
}

// given is what containers have. A node that gives memory together with others can also give some alone: a preferred node may be one of such.
type given struct {
	sets   map[int][]numa.Mask // the nodes of each block, by node
	linked map[int]numa.Mask   // the nodes that blocks link with a node, directly or not
	bytes  map[int]amounts     // by the first node
}

func (g given) add(b state.Block) {
	set := numa.MaskOf(b.NUMAAffinity...)
	all := set
	for _, id := range set.Nodes() {
		g.sets[id] = append(g.sets[id], set)
		all |= g.linked[id]
	}
	for i, id := range all.Nodes() {
		if g.linked[id] = all; g.bytes[id] == nil {
			g.bytes[id] = amounts{}
		}
		if i == 0 {
			g.bytes[id][b.Type] += b.Size
		}
	}
}

// group returns the nodes that a node is linked with, and what containers have of all of them.
func (g given) group(id int, name v1.ResourceName) (nodes numa.Mask, bytes uint64) {
	nodes = g.linked[id] | numa.MaskOf(id)
	for _, n := range nodes.Nodes() {
		bytes += g.bytes[n][name]
	}
	return nodes, bytes
}

// differs says how a state differs from the start with what is given, "" if it does not. Of nodes that give memory together, the sum matters.
//
// Upstream: areMachineStatesEqual. It expects that a node belongs to those of the block that it reads last, in random order, and so it can
// refuse what it wrote itself.
func differs(has, start state.NUMANodeMap, g given) string {
	if len(has) != len(start) {
		return fmt.Sprintf("%d NUMA nodes, want %d", len(has), len(start))
	}
	for _, id := range slices.Sorted(maps.Keys(start)) {
		w, h, sets := start[id], has[id], g.sets[id]
		if len(sets) == 0 {
			sets = []numa.Mask{numa.MaskOf(id)}
		}
		switch {
		case h == nil:
			return fmt.Sprintf("no NUMA node %d", id)
		case h.NumberOfAssignments != len(g.sets[id]):
			return fmt.Sprintf("NUMA node %d has %d assignments, want %d", id, h.NumberOfAssignments, len(g.sets[id]))
		case !slices.Contains(sets, numa.MaskOf(h.Cells...)):
			return fmt.Sprintf("NUMA node %d belongs to %v, want %v", id, h.Cells, sets[0].Nodes())
		case len(h.MemoryMap) != len(w.MemoryMap):
			return fmt.Sprintf("NUMA node %d has %d resources, want %d", id, len(h.MemoryMap), len(w.MemoryMap))
		}
		for _, name := range slices.Sorted(maps.Keys(w.MemoryMap)) {
			t, of := w.MemoryMap[name], h.MemoryMap[name]
			if of == nil || of.TotalMemSize != t.TotalMemSize || of.SystemReserved != t.SystemReserved || of.Allocatable != t.Allocatable {
				return fmt.Sprintf("NUMA node %d: %s: %+v, want %+v", id, name, of, *t)
			}
			nodes, bytes := g.group(id, name)
			var a, b state.MemoryTable
			for _, n := range nodes.Nodes() {
				a.Free, a.Reserved = a.Free+free(has, n, name), a.Reserved+reserved(has, n, name)
				b.Free += free(start, n, name)
			}
			b.Reserved = min(bytes, b.Free)
			b.Free -= b.Reserved
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
