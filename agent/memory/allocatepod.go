package memory

import (
	"context"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/agent/memory/state"
	"github.com/kubeloupe/kubeloupe/agent/numa"
	"github.com/kubeloupe/kubeloupe/agent/podspec"
	"github.com/kubeloupe/kubeloupe/agent/topology"
	"github.com/kubeloupe/kubeloupe/trace"
)

// AllocatePod implements topology.PodAllocator. A pod keeps what it has from an earlier agent.
//
// Upstream: pkg/kubelet/cm/memorymanager/policy_static.go, AllocatePod. In v1.37.1, a pod that has memory gets it again; see
// https://github.com/kubernetes/kubernetes/issues/140906.
func (m *Manager) AllocatePod(ctx context.Context, pod *v1.Pod, affinity topology.Hint) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.concerns(pod) || !m.level(pod) {
		return nil
	}
	m.know(pod)
	want, err := m.wantedByPod(pod)
	if err != nil || len(want) == 0 {
		return nil // as upstream, an amount that is no number of bytes is not managed
	}
	m.tidy()
	uid := string(pod.UID)
	entry, has := m.content.PodEntries[uid]
	if !has && len(m.content.Entries[uid]) > 0 {
		return m.allocateEach(ctx, pod, affinity)
	}
	e := trace.Allocation{Outcome: trace.AllocationKept, Source: trace.SourcePod}
	var set numa.Mask
	if has {
		for _, b := range entry.MemoryBlocks {
			set |= numa.MaskOf(b.NUMAAffinity...)
		}
	} else {
		if err := m.checkPod(pod, want); err != nil {
			return err
		}
		if set, err = m.choose(uid, want, affinity); err != nil {
			return err
		}
		e.Outcome, e.Why = trace.AllocationGranted, m.why(uid, set, affinity.Nodes)
		e.Affinity, e.Preferred = affinity.Nodes.String(), affinity.Preferred
	}
	parts, err := m.divide(pod, want, set)
	if err != nil {
		return err
	}
	m.refs[uid] = podspec.Ref(pod)
	if !has {
		entry.MemoryBlocks = m.grant(uid, set, want)
		m.content.PodEntries[uid] = entry
	}
	m.assignPod(uid, parts, has)
	e.Memory, e.Nodes, e.Free = told(entry.MemoryBlocks), nodesOf(entry.MemoryBlocks), m.left(entry.MemoryBlocks)
	m.tell(trace.FromContext(ctx), e)
	for _, p := range parts {
		if p.gone {
			continue
		}
		blocks := m.content.Entries[uid][p.container]
		m.tell(trace.FromContext(ctx), trace.Allocation{
			Outcome: e.Outcome, Source: m.source(uid, p.container), Container: p.container, Memory: told(blocks), Nodes: nodesOf(blocks),
		})
	}
	return nil
}

// CheckPod implements topology.PodAllocator.
func (m *Manager) CheckPod(pod *v1.Pod) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.concerns(pod) || !m.level(pod) {
		return nil
	}
	_, has := m.content.PodEntries[string(pod.UID)]
	want, err := m.wantedByPod(pod)
	if err != nil || len(want) == 0 || has {
		return nil
	}
	return m.checkPod(pod, want)
}

func (m *Manager) checkPod(pod *v1.Pod, want amounts) error {
	if err := m.emptyPool(pod, want); err != nil {
		return &topology.EmptyPoolError{Message: err.Error()}
	}
	return nil
}

// allocateEach allocates for each container of a pod that was admitted when this was the scope: it keeps what it has.
func (m *Manager) allocateEach(ctx context.Context, pod *v1.Pod, affinity topology.Hint) error {
	for c := range podspec.Each(pod) {
		if err := m.allocate(ctx, pod, c, affinity); err != nil {
			return err
		}
	}
	return nil
}

// assignPod gives the containers their parts. If the pod has had its memory before, containers keep theirs, and an init container without any
// has ended.
func (m *Manager) assignPod(uid string, parts []part, had bool) {
	entries := m.content.Entries[uid]
	if entries == nil {
		entries = map[string][]state.Block{}
		m.content.Entries[uid] = entries
	}
	changed := !had
	for i := range parts {
		p := &parts[i]
		_, has := entries[p.container]
		switch {
		case had && has:
		case had && p.init:
			p.gone = true
		default:
			entries[p.container], changed = p.blocks, true
		}
	}
	if changed {
		m.save()
	}
}
