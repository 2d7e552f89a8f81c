package podresources

import (
	"maps"
	"strconv"

	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/sorting"
)

// free is what NUMA nodes have left for containers. What a container has of several nodes is taken from these in their order, as the manager of
// memory does.
//
// Upstream: pkg/kubelet/cm/memorymanager/policy_static.go, updateMachineState.
func (m *machine) free(now listed) map[nodeResource]uint64 {
	left := maps.Clone(m.memory)
	for _, k := range sortedHolders(now.held) {
		h := now.held[k]
		if h.source == trace.SourcePodExclusive {
			continue // it is a part of the pod's
		}
		for _, b := range h.memory {
			rest := b.Bytes
			for _, n := range parse(b.Nodes) {
				at := nodeResource{n, b.Resource}
				took := min(rest, left[at])
				if took > 0 {
					left[at] -= took
				}
				rest -= took
			}
		}
	}
	return left
}

// changedFree is what nodes have left where that is not what they had, one node in each entry.
func changedFree(was, is map[nodeResource]uint64) (out []trace.NodeMemory) {
	for _, k := range sorting.Keys(is, (*nodeResource).compare) {
		if old, known := was[k]; !known || old != is[k] {
			out = append(out, trace.NodeMemory{Resource: k.resource, Bytes: is[k], Nodes: strconv.Itoa(k.node)})
		}
	}
	return out
}
