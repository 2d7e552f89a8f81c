package cpus

import (
	"errors"
	"iter"
	"maps"
	"math"
	"slices"

	"k8s.io/utils/cpuset"
)

// distribute picks n of the CPUs: if one NUMA node does not have enough, the same number from each of as few nodes as possible, in groups
// of CPUs. What is left over comes from those nodes so that all have about as many free CPUs as the others. If nothing of that is
// possible, it packs.
//
// Upstream: pkg/kubelet/cm/cpumanager/cpu_assignment.go, takeByTopologyNUMADistributed; KEP-2902. Upstream can choose other nodes than
// it found to be the best, because the lists of four or more nodes that it compares share memory.
func (a arrangement) distribute(available cpuset.CPUSet, n, group int, spread, bySocket bool) (cpuset.CPUSet, error) {
	if n%group != 0 {
		return a.pack(available, n, spread, false)
	}
	p := a.picker(available, n, spread)
	if p.done() {
		return p.taken, nil
	}
	if n > len(p.free) {
		return cpuset.New(), errFew(n, available.Size())
	}
	nodes := p.byNode()
	least, most := p.rangeOfNodes(group)
	for k := least; k <= most; k++ {
		if best, ok := p.bestNodes(nodes, k, n, group, bySocket); ok {
			return p.takeFrom(best, n, group)
		}
	}
	return a.pack(available, n, spread, false)
}

// rangeOfNodes returns how many NUMA nodes are needed at least, if all were idle, and are useful at most.
func (p *picker) rangeOfNodes(group int) (least, most int) {
	up := func(a, b int) int { return (a-1)/b + 1 }
	groups := up(p.need, group)
	perNode := up(up(len(p.details), group), p.nodes)
	return up(groups, perNode), min(groups, len(p.free.values(node)))
}

// split is a choice of NUMA nodes.
type split struct {
	nodes []int // each gives the same number
	rest  []int // these give what is left over
	// balance is the standard deviation of the nodes' free CPUs afterwards: less is better.
	balance float64
	// oneSocket says that all nodes are of one socket.
	oneSocket bool
}

// bestNodes returns the best choice of k nodes.
func (p *picker) bestNodes(nodes []int, k, n, group int, bySocket bool) (best split, found bool) {
	free := p.free.count(node)
	for combo := range combinations(nodes, k) {
		if found && best.balance == 0 && (!bySocket || best.oneSocket) {
			break
		}
		s, ok := p.judge(combo, nodes, free, n, group, bySocket)
		if !ok {
			continue
		}
		better := !found || s.balance < best.balance
		if found && bySocket && s.oneSocket != best.oneSocket {
			better = s.oneSocket
		}
		if better {
			best, found = s, true
		}
	}
	return best, found
}

// judge returns what a choice of nodes would leave, or false if they do not have enough.
func (p *picker) judge(combo, nodes []int, free map[int]int, n, group int, bySocket bool) (split, bool) {
	groups, each := 0, n/len(combo)/group*group
	for _, id := range combo {
		groups += free[id] / group
		if bySocket {
			each = min(each, free[id]/group*group)
		}
	}
	if groups*group < n || slices.ContainsFunc(combo, func(id int) bool { return free[id] < each }) {
		return split{}, false
	}
	s := split{nodes: combo, balance: math.MaxFloat64}
	if bySocket {
		s.oneSocket = p.inOneSocket(combo)
	}
	left := make(map[int]int, len(nodes))
	for _, id := range nodes {
		left[id] = free[id]
	}
	var givers []int
	for _, id := range combo {
		if left[id] -= each; left[id] >= group {
			givers = append(givers, id)
		}
	}
	rest := n - each*len(combo)
	if rest == 0 {
		s.balance = deviation(nodes, left)
		return s, true
	}
	for k := len(givers); k >= 1; k-- {
		for some := range combinations(givers, k) {
			if after, ok := handOut(left, some, rest, group); ok {
				if b := deviation(nodes, after); b < s.balance {
					s.balance, s.rest = b, some
				}
			}
		}
	}
	return s, len(s.rest) > 0
}

// handOut takes the rest from nodes in turn, a group each time. It returns false if they do not have enough.
func handOut(left map[int]int, from []int, rest, group int) (map[int]int, bool) {
	after := maps.Clone(left)
	for rest > 0 {
		before := rest
		for _, id := range from {
			if rest > 0 && after[id] >= group {
				after[id] -= group
				rest -= group
			}
		}
		if rest == before {
			return nil, false
		}
	}
	return after, true
}

// inOneSocket reports whether all nodes are of one socket.
func (p *picker) inOneSocket(nodes []int) bool {
	sockets := map[int]bool{}
	for _, id := range nodes {
		for _, s := range p.details.within(node, id, socket) {
			sockets[s] = true
		}
	}
	return len(sockets) <= 1
}

// takeFrom takes CPUs from the chosen nodes.
func (p *picker) takeFrom(s split, n, group int) (cpuset.CPUSet, error) {
	free := p.free.count(node)
	each := n / len(s.nodes) / group * group
	for _, id := range s.nodes {
		each = min(each, free[id]/group*group)
	}
	for _, id := range s.nodes {
		if err := p.takeOf(id, each); err != nil {
			return cpuset.New(), err
		}
	}
	for p.need > 0 {
		before := p.need
		for _, id := range s.rest {
			if p.need > 0 && p.free.cpus(node, id).Size() >= group {
				if err := p.takeOf(id, group); err != nil {
					return cpuset.New(), err
				}
			}
		}
		if p.need == before {
			return cpuset.New(), errors.New("accounting error, not enough CPUs allocated")
		}
	}
	return p.taken, nil
}

func (p *picker) takeOf(id, n int) error {
	cpus, err := p.pack(p.free.cpus(node, id), n, p.spread, false)
	if err == nil {
		p.take(cpus)
	}
	return err
}

// deviation is the standard deviation of the numbers of the nodes, rounded as upstream does.
func deviation(nodes []int, of map[int]int) float64 {
	round := func(x float64) float64 { return math.Round(x*1000) / 1000 }
	sum := 0.0
	for _, id := range nodes {
		sum += float64(of[id])
	}
	mean := round(sum / float64(len(nodes)))
	sum = 0
	for _, id := range nodes {
		sum += (float64(of[id]) - mean) * (float64(of[id]) - mean)
	}
	return round(math.Sqrt(sum / float64(len(nodes))))
}

// combinations yields all choices of k of the items, in lexical order.
func combinations(items []int, k int) iter.Seq[[]int] {
	return func(yield func([]int) bool) {
		var choose func(from int, chosen []int) bool
		choose = func(from int, chosen []int) bool {
			if len(chosen) == k {
				return yield(slices.Clone(chosen))
			}
			for i := from; i+k-len(chosen) <= len(items); i++ {
				if !choose(i+1, append(slices.Clip(chosen), items[i])) {
					return false
				}
			}
			return true
		}
		if k > 0 {
			choose(0, nil)
		}
	}
}
