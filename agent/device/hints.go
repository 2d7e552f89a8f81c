package device

import (
	"context"
	"slices"

	v1 "k8s.io/api/core/v1"
	resourcehelper "k8s.io/component-helpers/resource"

	"github.com/kubeloupe/kubeloupe/agent/numa"
	"github.com/kubeloupe/kubeloupe/agent/topology"
)

// maxHintNodes limits the nodes whose sets are tried: 2 to the power of it. Upstream's topology manager takes no more than 8 by default.
const maxHintNodes = 16

// Provider returns the manager as the topology manager sees it.
func (m *Manager) Provider() topology.HintProvider { return provider{m} }

type provider struct{ *Manager }

// Allocate implements topology.HintProvider: it reserves the devices of a container, and calls no plugin. The affinity is kept, also for
// devices that a container needs later. A pod of which something runs already keeps what it has: its plugins may not have registered
// since the agent started.
//
// Upstream: pkg/kubelet/cm/devicemanager/manager.go, Allocate, isContainerAlreadyRunning.
func (p provider) Allocate(ctx context.Context, pod *v1.Pod, c *v1.Container, affinity topology.Hint) error {
	p.keep(pod.UID, c, affinity.Nodes)
	if p.cfg.Runs(pod.UID) {
		return nil
	}
	return p.reserveContainer(ctx, pod, c)
}

// Hints implements topology.HintProvider.
//
// Upstream: pkg/kubelet/cm/devicemanager/topology_hints.go, GetTopologyHints.
func (m *Manager) Hints(pod *v1.Pod, c *v1.Container) map[string][]topology.Hint {
	m.look()
	m.mu.Lock()
	defer m.mu.Unlock()
	out := map[string][]topology.Hint{}
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
		in := m.choice(pod, c, want, r)
		out[want.resource] = m.hints(r.devices, in.free, without(in.reusable, in.free), want.needed)
	}
	return out
}

// PodHints implements topology.HintProvider.
//
// Upstream: pkg/kubelet/cm/devicemanager/topology_hints.go, GetPodTopologyHints. There, resources that a DRA driver gives count, too: while the
// device plugin is known that gave them before, such a pod is rejected.
func (m *Manager) PodHints(pod *v1.Pod) map[string][]topology.Hint {
	m.look()
	m.mu.Lock()
	defer m.mu.Unlock()
	sum := v1.Container{Resources: v1.ResourceRequirements{
		Limits: resourcehelper.PodLimits(withoutClaimed(pod), resourcehelper.PodResourcesOptions{ExcludeOverhead: true}),
	}}
	out := map[string][]topology.Hint{}
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
func (m *Manager) again(devices list, ids []string, needed int) []topology.Hint {
	if len(ids) != needed {
		return []topology.Hint{}
	}
	return m.hints(devices, ids, nil, needed)
}

// hints tries all sets of the NUMA nodes that have devices. The free and the reusable devices must be enough, and of each reusable one a
// node must be in the set. A set is preferred if it is as small as the smallest one that has enough devices, free or not.
//
// Upstream: pkg/kubelet/cm/devicemanager/topology_hints.go, generateDeviceTopologyHints.
func (m *Manager) hints(devices list, free, reusable []string, needed int) []topology.Hint {
	if len(free)+len(reusable) < needed {
		return []topology.Hint{}
	}
	machine := numa.MaskOf(m.cfg.NUMANodes...)
	masks := func(ids []string) map[numa.Mask]int {
		out := map[numa.Mask]int{}
		for _, id := range ids {
			out[mask(devices[id].nodes)&machine]++
		}
		return out
	}
	total, used := map[numa.Mask]int{}, numa.Mask(0)
	for _, d := range devices {
		at := mask(d.nodes) & machine
		total[at]++
		used |= at
	}
	if used == 0 {
		used = machine
	}
	nodes := used.Nodes()
	nodes = nodes[:min(len(nodes), maxHintNodes)]
	freeAt, reusableAt := masks(free), masks(reusable)
	smallest := len(nodes)
	out := []topology.Hint{}
	numa.Subsets(nodes, func(set numa.Mask) {
		if within(total, set) >= needed {
			smallest = min(smallest, set.Count())
		}
		kept := within(reusableAt, set)
		if kept+reusableAt[0] == len(reusable) && kept+within(freeAt, set) >= needed {
			out = append(out, topology.Hint{Nodes: set})
		}
	})
	for i := range out {
		out[i].Preferred = out[i].Nodes.Count() == smallest
	}
	return out
}

// within returns how many devices have a node of the set.
func within(at map[numa.Mask]int, set numa.Mask) (n int) {
	for nodes, count := range at {
		if nodes&set != 0 {
			n += count
		}
	}
	return n
}

// mask returns a set of NUMA nodes, without those that the machine cannot have.
func mask(nodes []int64) (out numa.Mask) {
	for _, n := range nodes {
		if n <= numa.MaxNode {
			out |= numa.MaskOf(int(n))
		}
	}
	return out
}
