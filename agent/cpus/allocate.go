package cpus

import (
	"context"

	v1 "k8s.io/api/core/v1"
	"k8s.io/utils/cpuset"

	"github.com/kubeloupe/kubeloupe/agent/numa"
	"github.com/kubeloupe/kubeloupe/agent/podspec"
	"github.com/kubeloupe/kubeloupe/agent/topology"
	"github.com/kubeloupe/kubeloupe/trace"
)

// Allocate implements topology.HintProvider.
//
// Upstream: pkg/kubelet/cm/cpumanager/policy_static.go, Allocate.
func (m *Manager) Allocate(ctx context.Context, pod *v1.Pod, c *v1.Container, affinity topology.Hint) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.know(pod)
	return m.allocate(ctx, pod, c, affinity)
}

func (m *Manager) allocate(ctx context.Context, pod *v1.Pod, c *v1.Container, affinity topology.Hint) (err error) {
	n := m.wants(pod, c)
	if _, own := m.resizes(pod, c.Name); n == 0 && !own {
		return nil
	}
	whole := m.static.options.fullCores
	defer func() {
		if err != nil && whole {
			err = &topology.WholeCoresError{Err: err}
		}
	}()
	m.tidy()
	uid := string(pod.UID)
	e := trace.Allocation{Outcome: trace.AllocationKept, Source: m.source(uid, c.Name), Container: c.Name, WholeCores: whole}
	changed, err := m.resize(pod, c, n, affinity.Nodes)
	if err != nil {
		return err
	}
	set, has := m.content.Assigned[uid][c.Name]
	switch {
	case !changed && m.trial != nil:
		return nil
	case changed:
		e.Outcome, e.Why = trace.AllocationGranted, trace.AllocationResized
		e.Affinity, e.Preferred = affinity.Nodes.String(), affinity.Preferred
		e.OneCache = len(m.static.details.only(set).values(uncore)) == 1
	case !has:
		// What an earlier agent allocated is kept even if the options now require whole cores.
		if err := m.static.aligned(m.content, n); err != nil {
			return err
		}
		if set, err = m.static.choose(m.static.available(m.content).Union(m.reusable[uid]), n, affinity.Nodes); err != nil {
			return err
		}
		e.Outcome, e.Why = trace.AllocationGranted, m.why(uid, set, affinity.Nodes)
		e.Affinity, e.Preferred = affinity.Nodes.String(), affinity.Preferred
		m.assign(uid, c.Name, set)
		e.OneCache = len(m.static.details.only(set).values(uncore)) == 1
		m.use(&e)
	}
	m.refs[uid] = podspec.Ref(pod)
	e.CPUs, e.Nodes = set.String(), numa.Join(m.cfg.Machine.NodesOf(set))
	if m.trial == nil {
		m.reuse(pod, c, set)
	}
	if changed {
		m.later(trace.FromContext(ctx), e)
	} else {
		m.tell(trace.FromContext(ctx), e)
	}
	return nil
}

// choose picks n of the available CPUs: first those of the NUMA nodes.
//
// Upstream: allocateCPUs.
func (p *static) choose(available cpuset.CPUSet, n int, nodes numa.Mask) (cpuset.CPUSet, error) {
	set := cpuset.New()
	if nodes != 0 {
		of, ids := level(node), nodes.Nodes()
		if p.options.socket {
			of, ids = socket, p.socketsOf(nodes).List()
		}
		near := available.Intersection(p.details.cpus(of, ids...))
		var err error
		if set, err = p.pick(near, min(n, near.Size())); err != nil {
			return cpuset.New(), err
		}
	}
	rest, err := p.pick(available.Difference(set), n-set.Size())
	return set.Union(rest), err
}

// assign gives the CPUs to the container.
func (m *Manager) assign(uid, name string, set cpuset.CPUSet) {
	if m.content.Assigned[uid] == nil {
		m.content.Assigned[uid] = map[string]cpuset.CPUSet{}
	}
	m.content.Assigned[uid][name] = set
	m.content.Default = m.content.Default.Difference(set)
	m.baseline(uid, name, set)
	m.save()
	m.changed()
}

// reuse remembers the CPUs of an init container: later containers of the pod get them. An app container or a sidecar uses them up.
//
// Upstream: updateCPUsToReuse.
func (m *Manager) reuse(pod *v1.Pod, c *v1.Container, set cpuset.CPUSet) {
	uid := string(pod.UID)
	for other := range m.reusable {
		if other != uid {
			delete(m.reusable, other)
		}
	}
	for i := range pod.Spec.InitContainers {
		if init := &pod.Spec.InitContainers[i]; init.Name == c.Name && !podspec.RestartableInit(init) {
			m.reusable[uid] = m.reusable[uid].Union(set)
			return
		}
	}
	m.reusable[uid] = m.reusable[uid].Difference(set)
}

// why returns the reason of a choice.
func (m *Manager) why(uid string, set cpuset.CPUSet, nodes numa.Mask) trace.AllocationWhy {
	switch {
	case !set.Intersection(m.reusable[uid]).IsEmpty():
		return trace.AllocationReused
	case nodes == 0:
		return trace.AllocationAnywhere
	case numa.MaskOf(m.cfg.Machine.NodesOf(set)...)&^nodes != 0:
		return trace.AllocationPartly
	}
	return trace.AllocationAligned
}

// use tells how the CPUs are used now.
//
// Upstream: pkg/kubelet/cm/cpumanager/policy_static.go, updateMetricsOnAllocate.
func (m *Manager) use(e *trace.Allocation) {
	e.Pool, e.Shared = m.content.Default.String(), m.static.available(m.content).Size()
	all := cpuset.New()
	for _, containers := range m.content.Assigned {
		for _, set := range containers {
			all = all.Union(set)
		}
	}
	for _, pod := range m.content.Pods {
		all = all.Union(pod.CPUSet)
	}
	count := m.static.details.only(all).count(node)
	for _, id := range m.static.details.values(node) {
		e.Own = append(e.Own, trace.NodeCPUs{Node: id, CPUs: count[id]})
	}
}

// wants returns how many CPUs a container should have for itself: none with the policy none.
func (m *Manager) wants(pod *v1.Pod, c *v1.Container) int {
	if m.static == nil {
		return 0
	}
	return m.static.wanted(pod, c)
}
