package topology

import (
	"github.com/kubeloupe/kubeloupe/agent/numa"
)

// The policies of topologyManagerPolicy.
const (
	None           = "none"
	BestEffort     = "best-effort"
	Restricted     = "restricted"
	SingleNUMANode = "single-numa-node"
)

// Strict reports whether a policy rejects pods whose resources do not come from the same NUMA nodes.
func Strict(policy string) bool { return policy == Restricted || policy == SingleNUMANode }

// The scopes of topologyManagerScope.
const (
	ScopeContainer = "container"
	ScopePod       = "pod"
)

// decide merges the hints of all providers and says whether the policy admits the result.
//
// Upstream: pkg/kubelet/cm/topologymanager/policy_*.go.
func (m *Manager) decide(hints []map[string][]Hint) (Hint, bool) {
	if m.policy == None {
		return Hint{}, true
	}
	flat := flatten(hints)
	merge := merger{all: numa.MaskOf(m.nodes...), better: narrower}
	if m.policy == SingleNUMANode {
		best := merge.merge(single(flat))
		if best.Nodes == merge.all {
			best.Nodes = 0
		}
		return best, best.Preferred
	}
	if m.options.closest {
		merge.better = m.closest
	}
	best := merge.merge(flat)
	return best, best.Preferred || m.policy == BestEffort
}

// single leaves the preferred hints of one node, and those of any nodes.
func single(hints [][]Hint) [][]Hint {
	out := make([][]Hint, len(hints))
	for i, list := range hints {
		for _, h := range list {
			if h.Preferred && h.Nodes.Count() <= 1 {
				out[i] = append(out[i], h)
			}
		}
	}
	return out
}

func narrower(a, b numa.Mask) numa.Mask {
	if a.Narrower(b) {
		return a
	}
	return b
}

// closest returns the set with fewer nodes or, if they have as many, that with the smaller average distance.
//
// Upstream: pkg/kubelet/cm/topologymanager/numa_info.go, Closest.
func (m *Manager) closest(a, b numa.Mask) numa.Mask {
	if a.Count() != b.Count() {
		return narrower(a, b)
	}
	switch x, y := m.average(a), m.average(b); {
	case x < y || x == y && a < b:
		return a
	}
	return b
}

// average is the average distance between the nodes of a set, including that of a node to itself.
func (m *Manager) average(set numa.Mask) float64 {
	nodes := set.Nodes()
	sum := 0.0
	for _, a := range nodes {
		for _, b := range nodes {
			if of := m.distances[a]; b < len(of) {
				sum += float64(of[b])
			}
		}
	}
	return sum / float64(max(1, len(nodes)*len(nodes)))
}
