package cpus

import (
	"errors"

	"k8s.io/utils/cpuset"
)

// pack picks n of the CPUs from as few places as possible: whole sockets and NUMA nodes, whole cores, single CPUs. With byUncore, it
// prefers CPUs that share a cache.
//
// Upstream: pkg/kubelet/cm/cpumanager/cpu_assignment.go, takeByTopologyNUMAPacked.
func (a arrangement) pack(available cpuset.CPUSet, n int, spread, byUncore bool) (cpuset.CPUSet, error) {
	p := a.picker(available, n, spread)
	if p.done() {
		return p.taken, nil
	}
	if n > len(p.free) {
		return cpuset.New(), errFew(n, available.Size())
	}
	steps := []func(){p.takeSockets, p.takeNodes}
	if p.nodesOutside() {
		steps[0], steps[1] = steps[1], steps[0]
	}
	if byUncore {
		steps = append(steps, p.takeUncores)
	}
	if !spread {
		steps = append(steps, p.takeCores)
	}
	for _, step := range append(steps, p.takeRest) {
		if step(); p.done() {
			return p.taken, nil
		}
	}
	return cpuset.New(), errors.New("failed to allocate cpus")
}

// takeUncores takes the CPUs of whole caches, then, if one cache has enough for the rest, that.
//
// Upstream: takeUncoreCache.
func (p *picker) takeUncores() {
	for _, id := range p.byUncore() {
		if p.need >= p.perUncore {
			p.takeWhole(p.byUncore(), uncore, 0)
		}
		if p.done() {
			return
		}
		p.takeOfUncore(id)
		if p.done() {
			return
		}
	}
}

// takeOfUncore takes the rest from one cache, if it has enough: cores in ascending order.
//
// Upstream: takePartialUncore.
func (p *picker) takeOfUncore(id int) {
	cores := p.free.within(uncore, id, core)
	if most := (p.need + p.perCore - 1) / p.perCore; len(cores) > most {
		cores = cores[:most]
	}
	cpus := p.free.cpus(core, cores...)
	if p.need%2 != 0 && p.perCore > 1 && cpus.Size() > p.need {
		list := cpus.List()
		cpus = cpuset.New(list[:len(list)-1]...) // a thread of the last core is not needed
	}
	if cpus.Size() == p.need {
		p.take(cpus)
	}
}
