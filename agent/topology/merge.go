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
	var best Hint
	var combine func(i int, h Hint, first numa.Mask)
	combine = func(i int, h Hint, first numa.Mask) {
		if i == len(hints) {
			best = m.best(best, h)
			return
		}
		for _, next := range hints[i] {
			merged, one := Hint{h.Nodes, h.Preferred && next.Preferred}, first
			if next.Nodes != 0 {
				merged.Nodes &= next.Nodes
				if one == 0 {
					one = next.Nodes
				}
				merged.Preferred = merged.Preferred && next.Nodes == one // only if all resources agree
			}
			combine(i+1, merged, one)
		}
	}
	combine(0, Hint{m.all, true}, 0)
	if best.Nodes == 0 {
		return Hint{Nodes: m.all}
	}
	return best
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
