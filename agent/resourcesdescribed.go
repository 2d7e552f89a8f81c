package agent

import (
	"k8s.io/utils/cpuset"

	"github.com/kubeloupe/kubeloupe/agent/numa"
	"github.com/kubeloupe/kubeloupe/agent/topology"
	"github.com/kubeloupe/kubeloupe/trace"
)

// tell publishes how the machine is arranged, and what of it containers can have for themselves.
func (m *managers) tell(machine numa.Machine) {
	kc := m.p.cfg.Kubelet.Kubelet
	e := trace.ResourcesDescribed{TopologyPolicy: kc.TopologyManagerPolicy, Assumed: machine.Assumed}
	if e.TopologyPolicy != topology.None {
		e.Scope = kc.TopologyManagerScope
	}
	of := map[int][]int{}
	for id, cpu := range machine.CPUs {
		of[cpu.Node] = append(of[cpu.Node], id)
	}
	for _, id := range machine.IDs() {
		e.Nodes = append(e.Nodes, trace.NUMANode{ID: id, CPUs: cpuset.New(of[id]...).String()})
	}
	m.cpus.Describe(&e)
	m.memory.Describe(&e)
	trace.Point(m.p.cfg.Bus, trace.Span{}, e)
}
