package device

import (
	"math/bits"
	"slices"

	v1 "k8s.io/api/core/v1"
	resourcehelper "k8s.io/component-helpers/resource"
)

// Hint is a set of NUMA nodes that has enough devices.
type Hint struct {
	// Nodes has one bit for each node.
	Nodes uint64
	// Preferred says that no smaller set of nodes could ever have enough.
	Preferred bool
}

// maxHintNodes limits the nodes whose sets are tried: 2 to the power of it. Upstream's topology manager takes no more than 8 by default.
const maxHintNodes = 16

// Hints returns the sets of NUMA nodes that can give a container its devices, by resource: nil if any will do, an empty list if none can.
//
// Upstream: pkg/kubelet/cm/devicemanager/topology_hints.go, GetTopologyHints.
func (m *Manager) Hints(pod *v1.Pod, c *v1.Container) map[string][]Hint {
	now := m.look(pod)
	m.mu.Lock()
	defer m.mu.Unlock()
	out := map[string][]Hint{}
	for _, want := range m.requests(pod, c) {
		r := m.known(want.resource)
		if r == nil || !r.devices.aligned() {
			out[want.resource] = nil
			continue
		}
		if has := m.holds.get(pod.UID, c.Name, want.resource); has != nil {
			out[want.resource] = m.again(r.devices, has.ids, want.needed)
			continue
		}
		in := m.choice(pod, c, want, r, now)
		out[want.resource] = m.hints(r.devices, in.free, without(in.reusable, in.free), want.needed)
	}
	return out
}

// PodHints returns the same for all containers of a pod together.
//
// Upstream: pkg/kubelet/cm/devicemanager/topology_hints.go, GetPodTopologyHints.
func (m *Manager) PodHints(pod *v1.Pod) map[string][]Hint {
	m.look(pod)
	m.mu.Lock()
	defer m.mu.Unlock()
	sum := v1.Container{Resources: v1.ResourceRequirements{
		Limits: resourcehelper.PodLimits(pod, resourcehelper.PodResourcesOptions{ExcludeOverhead: true}),
	}}
	out := map[string][]Hint{}
	for _, want := range m.requests(pod, &sum) {
		r := m.known(want.resource)
		if r == nil || !r.devices.aligned() {
			out[want.resource] = nil
			continue
		}
		var has []string
		for _, resources := range m.holds[pod.UID] {
			if one := resources[want.resource]; one != nil {
				has = union(has, one.ids)
			}
		}
		if len(has) > 0 {
			out[want.resource] = m.again(r.devices, has, want.needed)
			continue
		}
		taken := m.holds.taken(want.resource)
		free := slices.DeleteFunc(r.devices.healthy(), func(id string) bool { return taken[id] })
		out[want.resource] = m.hints(r.devices, free, nil, want.needed)
	}
	return out
}

// again returns the hints for devices that are allocated already, for example before the agent restarted.
func (m *Manager) again(devices list, ids []string, needed int) []Hint {
	if len(ids) != needed {
		return []Hint{}
	}
	return m.hints(devices, ids, nil, needed)
}

// hints tries all sets of the NUMA nodes that have devices. The free and the reusable devices must be enough, and of each reusable one a
// node must be in the set. A set is preferred if it is as small as the smallest one that has enough devices, free or not.
//
// Upstream: pkg/kubelet/cm/devicemanager/topology_hints.go, generateDeviceTopologyHints.
func (m *Manager) hints(devices list, free, reusable []string, needed int) []Hint {
	if len(free)+len(reusable) < needed {
		return []Hint{}
	}
	var machine, used uint64
	for _, n := range m.cfg.NUMANodes {
		machine |= bit(int64(n))
	}
	if machine == 0 {
		machine = ^machine
	}
	masks := func(ids []string) map[uint64]int {
		out := map[uint64]int{}
		for _, id := range ids {
			out[mask(devices[id].nodes)&machine]++
		}
		return out
	}
	total := map[uint64]int{}
	for _, d := range devices {
		at := mask(d.nodes) & machine
		total[at]++
		used |= at
	}
	if used == 0 {
		used = machine
	}
	nodes := split(used)
	nodes = nodes[:min(len(nodes), maxHintNodes)]
	freeAt, reusableAt := masks(free), masks(reusable)
	smallest := len(nodes)
	out := []Hint{}
	for _, set := range subsets(nodes) {
		if within(total, set) >= needed {
			smallest = min(smallest, bits.OnesCount64(set))
		}
		kept := within(reusableAt, set)
		if kept+reusableAt[0] == len(reusable) && kept+within(freeAt, set) >= needed {
			out = append(out, Hint{Nodes: set})
		}
	}
	for i := range out {
		out[i].Preferred = bits.OnesCount64(out[i].Nodes) == smallest
	}
	return out
}

// within returns how many devices have a node of the set.
func within(at map[uint64]int, set uint64) (n int) {
	for nodes, count := range at {
		if nodes&set != 0 {
			n += count
		}
	}
	return n
}

// subsets returns all sets of the nodes but the empty one, small ones first.
func subsets(nodes []uint64) []uint64 {
	var out []uint64
	for i := 1; i < 1<<len(nodes); i++ {
		var set uint64
		for j, n := range nodes {
			if i&(1<<j) != 0 {
				set |= n
			}
		}
		out = append(out, set)
	}
	slices.SortStableFunc(out, func(a, b uint64) int { return bits.OnesCount64(a) - bits.OnesCount64(b) })
	return out
}

// split returns the bits of a set.
func split(set uint64) (out []uint64) {
	for ; set != 0; set &= set - 1 {
		out = append(out, set&-set)
	}
	return out
}

func mask(nodes []int64) (out uint64) {
	for _, n := range nodes {
		out |= bit(n)
	}
	return out
}

// bit returns the bit of a NUMA node; 0 for one that a mask cannot have.
func bit(node int64) uint64 {
	if node < 0 || node > 63 {
		return 0
	}
	return 1 << node
}
