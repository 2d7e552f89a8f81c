package topology

import (
	"errors"
	"fmt"

	"github.com/kubeloupe/kubeloupe/agent/numa"
	"github.com/kubeloupe/kubeloupe/trace"
)

// Config is what a Manager needs.
type Config struct {
	// Policy and Scope are topologyManagerPolicy and topologyManagerScope; Options are topologyManagerPolicyOptions. With the policy
	// none, scope and options do not matter.
	Policy, Scope string
	Options       map[string]string
	// Machine has the NUMA nodes.
	Machine numa.Machine
	// PodLevel is the feature gate PodLevelResourceManagers.
	PodLevel bool
	// Providers give the resources, in this order.
	Providers []Provider
	Bus       *trace.Bus
}

// Manager admits pods. Only one call of Admit runs at a time.
type Manager struct {
	policy, scope string
	podLevel      bool
	options       options
	nodes         []int
	distances     map[int][]uint64
	providers     []Provider
	bus           *trace.Bus
}

// New checks the configuration.
func New(cfg Config) (*Manager, error) {
	m := &Manager{policy: cfg.Policy, scope: cfg.Scope, podLevel: cfg.PodLevel, nodes: cfg.Machine.IDs(), distances: map[int][]uint64{}, providers: cfg.Providers, bus: cfg.Bus}
	switch m.policy {
	case None:
		return m, nil
	case BestEffort, Restricted, SingleNUMANode:
	default:
		return nil, fmt.Errorf("topologyManagerPolicy: unknown policy %q", m.policy)
	}
	if m.scope != ScopeContainer && m.scope != ScopePod {
		return nil, fmt.Errorf("topologyManagerScope: unknown scope %q", m.scope)
	}
	var err error
	if m.options, err = parse(cfg.Options); err != nil {
		return nil, err
	}
	if n := len(m.nodes); n > m.options.maxNodes {
		return nil, fmt.Errorf("topologyManagerPolicy %s: this machine has %d NUMA nodes, more than the limit of %d (topologyManagerPolicyOptions: %s)",
			m.policy, n, m.options.maxNodes, optionMax)
	}
	if !m.options.closest {
		return m, nil
	}
	for _, n := range cfg.Machine.Nodes {
		if n.Distances == nil {
			return nil, errors.New("topologyManagerPolicyOptions: " + optionClosest + ": the kernel does not tell the distances of the NUMA nodes")
		}
		m.distances[n.ID] = byID(n.Distances, m.nodes)
	}
	return m, nil
}

// byID returns the distances by the number of the node: the kernel lists them by the order of the nodes.
//
// Upstream uses the order as number, so that its result is wrong if the numbers have gaps.
func byID(distances []uint64, nodes []int) []uint64 {
	var out []uint64
	for i, id := range nodes {
		if i < len(distances) {
			out = append(out, make([]uint64, max(0, id+1-len(out)))...)
			out[id] = distances[i]
		}
	}
	return out
}
