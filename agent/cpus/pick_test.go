package cpus

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/utils/cpuset"

	"github.com/kubeloupe/kubeloupe/agent/numa"
)

// shape is a machine: each socket has NUMA nodes, each of these cores, each of these threads. The kernel numbers the first threads of all
// cores first. caches is the number of cores that share a last-level cache; 0 is a cache for each socket.
type shape struct{ sockets, nodes, cores, threads, caches int }

func (s shape) machine() numa.Machine {
	m := numa.Machine{CPUs: map[int]numa.CPU{}}
	all := s.sockets * s.nodes * s.cores
	for c := range all {
		n := c / s.cores
		at := numa.CPU{Core: c, Node: n, Socket: n / s.nodes, Uncore: n / s.nodes}
		if s.caches > 0 {
			at.Uncore = c / s.caches
		}
		for t := range s.threads {
			m.CPUs[c+t*all] = at
		}
	}
	for n := range s.sockets * s.nodes {
		m.Nodes = append(m.Nodes, numa.Node{ID: n, Memory: 4 << 30})
	}
	return m
}

var (
	laptop   = func() shape { return shape{1, 1, 4, 2, 0} } // CPUs 0-7, siblings 4 apart
	server   = func() shape { return shape{2, 1, 4, 2, 0} } // CPUs 0-15, siblings 8 apart; socket 0 has 0-3,8-11
	noSMT    = func() shape { return shape{2, 1, 4, 1, 0} }
	eight    = func() shape { return shape{2, 4, 2, 2, 0} } // 8 NUMA nodes of 4 CPUs, siblings 16 apart
	fourNode = func() shape { return shape{2, 2, 2, 2, 0} } // 4 NUMA nodes of 4 CPUs, siblings 8 apart
	chiplets = func() shape { return shape{1, 1, 8, 2, 4} } // 2 last-level caches of 4 cores, siblings 8 apart
)

// hybrid is a machine with two cores of two threads, 0-3, and four cores of one, 4-7.
func hybrid() numa.Machine {
	m := shape{1, 1, 8, 1, 0}.machine()
	m.CPUs[1], m.CPUs[3] = m.CPUs[0], m.CPUs[2]
	return m
}

func parseSet(t *testing.T, text string) cpuset.CPUSet {
	t.Helper()
	set, err := numa.ParseList(text)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func TestPack(t *testing.T) {
	for _, c := range []struct {
		name           string
		shape          shape
		available      string
		n              int
		spread, uncore bool
		want           string
	}{
		{"nothing", laptop(), "0-7", 0, false, false, ""},
		{"a core", laptop(), "0-7", 2, false, false, "0,4"},
		{"a core and a thread", laptop(), "0-7", 3, false, false, "0-1,4"},
		{"a thread", laptop(), "0-7", 1, false, false, "0"},
		{"a thread of a core that is used", laptop(), "1-7", 1, false, false, "4"},
		{"a core beside one that is used", laptop(), "1-7", 2, false, false, "1,5"},
		{"no whole core is left", laptop(), "0,1,6", 2, false, false, "0-1"},
		{"all", laptop(), "0-7", 8, false, false, "0-7"},
		{"too many", laptop(), "0-7", 9, false, false, "not enough cpus available to satisfy request: requested=9, available=8"},
		{"a socket", server(), "0-15", 8, false, false, "0-3,8-11"},
		{"the idle socket", server(), "1-15", 8, false, false, "4-7,12-15"},
		{"a socket and a core", server(), "0-15", 10, false, false, "0-4,8-12"},
		{"a core of the socket that is used", server(), "1-7,9-15", 2, false, false, "1,9"},
		{"without SMT", noSMT(), "0-7", 3, false, false, "0-2"},
		{"without SMT, the socket that is used", noSMT(), "0-3,5-7", 2, false, false, "5-6"},
		{"spread", laptop(), "0-7", 2, true, false, "0-1"},
		{"spread over a socket", server(), "0-15", 3, true, false, "0-2"},
		{"a whole socket is taken whole", server(), "0-15", 8, true, false, "0-3,8-11"},
		{"a NUMA node", eight(), "0-31", 4, false, false, "0-1,16-17"},
		{"a socket of four NUMA nodes", eight(), "0-31", 16, false, false, "0-7,16-23"},
		{"a NUMA node and a core beside it", eight(), "0-31", 6, false, false, "0-2,16-18"},
		{"a cache", chiplets(), "0-15", 8, false, true, "0-3,8-11"},
		{"a part of a cache", chiplets(), "0-15", 6, false, true, "0-2,8-10"},
		{"an odd part of a cache", chiplets(), "0-15", 3, false, true, "0-1,8"},
		{"the cache that has enough", chiplets(), "2-7,10-15", 6, false, true, "4-6,12-14"},
		{"without regard to caches", chiplets(), "2-7,10-15", 6, false, false, "2-4,10-12"},
		{"a cache and a core", chiplets(), "0-15", 10, false, true, "0-4,8-12"},
		{"no cache has enough", chiplets(), "2-5,10-13", 6, false, true, "2-4,10-12"},
	} {
		set, err := arrange(c.shape.machine().CPUs).pack(parseSet(t, c.available), c.n, c.spread, c.uncore)
		got := set.String()
		if err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

func TestDistribute(t *testing.T) {
	for _, c := range []struct {
		name      string
		shape     shape
		available string
		n, group  int
		bySocket  bool
		want      string
	}{
		{"one node has enough", server(), "0-15", 4, 1, false, "0-1,8-9"},
		{"the same of each node", server(), "0-15", 10, 1, false, "0-2,4-6,8-9,12-13"},
		{"whole cores of each node", server(), "0-15", 10, 2, false, "0-2,4-5,8-10,12-13"},
		{"no multiple of the group", server(), "0-15", 3, 2, false, "0-1,8"},
		{"three nodes", eight(), "0-31", 10, 2, false, "0-4,16-20"},
		{"nodes with as many", fourNode(), "0,2-4,6-8,10-12,14-15", 6, 1, false, "2-3,6-7,10,14"},
		{"nodes of a socket", fourNode(), "0,2-4,6-8,10-12,14-15", 6, 1, true, "0,2-3,8,10-11"},
		{"too many", fourNode(), "0-3", 5, 1, false, "not enough cpus available to satisfy request: requested=5, available=4"},
		{"nothing", fourNode(), "0-3", 0, 1, false, ""},
		{"groups need not be whole cores", server(), "0-4,8,12", 6, 2, false, "0-2,4,8,12"},
		{"no nodes have enough groups: it packs", server(), "0-2,4-6", 6, 2, false, "0-2,4-6"},
	} {
		set, err := arrange(c.shape.machine().CPUs).distribute(parseSet(t, c.available), c.n, c.group, false, c.bySocket)
		got := set.String()
		if err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// If cores have different sizes, a core of which somebody has a thread is not taken whole.
func TestPackUneven(t *testing.T) {
	a := arrange(hybrid().CPUs)
	for _, c := range []struct {
		available string
		n         int
		want      string
	}{{"1-7", 2, "4-5"}, {"1-7", 6, "1-2,4-7"}, {"1-3", 2, "1-2"}, {"0-7", 8, "0-7"}} {
		if got, err := a.pack(parseSet(t, c.available), c.n, false, false); err != nil || got.String() != c.want {
			t.Errorf("%d of %s: %s, %v, want %s", c.n, c.available, got, err, c.want)
		}
	}
}

// Whatever is free: a choice is a part of it and has the right size, and it is found if there are enough.
func TestPickAnything(t *testing.T) {
	machines := map[string]numa.Machine{"hybrid": hybrid()}
	for _, s := range []shape{laptop(), server(), noSMT(), eight(), fourNode(), chiplets()} {
		name, odd := fmt.Sprintf("%+v", s), s.machine()
		delete(odd.CPUs, 1) // offline
		machines[name], machines[name+" without CPU 1"] = s.machine(), odd
	}
	for at, m := range machines {
		a, seeds := arrange(m.CPUs), 40
		if strings.HasSuffix(at, "without CPU 1") {
			seeds = 10
		}
		all := a.details.all()
		for seed := range seeds {
			var free []int
			for i, cpu := range all.List() {
				if (i*7+seed*3+i*i*seed)%5 != 0 {
					free = append(free, cpu)
				}
			}
			set := cpuset.New(free...)
			for n := range set.Size() + 2 {
				for name, pick := range map[string]func() (cpuset.CPUSet, error){
					"pack":       func() (cpuset.CPUSet, error) { return a.pack(set, n, false, false) },
					"spread":     func() (cpuset.CPUSet, error) { return a.pack(set, n, true, false) },
					"uncore":     func() (cpuset.CPUSet, error) { return a.pack(set, n, false, true) },
					"distribute": func() (cpuset.CPUSet, error) { return a.distribute(set, n, 1, false, false) },
					"cores":      func() (cpuset.CPUSet, error) { return a.distribute(set, n, a.perCore, false, false) },
					"socket":     func() (cpuset.CPUSet, error) { return a.distribute(set, n, 1, false, true) },
				} {
					got, err := pick()
					if enough := n <= set.Size(); enough != (err == nil) || err == nil && (got.Size() != n || !got.IsSubsetOf(set)) {
						t.Fatalf("%s, %s: %d of %s: %s, %v", at, name, n, set, got, err)
					}
				}
			}
		}
	}
}

func TestOptions(t *testing.T) {
	on := gates{true, true}
	for _, c := range []struct {
		in   string
		g    gates
		want string
	}{
		{"full-pcpus-only=true strict-cpu-reservation=1 prefer-align-cpus-by-uncorecache=false", gates{}, ""},
		{"distribute-cpus-across-numa=true align-by-socket=true", on, ""},
		{"fast=true", on, `unknown option "fast"`},
		{"full-pcpus-only=yes", on, `full-pcpus-only: "yes" must be true or false`},
		{"align-by-socket=true", gates{beta: true}, "align-by-socket needs the feature gate CPUManagerPolicyAlphaOptions, which is off"},
		{"distribute-cpus-across-cores=true", gates{beta: true}, "needs the feature gate CPUManagerPolicyAlphaOptions"},
		{"distribute-cpus-across-numa=true", gates{alpha: true}, "needs the feature gate CPUManagerPolicyBetaOptions, which is off"},
		{"full-pcpus-only=true distribute-cpus-across-cores=true", on, "full-pcpus-only and distribute-cpus-across-cores exclude each other"},
		{"distribute-cpus-across-numa=true distribute-cpus-across-cores=true", on, "exclude each other"},
		{"prefer-align-cpus-by-uncorecache=true distribute-cpus-across-cores=true", on, "exclude each other"},
		{"prefer-align-cpus-by-uncorecache=true distribute-cpus-across-numa=true", on, "exclude each other"},
	} {
		in := map[string]string{}
		for f := range strings.FieldsSeq(c.in) {
			k, v, _ := strings.Cut(f, "=")
			in[k] = v
		}
		_, err := parse(in, c.g)
		if (err != nil) != (c.want != "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.in, err, c.want)
		}
	}
	o := options{socket: true}
	if err := o.fits(server().machine(), "single-numa-node"); err == nil || !strings.Contains(err.Error(), "cannot be combined with topologyManagerPolicy single-numa-node") {
		t.Error(err)
	}
	flat := shape{2, 1, 2, 1, 0}.machine()
	for id, c := range flat.CPUs {
		c.Node = 0
		flat.CPUs[id] = c
	}
	if err := o.fits(flat, "restricted"); err == nil || !strings.Contains(err.Error(), "more sockets (2) than NUMA nodes (1)") {
		t.Error(err)
	}
	if err := o.fits(server().machine(), "restricted"); err != nil {
		t.Error(err)
	}
}
