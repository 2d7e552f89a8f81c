package cpus

import (
	"context"

	v1 "k8s.io/api/core/v1"
	"k8s.io/utils/cpuset"

	"github.com/kubeloupe/kubeloupe/agent/cpus/state"
	"github.com/kubeloupe/kubeloupe/agent/numa"
	"github.com/kubeloupe/kubeloupe/agent/podspec"
	"github.com/kubeloupe/kubeloupe/agent/topology"
	"github.com/kubeloupe/kubeloupe/trace"
)

// AllocatePod implements topology.PodAllocator. A pod keeps what it has from an earlier agent.
//
// Upstream: pkg/kubelet/cm/cpumanager/policy_static.go, AllocatePod. In v1.37.1, a pod that has CPUs gets others, and loses them; see
// https://github.com/kubernetes/kubernetes/issues/140989.
func (m *Manager) AllocatePod(ctx context.Context, pod *v1.Pod, affinity topology.Hint) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.static == nil || !m.static.level(pod) {
		return nil
	}
	n := m.static.wantedByPod(pod)
	m.know(pod)
	if n == 0 {
		return nil
	}
	m.tidy()
	uid := string(pod.UID)
	entry, has := m.content.Pods[uid]
	if !has && len(m.content.Assigned[uid]) > 0 {
		return m.allocateEach(ctx, pod, affinity)
	}
	e := trace.Allocation{Outcome: trace.AllocationKept, Source: trace.SourcePod}
	all := entry.CPUSet
	if !has {
		if err := m.checkPod(pod, n); err != nil {
			return err
		}
		if err := m.static.aligned(m.content, n); err != nil {
			return err
		}
		var err error
		if all, err = m.static.choose(m.static.available(m.content), n, affinity.Nodes); err != nil {
			return err
		}
		e.Outcome, e.Why = trace.AllocationGranted, m.why(uid, all, affinity.Nodes)
		e.Affinity, e.Preferred = affinity.Nodes.String(), affinity.Preferred
	}
	parts, err := m.static.divide(pod, all, m.content.Assigned[uid])
	if err != nil {
		return err
	}
	m.refs[uid] = podspec.Ref(pod)
	if m.assignPod(uid, all, parts); !has {
		e.OneCache = len(m.static.details.only(all).values(uncore)) == 1
		m.use(&e)
	}
	m.told(ctx, e, "", all)
	for _, p := range parts {
		of := trace.Allocation{Outcome: trace.AllocationGranted, Source: m.part(uid, p.container)}
		if p.kept {
			of.Outcome = trace.AllocationKept
		}
		m.use(&of)
		m.told(ctx, of, p.container, p.set)
	}
	return nil
}

// CheckPod implements topology.PodAllocator.
func (m *Manager) CheckPod(pod *v1.Pod) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.static == nil || !m.static.level(pod) {
		return nil
	}
	_, has := m.content.Pods[string(pod.UID)]
	n := m.static.wantedByPod(pod)
	if n == 0 || has {
		return nil
	}
	return m.checkPod(pod, n)
}

func (m *Manager) checkPod(pod *v1.Pod, n int) error {
	if err := m.static.emptyPool(pod, n); err != nil {
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

// assignPod gives the pod its CPUs, and the containers their parts.
func (m *Manager) assignPod(uid string, all cpuset.CPUSet, parts []part) {
	assigned := m.content.Assigned[uid]
	if assigned == nil {
		assigned = map[string]cpuset.CPUSet{}
		m.content.Assigned[uid] = assigned
	}
	m.content.Pods[uid] = state.PodEntry{CPUSet: all}
	m.content.Default = m.content.Default.Difference(all)
	changed := false
	for _, p := range parts {
		assigned[p.container], changed = p.set, changed || !p.kept
		m.baseline(uid, p.container, p.set)
	}
	if changed {
		m.save()
		m.changed()
	}
}

// told publishes what the pod, or a container of it, has.
func (m *Manager) told(ctx context.Context, e trace.Allocation, container string, set cpuset.CPUSet) {
	e.Container, e.CPUs, e.Nodes = container, set.String(), numa.Join(m.cfg.Machine.NodesOf(set))
	m.tell(trace.FromContext(ctx), e)
}
