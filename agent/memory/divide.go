package memory

import (
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/agent/memory/state"
	"github.com/kubeloupe/kubeloupe/agent/numa"
	"github.com/kubeloupe/kubeloupe/agent/podspec"
)

// part is what a container has of its pod's memory.
type part struct {
	container string
	blocks    []state.Block
	// init says that it is an init container that ends; gone, that it has ended before an earlier agent did.
	init, gone bool
}

// divide returns what the containers have of the pod's memory, all of it from the same NUMA nodes. Those that run together have what they
// request, the others share the rest. An init container can have all that the sidecars before it do not have.
func (m *Manager) divide(pod *v1.Pod, all amounts, set numa.Mask) ([]part, error) {
	var parts []part
	free := maps.Clone(all)
	var sharing []int
	add := func(c *v1.Container, long bool) error {
		of, err := m.wanted(pod, c)
		if err != nil {
			return err
		}
		p := part{container: c.Name, init: !long}
		switch {
		case len(of) > 0:
			p.blocks = blocksOf(of, set)
		case long:
			sharing = append(sharing, len(parts))
		default:
			p.blocks = blocksOf(free, set)
		}
		if long {
			for name, n := range of {
				if has, ok := free[name]; ok {
					free[name] = has - min(has, n)
				}
			}
		}
		parts = append(parts, p)
		return nil
	}
	for c, long := range podspec.Each(pod) {
		if err := add(c, long); err != nil {
			return nil, err
		}
	}
	for _, i := range sharing {
		parts[i].blocks = blocksOf(free, set)
	}
	return parts, nil
}

// blocksOf returns amounts as blocks, without those of zero.
func blocksOf(of amounts, set numa.Mask) []state.Block {
	out := []state.Block{}
	for _, name := range slices.Sorted(maps.Keys(of)) {
		if of[name] > 0 {
			out = append(out, state.Block{NUMAAffinity: set.Nodes(), Type: name, Size: of[name]})
		}
	}
	return out
}
