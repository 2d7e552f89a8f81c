package cpus

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/utils/cpuset"

	"github.com/kubeloupe/kubeloupe/agent/podspec"
)

// part is what a container has of its pod's CPUs.
type part struct {
	container string
	set       cpuset.CPUSet
	kept      bool // from an earlier agent
}

// divide returns what the containers have of the pod's CPUs. Those that run together have different CPUs for themselves, the others share
// the rest. An init container can have all that the sidecars before it do not have. What containers have already, they keep.
func (p *static) divide(pod *v1.Pod, all cpuset.CPUSet, has map[string]cpuset.CPUSet) ([]part, error) {
	var parts []part
	free := all // without the own CPUs of sidecars, then also of app containers
	kept := p.keptOwn(pod, has)
	var sharing []int
	add := func(c *v1.Container, long bool) (err error) {
		set, ok := has[c.Name]
		switch n := p.wanted(pod, c); {
		case n == 0 && long:
			sharing = append(sharing, len(parts))
		case n == 0 && !ok:
			set = free
		case long:
			if !ok {
				set, err = p.pick(free.Difference(kept), n)
			}
			free = free.Difference(set)
		case !ok:
			set, err = p.pick(free, n)
		}
		parts = append(parts, part{c.Name, set, ok})
		return err
	}
	for c, long := range podspec.Each(pod) {
		if err := add(c, long); err != nil {
			return nil, err
		}
	}
	for _, i := range sharing {
		if !parts[i].kept {
			parts[i].set = free
		}
	}
	return parts, nil
}

// keptOwn returns the CPUs that sidecars and app containers have for themselves already.
func (p *static) keptOwn(pod *v1.Pod, has map[string]cpuset.CPUSet) cpuset.CPUSet {
	out := cpuset.New()
	for c, long := range podspec.Each(pod) {
		if long && p.wanted(pod, c) > 0 {
			out = out.Union(has[c.Name])
		}
	}
	return out
}
