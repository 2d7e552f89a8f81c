package cpus

import (
	"errors"
	"fmt"

	v1 "k8s.io/api/core/v1"
	resourcehelper "k8s.io/component-helpers/resource"
	"k8s.io/utils/cpuset"

	"github.com/kubeloupe/kubeloupe/agent/cpus/state"
	"github.com/kubeloupe/kubeloupe/agent/numa"
	"github.com/kubeloupe/kubeloupe/agent/qos"
)

// static is the static policy. It decides only; the Manager has the state.
type static struct {
	arrangement
	options options
	// podLevel is the feature gate PodLevelResourceManagers.
	podLevel bool
	// reserved are the CPUs for the system, which no container gets for itself; around are all CPUs of their cores.
	reserved, around cpuset.CPUSet
}

// newStatic chooses the reserved CPUs: the given ones, or n of them.
//
// Upstream: pkg/kubelet/cm/cpumanager/policy_static.go, NewStaticPolicy.
func newStatic(m numa.Machine, o options, reserved cpuset.CPUSet, n int) (*static, error) {
	p := &static{arrangement: arrange(m.CPUs), options: o, reserved: reserved}
	if n <= 0 {
		return nil, errors.New(`cpuManagerPolicy static: systemReserved["cpu"] and kubeReserved["cpu"] together, or reservedSystemCPUs, must be above zero`)
	}
	if reserved.IsEmpty() {
		var err error
		if p.reserved, err = p.pick(p.details.all(), n); err != nil {
			return nil, fmt.Errorf("cpuManagerPolicy static: reserve %d CPUs for the system: %w", n, err)
		}
	}
	if p.reserved.Size() != n {
		return nil, fmt.Errorf("cpuManagerPolicy static: %d CPUs are reserved, %s, want %d", p.reserved.Size(), p.reserved, n)
	}
	var cores []int
	for _, cpu := range p.reserved.List() {
		at, ok := p.details[cpu]
		if !ok {
			return nil, fmt.Errorf("reservedSystemCPUs: CPU %d is not online; online are %s", cpu, p.details.all())
		}
		cores = append(cores, at.Core)
	}
	p.around = p.details.cpus(core, cores...)
	return p, nil
}

// pick picks n of the CPUs as the options say.
func (p *static) pick(available cpuset.CPUSet, n int) (cpuset.CPUSet, error) {
	if !p.options.distribute {
		return p.pack(available, n, p.options.spread, p.options.uncore)
	}
	group := 1
	if p.options.fullCores {
		group = p.perCore
	}
	return p.distribute(available, n, group, p.options.spread, p.options.socket)
}

// pool returns the CPUs that are allocated or shared: all, without the strictly reserved ones.
func (p *static) pool() cpuset.CPUSet {
	if p.options.strict {
		return p.details.all().Difference(p.reserved)
	}
	return p.details.all()
}

// available returns the CPUs that a container could get.
func (p *static) available(c state.Content) cpuset.CPUSet { return c.Default.Difference(p.reserved) }

// wanted returns how many CPUs the container gets for itself: the number that a container of a Guaranteed pod requests, if it is whole. Of a
// pod with pod-level resources, the container must be Guaranteed too.
//
// Upstream: guaranteedCPUs.
func (p *static) wanted(pod *v1.Pod, c *v1.Container) int {
	if qos.Class(pod) != v1.PodQOSGuaranteed || resourcehelper.IsPodLevelResourcesSet(pod) && !(p.podLevel && qos.GuaranteedContainer(c)) {
		return 0
	}
	return whole(c.Resources.Requests)
}

// whole returns the requested CPUs, 0 if that is no whole number.
func whole(requests v1.ResourceList) int {
	q := requests[v1.ResourceCPU]
	if n := q.Value(); n*1000 == q.MilliValue() {
		return int(n)
	}
	return 0
}

// check compares the state with the machine and the reservations.
//
// Upstream: validateState.
func (p *static) check(c state.Content) error {
	if p.options.strict {
		if both := p.reserved.Intersection(c.Default); !both.IsEmpty() {
			return fmt.Errorf("some of strictly reserved cpus: %q are present in defaultCpuSet: %q", both, c.Default)
		}
	} else if !p.reserved.IsSubsetOf(c.Default) {
		return fmt.Errorf("not all reserved cpus: %q are present in defaultCpuSet: %q", p.reserved, c.Default)
	}
	known := c.Default
	for pod, containers := range c.Assigned {
		for name, set := range containers {
			if !set.Intersection(c.Default).IsEmpty() {
				return fmt.Errorf("pod: %s, container: %s cpuset: %q overlaps with default cpuset %q", pod, name, set, c.Default)
			}
			known = known.Union(set)
		}
	}
	for pod, e := range c.Pods {
		if !e.CPUSet.Intersection(c.Default).IsEmpty() {
			return fmt.Errorf("pod: %s cpuset: %q overlaps with default cpuset %q", pod, e.CPUSet, c.Default)
		}
		known = known.Union(e.CPUSet)
	}
	if all := p.pool(); !known.Equals(all) {
		return fmt.Errorf("current set of available CPUs %q doesn't match with CPUs in state %q", all, known)
	}
	return nil
}
