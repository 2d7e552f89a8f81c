package cpus

import (
	"cmp"
	"fmt"
	"slices"

	"k8s.io/utils/cpuset"

	"github.com/kubeloupe/kubeloupe/trace/sorting"
)

// arrangement is the whole machine, with the average numbers of CPUs that upstream compares with.
type arrangement struct {
	details                       details
	perCore, perSocket, perUncore int
	sockets, nodes                int
	inNode                        map[int]int
}

func arrange(d details) arrangement {
	per := func(n int) int { return len(d) / max(1, n) }
	return arrangement{
		details: d, sockets: len(d.values(socket)), nodes: len(d.values(node)), inNode: d.count(node),
		perCore: per(len(d.values(core))), perUncore: per(len(d.values(uncore))), perSocket: per(len(d.values(socket))),
	}
}

// picker collects CPUs, each time those of the place with the fewest free ones that still fits.
//
// Upstream: pkg/kubelet/cm/cpumanager/cpu_assignment.go, cpuAccumulator.
type picker struct {
	arrangement
	free  details
	need  int
	taken cpuset.CPUSet
	// spread takes each CPU from another core.
	spread bool
}

func (a arrangement) picker(available cpuset.CPUSet, n int, spread bool) *picker {
	return &picker{arrangement: a, free: a.details.only(available), need: n, taken: cpuset.New(), spread: spread}
}

// nodesOutside reports whether NUMA nodes contain sockets, not the other way round.
func (p *picker) nodesOutside() bool { return p.sockets >= p.nodes }

// sorted sorts numbers of a level by their free CPUs, then by number.
func (p *picker) sorted(ids []int, of level) []int {
	free := p.free.count(of)
	sorting.Stable(ids, func(a, b *int) int { return cmp.Or(cmp.Compare(free[*a], free[*b]), cmp.Compare(*a, *b)) })
	return ids
}

// inside returns the numbers of an inner level, sorted, for one after the other of the outer ones.
func (p *picker) inside(outer level, ids []int, inner level) []int {
	var out []int
	for _, id := range ids {
		out = append(out, p.sorted(p.free.within(outer, id, inner), inner)...)
	}
	return out
}

func (p *picker) byNode() []int {
	if p.nodesOutside() {
		return p.sorted(p.free.values(node), node)
	}
	return p.inside(socket, p.bySocket(), node)
}

func (p *picker) bySocket() []int {
	if p.nodesOutside() {
		return p.inside(node, p.byNode(), socket)
	}
	return p.sorted(p.free.values(socket), socket)
}

func (p *picker) byCore() []int {
	if p.nodesOutside() {
		return p.inside(socket, p.bySocket(), core)
	}
	return p.inside(node, p.byNode(), core)
}

func (p *picker) byUncore() []int { return p.inside(node, p.byNode(), uncore) }

// byCPU returns the free CPUs: those of a core together or, to spread them, those of a socket in ascending order.
func (p *picker) byCPU() []int {
	outer, ids := level(core), []int(nil)
	if p.spread {
		outer, ids = socket, p.bySocket()
	} else {
		ids = p.byCore()
	}
	var out []int
	for _, id := range ids {
		out = append(out, p.free.cpus(outer, id).List()...)
	}
	return out
}

func (p *picker) take(cpus cpuset.CPUSet) {
	p.taken = p.taken.Union(cpus)
	p.free = p.free.only(p.free.all().Difference(cpus))
	p.need -= cpus.Size()
}

func (p *picker) done() bool { return p.need < 1 }

// takeWhole takes whole places of a level, as long as they are not more than needed. If a size is given, places of another one do not count.
//
// Upstream compares only the free CPUs with the average size of a socket or a core. If sizes differ, because CPUs are offline or not all cores
// have two threads, it takes the rest of such a place too, which others have.
func (p *picker) takeWhole(ids []int, of level, size int) {
	free, all := p.free.count(of), p.details.count(of)
	ids = slices.DeleteFunc(slices.Clone(ids), func(id int) bool { return free[id] < all[id] || size > 0 && all[id] != size })
	for _, id := range ids {
		if cpus := p.details.cpus(of, id); cpus.Size() <= p.need {
			p.take(cpus)
		}
	}
}

func (p *picker) takeNodes() { p.takeWhole(p.byNode(), node, 0) }

func (p *picker) takeSockets() { p.takeWhole(p.bySocket(), socket, p.perSocket) }

func (p *picker) takeCores() { p.takeWhole(p.byCore(), core, p.perCore) }

func (p *picker) takeRest() {
	for _, cpu := range p.byCPU() {
		if p.done() {
			return
		}
		p.take(cpuset.New(cpu))
	}
}

// errFew is the error of an allocation for which there are too few CPUs.
func errFew(want, has int) error {
	return fmt.Errorf("not enough cpus available to satisfy request: requested=%d, available=%d", want, has)
}
