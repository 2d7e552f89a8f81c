package numa

import (
	"math/bits"
	"strconv"
	"strings"
)

// Mask is a set of NUMA nodes; 0 is none.
//
// Upstream: pkg/kubelet/cm/topologymanager/bitmask.
type Mask uint64

// MaxNode is the highest number of a node in a Mask.
const MaxNode = 63

// MaskOf returns the set of those nodes. Numbers above MaxNode are left out.
func MaskOf(nodes ...int) Mask {
	var m Mask
	for _, n := range nodes {
		if n >= 0 && n <= MaxNode {
			m |= 1 << n
		}
	}
	return m
}

// Has reports whether the node is in the set.
func (m Mask) Has(node int) bool { return node >= 0 && node <= MaxNode && m&(1<<node) != 0 }

// Count returns the number of nodes.
func (m Mask) Count() int { return bits.OnesCount64(uint64(m)) }

// Nodes returns the nodes in ascending order.
func (m Mask) Nodes() []int {
	out := make([]int, 0, m.Count())
	for rest := uint64(m); rest != 0; rest &= rest - 1 {
		out = append(out, bits.TrailingZeros64(rest))
	}
	return out
}

// Narrower reports whether the set has fewer nodes than the other or, if as many, lower ones.
func (m Mask) Narrower(than Mask) bool {
	if a, b := m.Count(), than.Count(); a != b {
		return a < b
	}
	return m < than
}

// String returns the nodes, such as 0,1.
func (m Mask) String() string { return Join(m.Nodes()) }

// Join returns the nodes as the kernel takes them, such as 0,1.
func Join(nodes []int) string {
	parts := make([]string, len(nodes))
	for i, n := range nodes {
		parts[i] = strconv.Itoa(n)
	}
	return strings.Join(parts, ",")
}

// Subsets calls f for each set of at least one of the nodes: first those of one node, then those of two, and so on; those of the same
// size in lexical order.
func Subsets(nodes []int, f func(Mask)) {
	var choose func(from int, size int, m Mask)
	choose = func(from, size int, m Mask) {
		if size == 0 {
			f(m)
			return
		}
		for i := from; i+size <= len(nodes); i++ {
			choose(i+1, size-1, m|MaskOf(nodes[i]))
		}
	}
	for size := 1; size <= len(nodes); size++ {
		choose(0, size, 0)
	}
}
