package cpus

import (
	"fmt"
	"maps"

	v1 "k8s.io/api/core/v1"
	"k8s.io/utils/cpuset"

	"github.com/kubeloupe/kubeloupe/agent/numa"
	"github.com/kubeloupe/kubeloupe/agent/podspec"
	"github.com/kubeloupe/kubeloupe/agent/topology"
	"github.com/kubeloupe/kubeloupe/trace"
)

// BaselineError says that a container would have fewer CPUs for itself than it got at admission: its processes may depend on those.
//
// Upstream: KEP-5554, prohibitedCPUAllocationError.
type BaselineError struct {
	// Requested is the number of CPUs that the container requests now, Baseline are those that it got at admission.
	Requested int
	Baseline  string
	// Number is how many CPUs Baseline are.
	Number int
}

// Error implements error.
func (e *BaselineError) Error() string {
	return fmt.Sprintf("a container keeps the CPUs that it got at admission for itself: requested %d CPUs, must be at least %d (CPUs %s)", e.Requested, e.Number, e.Baseline)
}

// PoolError says that a container that has CPUs for itself would share them with others, or the reverse.
//
// Upstream: KEP-5554, inconsistentCPUAllocationError.
type PoolError struct {
	// Requested is what the container requests now. Own are the CPUs that it has for itself; empty if it shares them.
	Requested, Own string
}

// Error implements error.
func (e *PoolError) Error() string {
	if e.Own != "" {
		return fmt.Sprintf("a container that has CPUs for itself (%s) must request a whole number of them: requested %s", e.Own, e.Requested)
	}
	return fmt.Sprintf("a container that shares CPUs cannot get CPUs for itself: requested a whole number of CPUs, %s", e.Requested)
}

// trial is a resize of a pod that is being tried.
type trial struct {
	uid string
	was map[string]cpuset.CPUSet // what its containers had
	// told are the events of the resize: they are published if it is kept.
	told []func()
}

// Try implements topology.Resizer.
func (m *Manager) Try(allocated *v1.Pod) {
	m.mu.Lock()
	defer m.mu.Unlock()
	uid := string(allocated.UID)
	m.trial = &trial{uid: uid, was: maps.Clone(m.content.Assigned[uid])}
}

// End implements topology.Resizer.
func (m *Manager) End(keep bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	t := m.trial
	if m.trial = nil; t == nil {
		return
	}
	changed := false
	for name, was := range t.was {
		is, has := m.content.Assigned[t.uid][name]
		if !has {
			continue // it was released meanwhile
		}
		changed = changed || !is.Equals(was)
		if !keep && !is.Equals(was) {
			m.move(t.uid, name, was)
		}
	}
	if keep {
		for _, tell := range t.told {
			tell()
		}
	}
	if changed {
		m.save()
	}
	m.changed() // Run may have been kept waiting
}

// move gives the container other CPUs. Those that it no longer has are free, unless another container of the pod has them too.
func (m *Manager) move(uid, name string, set cpuset.CPUSet) {
	freed := m.content.Assigned[uid][name].Difference(set)
	m.content.Assigned[uid][name] = set
	for _, others := range m.content.Assigned[uid] {
		freed = freed.Difference(others)
	}
	m.content.Default = m.content.Default.Union(freed).Difference(set)
}

// resized gives a container that has CPUs for itself as many as it requests now: more, of which it has the current ones, or fewer, of which
// it has those of its admission.
//
// Upstream: KEP-5554. In v1.37.1, the policy ignores resizes.
func (m *Manager) resized(pod *v1.Pod, c *v1.Container, n int, nodes numa.Mask) (cpuset.CPUSet, error) {
	uid := string(pod.UID)
	has, base := m.content.Assigned[uid][c.Name], m.content.Baselines[uid][c.Name]
	switch p := m.static; {
	case n == 0:
		return has, &PoolError{Requested: c.Resources.Requests.Cpu().String(), Own: has.String()}
	case n < base.Size():
		return has, &BaselineError{Requested: n, Baseline: base.String(), Number: base.Size()}
	case p.options.fullCores && n%p.perCore != 0:
		return has, &AlignmentError{Requested: n, PerCore: p.perCore}
	case n < has.Size():
		rest, err := p.choose(has.Difference(base), n-base.Size(), nodes)
		return base.Union(rest), err
	default:
		more, err := m.more(has, n-has.Size(), nodes)
		return has.Union(more), err
	}
}

// more picks n free CPUs for a container that has some: first from the same NUMA nodes, then from those that were chosen.
func (m *Manager) more(has cpuset.CPUSet, n int, nodes numa.Mask) (cpuset.CPUSet, error) {
	p := m.static
	free := p.available(m.content)
	if p.options.fullCores {
		if free = free.Difference(p.around); n > free.Size() {
			return cpuset.New(), &AlignmentError{Requested: n, PerCore: p.perCore, Free: free.Size(), Few: true}
		}
	}
	if n > free.Size() {
		return cpuset.New(), errFew(n, free.Size())
	}
	near := free.Intersection(p.details.cpus(node, m.cfg.Machine.NodesOf(has)...))
	set, err := p.pick(near, min(n, near.Size()))
	if err != nil {
		return cpuset.New(), err
	}
	rest, err := p.choose(free.Difference(set), n-set.Size(), nodes)
	return set.Union(rest), err
}

// resizes reports whether the container has CPUs for itself, and can have another number of them without a restart.
func (m *Manager) resizes(pod *v1.Pod, container string) (has cpuset.CPUSet, ok bool) {
	if !m.cfg.Resize || m.static == nil || m.static.level(pod) {
		return cpuset.New(), false
	}
	has, ok = m.content.Assigned[string(pod.UID)][container]
	return has, ok
}

// resize changes the CPUs of a container that has other ones than it requests. Outside of a resize, what cannot be changed is left as it is:
// it is from an earlier agent.
func (m *Manager) resize(pod *v1.Pod, c *v1.Container, n int, nodes numa.Mask) (changed bool, err error) {
	uid := string(pod.UID)
	trying := m.trial != nil && m.trial.uid == uid
	has, ok := m.resizes(pod, c.Name)
	switch {
	case !ok && trying && n > 0 && m.cfg.Resize:
		return false, &PoolError{Requested: c.Resources.Requests.Cpu().String()}
	case !ok || has.Size() == n:
		return false, nil
	}
	set, err := m.resized(pod, c, n, nodes)
	if err != nil {
		if trying {
			return false, err
		}
		return false, nil
	}
	if m.move(uid, c.Name, set); !trying {
		m.save()
		m.changed()
	}
	return true, nil
}

// resizeHints returns the hints for a container that has other CPUs than the number that it requests. All of those that it keeps must be of
// the NUMA nodes.
func (m *Manager) resizeHints(uid, container string, has cpuset.CPUSet, n int) []topology.Hint {
	available, keeps := m.static.available(m.content), has
	if n < has.Size() {
		keeps = m.content.Baselines[uid][container]
		available = has.Difference(keeps)
	}
	return m.static.hints(available, keeps, n)
}

// resizePodHints returns the hints for a pod of which some containers have other CPUs than the number that they request.
func (m *Manager) resizePodHints(pod *v1.Pod, n int) []topology.Hint {
	uid, keeps, given := string(pod.UID), cpuset.New(), cpuset.New()
	for c := range podspec.Each(pod) {
		has, wants := m.content.Assigned[uid][c.Name], m.static.wanted(pod, c)
		if wants < has.Size() {
			has, given = m.content.Baselines[uid][c.Name], given.Union(has)
		}
		keeps = keeps.Union(has)
	}
	return m.static.hints(m.static.available(m.content).Union(given).Difference(keeps), keeps, n)
}

// later publishes what a container has after a resize: when the resize that is tried is kept, or at once.
func (m *Manager) later(span trace.Span, e trace.Allocation) {
	tell := func() {
		m.use(&e)
		m.tell(span, e)
	}
	if m.trial == nil {
		tell()
		return
	}
	m.trial.told = append(m.trial.told, tell)
}
