package numa

import (
	"slices"

	"k8s.io/utils/cpuset"
)

// Machine is the arrangement of a machine.
type Machine struct {
	// CPUs are the CPUs that are online, by number.
	CPUs map[int]CPU
	// Nodes are the NUMA nodes, in ascending order. A node may have no CPUs, or no memory.
	Nodes []Node
	// Assumed says that it was not read: all is one node.
	Assumed bool
}

// CPU is the place of a CPU (a thread of a core).
type CPU struct {
	// Core is the lowest number of the CPUs of the same core.
	Core   int
	Socket int
	// Node is the NUMA node.
	Node int
	// Uncore is the number of the last-level cache, if only a part of the NUMA node's CPUs share it; otherwise the socket.
	Uncore int
}

// Node is a NUMA node.
type Node struct {
	ID int
	// Memory is the total, in bytes; huge pages are a part of it.
	Memory uint64
	// HugePages are the reserved huge pages, in ascending order of sizes.
	HugePages []HugePages
	// Distances are those to all nodes, in the order of the nodes; nil if unknown.
	Distances []uint64
}

// HugePages are the huge pages of a size, in bytes.
type HugePages struct{ Size, Total uint64 }

// All returns the CPUs.
func (m Machine) All() cpuset.CPUSet {
	out := make([]int, 0, len(m.CPUs))
	for cpu := range m.CPUs {
		out = append(out, cpu)
	}
	return cpuset.New(out...)
}

// IDs returns the NUMA nodes.
func (m Machine) IDs() []int {
	out := make([]int, 0, len(m.Nodes))
	for _, n := range m.Nodes {
		out = append(out, n.ID)
	}
	slices.Sort(out)
	return out
}

// NodesOf returns the NUMA nodes that CPUs are on, in ascending order.
func (m Machine) NodesOf(cpus cpuset.CPUSet) []int {
	var out []int
	for _, cpu := range cpus.UnsortedList() {
		if c, ok := m.CPUs[cpu]; ok && !slices.Contains(out, c.Node) {
			out = append(out, c.Node)
		}
	}
	slices.Sort(out)
	return out
}

// Flat returns an assumed machine of one NUMA node and one socket, whose cores have one thread each: for the simulated runtime.
func Flat(cpus int, memory uint64) Machine {
	m := Machine{CPUs: map[int]CPU{}, Nodes: []Node{{Memory: memory, Distances: []uint64{10}}}, Assumed: true}
	for i := range cpus {
		m.CPUs[i] = CPU{Core: i}
	}
	return m
}
