package memory

import (
	"context"
	"errors"
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/agent/memory/state"
	"github.com/kubeloupe/kubeloupe/agent/numa"
	"github.com/kubeloupe/kubeloupe/agent/podspec"
	"github.com/kubeloupe/kubeloupe/agent/topology"
	"github.com/kubeloupe/kubeloupe/trace"
)

// Allocate implements topology.HintProvider.
//
// Upstream: pkg/kubelet/cm/memorymanager/policy_static.go, Allocate.
func (m *Manager) Allocate(ctx context.Context, pod *v1.Pod, c *v1.Container, affinity topology.Hint) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.know(pod)
	return m.allocate(ctx, pod, c, affinity)
}

func (m *Manager) allocate(ctx context.Context, pod *v1.Pod, c *v1.Container, affinity topology.Hint) error {
	if !m.concerns(pod) {
		return nil
	}
	want, err := m.wanted(pod, c)
	if err != nil || len(want) == 0 {
		return err
	}
	m.tidy()
	uid := string(pod.UID)
	e := trace.Allocation{Outcome: trace.AllocationKept, Source: m.source(uid, c.Name), Container: c.Name}
	changed, err := m.resize(pod, c, want)
	if err != nil {
		return err
	}
	blocks, has := m.content.Entries[uid][c.Name]
	switch {
	case !changed && m.trial != nil:
		return nil
	case changed:
		e.Outcome, e.Why = trace.AllocationGranted, trace.AllocationResized
		e.Affinity, e.Preferred = affinity.Nodes.String(), affinity.Preferred
		e.Memory, e.Nodes = told(blocks), nodesOf(blocks)
		m.refs[uid] = podspec.Ref(pod)
		if m.later(trace.FromContext(ctx), e, blocks); m.trial == nil {
			m.save()
		}
		return nil
	case !has:
		set, err := m.choose(uid, want, affinity)
		if err != nil {
			return err
		}
		e.Outcome, e.Why = trace.AllocationGranted, m.why(uid, set, affinity.Nodes)
		e.Affinity, e.Preferred = affinity.Nodes.String(), affinity.Preferred
		blocks = m.grant(uid, set, want)
	}
	m.refs[uid] = podspec.Ref(pod)
	m.reuse(pod, c, blocks)
	if !has {
		m.assign(uid, c.Name, blocks)
		m.shrink(pod, c, blocks)
		m.save()
	}
	e.Memory, e.Nodes, e.Free = told(blocks), nodesOf(blocks), m.left(blocks)
	m.tell(trace.FromContext(ctx), e)
	return nil
}

// choose returns the NUMA nodes for what is wanted: those of the affinity, and more if these do not have enough.
func (m *Manager) choose(uid string, want amounts, affinity topology.Hint) (numa.Mask, error) {
	best := affinity
	if best.Nodes == 0 {
		hints := m.hints(uid, want)
		if len(hints) == 0 {
			return 0, errors.New("[memorymanager] failed to get the default NUMA affinity, no NUMA nodes with enough memory is available")
		}
		if best = narrowest(hints); !best.Preferred && affinity.Preferred {
			return 0, errors.New("[memorymanager] failed to find the default preferred hint")
		}
	}
	if !m.enough(best.Nodes, want) {
		hints := slices.DeleteFunc(m.hints(uid, want), func(h topology.Hint) bool { return best.Nodes&^h.Nodes != 0 })
		if len(hints) == 0 {
			return 0, errors.New("[memorymanager] failed to find NUMA nodes to extend the current topology hint")
		}
		more := narrowest(hints)
		if !more.Preferred && best.Preferred {
			return 0, errors.New("[memorymanager] failed to find the extended preferred hint")
		}
		best = more
	}
	if best.Nodes.Count() > 1 && !m.together(best.Nodes.Nodes()) {
		return 0, errors.New("[memorymanager] preferred hint violates NUMA node allocation")
	}
	return best.Nodes, nil
}

// narrowest returns the best hint: a preferred one, of few nodes.
func narrowest(hints []topology.Hint) topology.Hint {
	best := hints[0]
	for _, h := range hints[1:] {
		if h.Preferred && !best.Preferred || h.Preferred == best.Preferred && h.Nodes.Narrower(best.Nodes) {
			best = h
		}
	}
	return best
}

// enough reports whether the nodes have what is wanted free. As upstream, what init containers had does not count here.
func (m *Manager) enough(set numa.Mask, want amounts) bool {
	for name, n := range want {
		has := uint64(0)
		for _, id := range set.Nodes() {
			has += free(m.content.MachineState, id, name)
		}
		if has < n {
			return false
		}
	}
	return true
}

// grant takes what is wanted from the nodes, without what init containers of the pod had there.
func (m *Manager) grant(uid string, set numa.Mask, want amounts) []state.Block {
	var blocks []state.Block
	for _, name := range slices.Sorted(maps.Keys(want)) {
		n := want[name]
		blocks = append(blocks, state.Block{NUMAAffinity: set.Nodes(), Type: name, Size: n})
		take(m.content.MachineState, set.Nodes(), name, n-min(n, m.reusable[uid][set][name]))
	}
	return blocks
}

func (m *Manager) assign(uid, container string, blocks []state.Block) {
	if m.content.Entries[uid] == nil {
		m.content.Entries[uid] = map[string][]state.Block{}
	}
	m.content.Entries[uid][container] = blocks
}

func (m *Manager) why(uid string, set, affinity numa.Mask) trace.AllocationWhy {
	for _, n := range m.reusable[uid][set] {
		if n > 0 {
			return trace.AllocationReused
		}
	}
	switch {
	case affinity == 0:
		return trace.AllocationAnywhere
	case set&^affinity != 0:
		return trace.AllocationPartly
	}
	return trace.AllocationAligned
}

// told returns blocks as published.
func told(blocks []state.Block) []trace.NodeMemory {
	var out []trace.NodeMemory
	for _, b := range blocks {
		out = append(out, trace.NodeMemory{Resource: string(b.Type), Bytes: b.Size, Nodes: numa.Join(b.NUMAAffinity)})
	}
	return out
}

// nodesOf returns the NUMA nodes of blocks, such as 0,1.
func nodesOf(blocks []state.Block) string {
	var set numa.Mask
	for _, b := range blocks {
		set |= numa.MaskOf(b.NUMAAffinity...)
	}
	return set.String()
}
