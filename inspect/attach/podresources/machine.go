package podresources

import (
	"cmp"
	"maps"
	"reflect"
	"slices"

	api "k8s.io/kubelet/pkg/apis/podresources/v1"
	"k8s.io/utils/cpuset"

	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/sorting"
)

// elsewhere is the NUMA node of CPUs of which it is not known.
const elsewhere = -1

// nodeResource is a resource of a NUMA node: memory or huge pages.
type nodeResource struct {
	node     int
	resource string
}

// machine is what the node can give.
type machine struct {
	is     trace.ResourcesDescribed // what is known by other ways
	all    cpuset.CPUSet            // the machine's CPUs; none where they are not known
	nodes  map[int]int              // of each CPU
	cpus   cpuset.CPUSet            // those that containers can have
	memory map[nodeResource]uint64
	// devices are how many there are, by resource; told is what was told of that, said the last description.
	devices, told map[string]int
	said          *trace.ResourcesDescribed
}

func newMachine(m Machine) machine {
	p := m.Policies
	out := machine{nodes: map[int]int{}, told: map[string]int{}, is: trace.ResourcesDescribed{
		CPUPolicy: p.CPU, MemoryPolicy: p.Memory, TopologyPolicy: p.Topology, Scope: p.Scope, Options: p.Options,
	}}
	for _, n := range m.NUMA {
		set, err := cpuset.Parse(n.CPUs)
		if err != nil {
			continue
		}
		out.is.Nodes = append(out.is.Nodes, trace.NUMANode{ID: n.ID, CPUs: set.String()})
		out.all = out.all.Union(set)
		for _, id := range set.UnsortedList() {
			out.nodes[id] = n.ID
		}
	}
	return out
}

// apply takes in what the kubelet says the node can give; nil is as before.
func (m *machine) apply(can *api.AllocatableResourcesResponse) {
	if can == nil {
		return
	}
	var cpus []int
	for _, id := range can.GetCpuIds() {
		if id >= 0 && id < maxCPU {
			cpus = append(cpus, int(id))
		}
	}
	m.cpus, m.devices, m.memory = cpuset.New(cpus...), countDevices(can.GetDevices()), map[nodeResource]uint64{}
	for name := range m.told { // all of its devices are unhealthy, or it is not there any more
		if _, is := m.devices[name]; !is {
			m.devices[name] = 0
		}
	}
	for _, b := range can.GetMemory() {
		on := b.GetTopology().GetNodes()
		if len(on) != 1 || on[0].GetID() < 0 || on[0].GetID() >= maxCPU || b.GetSize() == 0 {
			continue // upstream lists the memory of each NUMA node by itself
		}
		if k := (nodeResource{int(on[0].GetID()), trace.Clip(b.GetMemoryType(), maxName)}); k.resource != "" && len(m.memory) < maxListed {
			m.memory[k] = b.GetSize()
		}
	}
}

// described is the event about the machine; nil if nothing but what is free has changed.
func (m *machine) described(free map[nodeResource]uint64) *trace.ResourcesDescribed {
	d := m.is
	d.Nodes = slices.Clone(d.Nodes)
	node := func(id int, cpus string) {
		if !slices.ContainsFunc(d.Nodes, func(n trace.NUMANode) bool { return n.ID == id }) {
			d.Nodes = append(d.Nodes, trace.NUMANode{ID: id, CPUs: cpus})
		}
	}
	switch {
	case m.cpus.IsEmpty():
	case m.all.IsEmpty():
		node(elsewhere, m.cpus.String())
	default:
		d.Reserved = m.all.Difference(m.cpus).String()
	}
	for _, k := range sorting.Keys(m.memory, (*nodeResource).compare) {
		node(k.node, "")
		d.Memory = append(d.Memory, trace.NUMAMemory{Node: k.node, Resource: k.resource, Allocatable: m.memory[k]})
	}
	if m.said != nil && reflect.DeepEqual(*m.said, d) {
		return nil
	}
	m.said = new(d)
	out := new(d)
	out.Memory = slices.Clone(d.Memory)
	for i := range out.Memory {
		n := &out.Memory[i]
		n.Free = free[nodeResource{n.Node, n.Resource}]
	}
	return out
}

func (k *nodeResource) compare(o *nodeResource) int {
	return cmp.Or(cmp.Compare(k.node, o.node), cmp.Compare(k.resource, o.resource))
}

// plugins are the events about resources of devices of which there are more or fewer.
func (m *machine) plugins() (out []trace.Event) {
	for _, name := range slices.Sorted(maps.Keys(m.devices)) {
		n := m.devices[name]
		was, told := m.told[name]
		switch {
		case told && was == n:
			continue
		case n == 0:
			delete(m.devices, name) // told once
			delete(m.told, name)
		default:
			m.told[name] = n
		}
		out = append(out, &trace.DevicePlugin{Op: trace.PluginListed, Resource: name, Healthy: n})
	}
	return out
}
