package cpus

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/utils/cpuset"

	"github.com/kubeloupe/kubeloupe/agent/numa"
	"github.com/kubeloupe/kubeloupe/agent/podspec"
	"github.com/kubeloupe/kubeloupe/agent/qos"
	"github.com/kubeloupe/kubeloupe/agent/topology"
)

// Hints implements topology.HintProvider.
//
// Upstream: pkg/kubelet/cm/cpumanager/policy_static.go, GetTopologyHints.
func (m *Manager) Hints(pod *v1.Pod, c *v1.Container) map[string][]topology.Hint {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := m.wants(pod, c)
	if n == 0 {
		return nil
	}
	m.tidy()
	uid := string(pod.UID)
	if has, ok := m.content.Assigned[uid][c.Name]; ok {
		if has.Size() != n {
			if _, ok := m.resizes(pod, c.Name); ok {
				return named(m.resizeHints(uid, c.Name, has, n))
			}
			return noHints()
		}
		return named(m.static.hints(has, cpuset.New(), n))
	}
	return named(m.static.hints(m.static.available(m.content), m.reusable[uid], n))
}

// PodHints implements topology.HintProvider.
//
// Upstream: GetPodTopologyHints.
func (m *Manager) PodHints(pod *v1.Pod) map[string][]topology.Hint {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := 0
	if m.static != nil {
		n = m.static.wantedByPod(pod)
	}
	if n == 0 {
		return nil
	}
	m.tidy()
	uid, assigned := string(pod.UID), cpuset.New()
	if has, ok := m.content.Pods[uid]; ok && m.static.level(pod) {
		return named(m.static.hints(has.CPUSet, cpuset.New(), has.CPUSet.Size()))
	}
	if m.static.level(pod) && m.static.emptyPool(pod, n) != nil {
		return noHints() // AllocatePod returns the error if the pod is admitted all the same
	}
	for _, list := range [][]v1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range list {
			if has, ok := m.content.Assigned[uid][list[i].Name]; ok {
				if has.Size() != m.static.wanted(pod, &list[i]) {
					if _, ok := m.resizes(pod, list[i].Name); ok {
						return named(m.resizePodHints(pod, n))
					}
					return noHints()
				}
				assigned = assigned.Union(has)
			}
		}
	}
	if assigned.Size() == n {
		return named(m.static.hints(assigned, cpuset.New(), n))
	}
	return named(m.static.hints(m.static.available(m.content), m.reusable[uid].Union(assigned), n))
}

func named(hints []topology.Hint) map[string][]topology.Hint {
	return map[string][]topology.Hint{string(v1.ResourceCPU): hints}
}

// noHints says that no nodes can give the CPUs.
func noHints() map[string][]topology.Hint { return named([]topology.Hint{}) }

// wantedByPod returns how many CPUs the pod has for itself at most at the same time: what its containers request or, if it has pod-level
// resources, these.
//
// Upstream: podGuaranteedCPUs; KEP-753 for sidecars.
func (p *static) wantedByPod(pod *v1.Pod) int {
	if p.level(pod) {
		if qos.Class(pod) != v1.PodQOSGuaranteed {
			return 0
		}
		return whole(pod.Spec.Resources.Requests)
	}
	sidecars, inits, apps := 0, 0, 0
	for i := range pod.Spec.InitContainers {
		c := &pod.Spec.InitContainers[i]
		if n := p.wanted(pod, c); podspec.RestartableInit(c) {
			sidecars += n
		} else {
			inits = max(inits, sidecars+n)
		}
	}
	for i := range pod.Spec.Containers {
		apps += p.wanted(pod, &pod.Spec.Containers[i])
	}
	return max(inits, apps+sidecars)
}

// hints returns the sets of NUMA nodes that have n CPUs. Reusable CPUs must be a part of them.
//
// Upstream: generateCPUTopologyHints.
func (p *static) hints(available, reusable cpuset.CPUSet, n int) []topology.Hint {
	count := func(set cpuset.CPUSet) map[int]int { return p.details.only(set).count(node) }
	free, must := count(available), numa.MaskOf()
	for id := range count(reusable) {
		must |= numa.MaskOf(id)
	}
	nodes := p.details.values(node)
	least := len(nodes)
	hints := []topology.Hint{}
	numa.Subsets(nodes, func(set numa.Mask) {
		all, has := 0, reusable.Size()
		for _, id := range set.Nodes() {
			all += p.inNode[id]
			has += free[id]
		}
		if all >= n {
			least = min(least, set.Count())
		}
		if must&^set == 0 && has >= n {
			hints = append(hints, topology.Hint{Nodes: set})
		}
	})
	for i := range hints {
		hints[i].Preferred = hints[i].Nodes.Count() == least || p.options.socket && p.bySockets(hints[i].Nodes, least)
	}
	return hints
}

// bySockets reports whether the nodes are of as few sockets as that number of nodes needs.
//
// Upstream: isHintSocketAligned.
func (p *static) bySockets(set numa.Mask, nodes int) bool {
	perSocket := p.nodes / max(1, p.sockets)
	if perSocket == 0 {
		return false
	}
	return p.socketsOf(set).Size() == (nodes+perSocket-1)/perSocket
}

// socketsOf returns the sockets of NUMA nodes.
func (p *static) socketsOf(set numa.Mask) cpuset.CPUSet {
	var out []int
	for _, id := range set.Nodes() {
		out = append(out, p.details.within(node, id, socket)...)
	}
	return cpuset.New(out...)
}
