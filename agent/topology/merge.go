package topology

import (
	"maps"
	"slices"

	"github.com/kubeloupe/kubeloupe/agent/numa"
)

// merger finds the best hint for all resources.
//
// Upstream: pkg/kubelet/cm/topologymanager/policy.go, HintMerger.
type merger struct {
	all numa.Mask // all NUMA nodes
	// better returns the better one of two different sets that are otherwise equal.
	better func(a, b numa.Mask) numa.Mask
	// wide is the number of nodes that the most demanding resource needs: without a preferred hint, the best one is as wide.
	wide int
}

// flatten returns the hints by resource. A resource without a preference has a hint for any nodes; one that no nodes can give has one
// that is not preferred.
func flatten(hints []map[string][]Hint) [][]Hint {
	var out [][]Hint
	for _, of := range hints {
		if len(of) == 0 {
			out = append(out, []Hint{{Preferred: true}})
		}
		for _, resource := range slices.Sorted(maps.Keys(of)) {
			switch list := of[resource]; {
			case list == nil:
				out = append(out, []Hint{{Preferred: true}})
			case len(list) == 0:
				out = append(out, []Hint{{}})
			default:
				out = append(out, list)
			}
		}
	}
	return out
}

// width returns the largest, by resource, of the smallest numbers of nodes.
func width(hints [][]Hint) int {
	widest := 0
	for _, list := range hints {
		least := 0
		for _, h := range list {
			if n := h.Nodes.Count(); n > 0 && (least == 0 || n < least) {
				least = n
			}
		}
		widest = max(widest, least)
	}
	return widest
}

// merge returns the best combination of one hint of each resource: the nodes that all of them have.
func (m merger) merge(hints [][]Hint) Hint {
	m.wide = width(hints)
	some, last := []combination{{Hint: Hint{m.all, true}}}, []Hint{{Preferred: true}}
	for i, list := range hints {
		if i == len(hints)-1 {
			last = list
			break
		}
		some = combine(some, list)
	}
	var best Hint
	for _, c := range some {
		for _, h := range last {
			best = m.best(best, c.with(h).Hint)
		}
	}
	if best.Nodes == 0 {
		return Hint{Nodes: m.all}
	}
	return best
}

// combination is one hint of each of the first resources.
type combination struct {
	Hint
	// first are the nodes of the first hint that names any: all others must name the same ones to be preferred. 0 if it is not preferred.
	first numa.Mask
}

func (c combination) with(h Hint) combination {
	c.Preferred = c.Preferred && h.Preferred
	if h.Nodes != 0 {
		c.Nodes &= h.Nodes
		if c.first == 0 {
			c.first = h.Nodes
		}
		c.Preferred = c.Preferred && h.Nodes == c.first
	}
	if !c.Preferred {
		c.first = 0
	}
	return c
}

// combine returns the combinations with one more resource, each once: however many resources a pod requests, their number is at most about
// twice that of the sets of nodes. Those without a common node are left out: nothing becomes of them.
func combine(some []combination, list []Hint) []combination {
	var out []combination
	seen := map[combination]bool{}
	for _, c := range some {
		for _, h := range list {
			if next := c.with(h); next.Nodes != 0 && !seen[next] {
				seen[next] = true
				out = append(out, next)
			}
		}
	}
	return out
}

// best returns the better one of the best so far, which has no nodes if there is none, and another.
func (m merger) best(old, h Hint) Hint {
	switch {
	case h.Nodes == 0:
		return old
	case old.Nodes == 0:
		return h
	case old.Preferred != h.Preferred:
		if h.Preferred {
			return h
		}
		return old
	case old.Preferred:
		return m.closer(old, h)
	}
	was, is := old.Nodes.Count(), h.Nodes.Count()
	switch {
	case was > m.wide || was == is:
		return m.closer(old, h)
	case was == m.wide || is > m.wide:
		return old
	case is > was: // nearer to what is needed
		return h
	}
	return old
}

// closer returns the hint with the better set.
func (m merger) closer(old, h Hint) Hint {
	if h.Nodes == old.Nodes || m.better(old.Nodes, h.Nodes) == old.Nodes {
		return old
	}
	return h
}
