package cpus

import (
	"slices"

	"k8s.io/utils/cpuset"

	"github.com/kubeloupe/kubeloupe/agent/numa"
)

// details are CPUs and where they are.
type details map[int]numa.CPU

// level is a level of the arrangement: it returns the number of the core, the cache, the socket or the NUMA node of a CPU.
type level func(numa.CPU) int

func core(c numa.CPU) int   { return c.Core }
func uncore(c numa.CPU) int { return c.Uncore }
func socket(c numa.CPU) int { return c.Socket }
func node(c numa.CPU) int   { return c.Node }

// only returns those of the CPUs that are in the set.
func (d details) only(set cpuset.CPUSet) details {
	out := details{}
	for cpu, at := range d {
		if set.Contains(cpu) {
			out[cpu] = at
		}
	}
	return out
}

// values returns the different numbers of a level, in ascending order.
func (d details) values(of level) []int {
	return d.within(func(numa.CPU) int { return 0 }, 0, of)
}

// within returns the numbers of the inner level that CPUs of one number of the outer level have, in ascending order.
func (d details) within(outer level, id int, inner level) []int {
	seen := map[int]bool{}
	var out []int
	for _, at := range d {
		if n := inner(at); outer(at) == id && !seen[n] {
			seen[n] = true
			out = append(out, n)
		}
	}
	slices.Sort(out)
	return out
}

// cpus returns the CPUs of those numbers of a level.
func (d details) cpus(of level, ids ...int) cpuset.CPUSet {
	var out []int
	for cpu, at := range d {
		if slices.Contains(ids, of(at)) {
			out = append(out, cpu)
		}
	}
	return cpuset.New(out...)
}

// all returns the CPUs.
func (d details) all() cpuset.CPUSet { return numa.Machine{CPUs: d}.All() }

// count returns how many CPUs each number of a level has.
func (d details) count(of level) map[int]int {
	out := map[int]int{}
	for _, at := range d {
		out[of(at)]++
	}
	return out
}
