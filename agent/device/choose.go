package device

import (
	"fmt"
	"slices"

	"github.com/kubeloupe/kubeloupe/agent/numa"
)

// choice is the input for choosing devices of one resource for one container.
type choice struct {
	resource string
	devices  list
	// needed is how many devices the container needs.
	needed int
	// reusable are those that earlier init containers of the pod have, sorted: they are used first.
	reusable []string
	// free are the healthy ones that no container has, sorted.
	free []string
	// nodes are the NUMA nodes from which devices should come; 0 for any.
	nodes numa.Mask
}

// choose returns the devices for a container, and which of them are reused. Upstream's message says why there are too few.
//
// Upstream: pkg/kubelet/cm/devicemanager/manager.go, devicesToAllocate.
func choose(c choice) (ids, reused []string, err error) {
	reused = slices.Clone(c.reusable[:min(len(c.reusable), c.needed)])
	rest := c.needed - len(reused)
	free := without(c.free, reused)
	if len(free) < rest {
		return nil, nil, fmt.Errorf("requested number of devices unavailable for %s. Requested: %d, Available: %d", c.resource, rest, len(free))
	}
	near, far, nowhere := c.split(free)
	ids = slices.Concat(reused, slices.Concat(near, far, nowhere)[:rest])
	slices.Sort(ids)
	return ids, reused, nil
}

// split divides devices by the affinity: those on its NUMA nodes, those on others, and those on none. Without affinity, all are the
// latter.
//
// Upstream: pkg/kubelet/cm/devicemanager/manager.go, filterByAffinity.
func (c *choice) split(ids []string) (near, far, nowhere []string) {
	if c.nodes == 0 || !c.devices.aligned() {
		return nil, nil, ids
	}
	for _, id := range ids {
		switch nodes := c.devices[id].nodes; {
		case len(nodes) == 0:
			nowhere = append(nowhere, id)
		case mask(nodes)&c.nodes != 0:
			near = append(near, id)
		default:
			far = append(far, id)
		}
	}
	return near, far, nowhere
}

// question is what a plugin is asked about its preference: of the available devices, it may choose size ones, which include must.
type question struct {
	available, must []string
	size            int
}

// ask returns the question for the plugin; false if there is no choice. own are the reserved devices that are not reused.
func (c *choice) ask(reused, own []string) (question, bool) {
	rest := c.needed - len(reused)
	all := union(c.free, own)
	near, _, _ := c.split(all)
	switch {
	case rest <= 0 || len(all) <= rest:
		return question{}, false
	case rest < len(near):
		return question{available: union(near, reused), must: reused, size: c.needed}, true
	case rest == len(near):
		return question{}, false
	}
	return question{available: union(all, reused), must: union(reused, intersect(near, own)), size: c.needed}, true
}

// prefer returns the devices that a container gets, given the plugin's answer to q. What it answers beside the question is ignored: a
// device that is not available, or not any more, and one that is named twice. The own, reserved devices fill what is missing.
func (c *choice) prefer(q question, answer, own []string) []string {
	allowed := set(intersect(q.available, union(c.free, own)))
	out := slices.Clone(q.must)
	has := set(out)
	for _, ids := range [][]string{answer, own} {
		for _, id := range ids {
			if len(out) < c.needed && allowed[id] && !has[id] {
				out = append(out, id)
				has[id] = true
			}
		}
	}
	for _, id := range own { // the question was about fewer
		if len(out) < c.needed && !has[id] {
			out = append(out, id)
			has[id] = true
		}
	}
	slices.Sort(out)
	return out
}

func set(ids []string) map[string]bool {
	out := make(map[string]bool, len(ids))
	for _, id := range ids {
		out[id] = true
	}
	return out
}

func without(ids, others []string) []string {
	other := set(others)
	return slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return other[id] })
}

func intersect(ids, others []string) []string {
	other := set(others)
	return slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return !other[id] })
}

func union(a, b []string) []string {
	out := slices.Concat(a, b)
	slices.Sort(out)
	return slices.Compact(out)
}
