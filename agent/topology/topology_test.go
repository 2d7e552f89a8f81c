package topology

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/agent/numa"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/tracetest"
)

// machine has that many NUMA nodes; the distance of two is 10 more for each step between them.
func machine(n int) numa.Machine {
	var m numa.Machine
	for i := range n {
		node := numa.Node{ID: i}
		for j := range n {
			node.Distances = append(node.Distances, uint64(10+10*max(i-j, j-i)))
		}
		m.Nodes = append(m.Nodes, node)
	}
	return m
}

func manager(t *testing.T, cfg Config) *Manager {
	t.Helper()
	m, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// hints parses hints such as "0* 1* 0,1": a star says preferred; "any" is any nodes.
func hints(text string) []Hint {
	out := []Hint{}
	for f := range strings.FieldsSeq(text) {
		nodes, preferred := strings.CutSuffix(f, "*")
		h := Hint{Preferred: preferred}
		if nodes != "any" {
			set, err := numa.ParseList(nodes)
			if err != nil {
				panic(err)
			}
			h.Nodes = numa.MaskOf(set.List()...)
		}
		out = append(out, h)
	}
	return out
}

func show(h Hint) string {
	out := h.Nodes.String()
	if h.Nodes == 0 {
		out = "any"
	}
	if h.Preferred {
		out += "*"
	}
	return out
}

func TestDecide(t *testing.T) {
	type resource = map[string][]Hint
	for _, c := range []struct {
		name  string
		nodes int
		hints []resource
		// want is the result by policy; "-" before it says that the pod is refused.
		bestEffort, restricted, single string
	}{
		{"no preference", 2, []resource{nil, {}}, "0,1*", "0,1*", "any*"},
		{"nil is no preference", 2, []resource{{"cpu": nil}}, "0,1*", "0,1*", "any*"},
		{"none can", 2, []resource{{"cpu": {}}}, "0,1", "-0,1", "-any"},
		{"one resource", 2, []resource{{"cpu": hints("0* 1* 0,1")}}, "0*", "0*", "0*"},
		{"the other node", 2, []resource{{"cpu": hints("0* 1* 0,1")}, {"memory": hints("1* 0,1")}}, "1*", "1*", "1*"},
		{"no node in common", 2, []resource{{"cpu": hints("0* 0,1")}, {"memory": hints("1* 0,1")}}, "0", "-0", "-any"},
		{"both nodes are needed", 2, []resource{{"cpu": hints("0,1*")}, {"memory": hints("0,1*")}}, "0,1*", "0,1*", "-any"},
		{"one needs both", 2, []resource{{"cpu": hints("0,1*")}, {"memory": hints("0* 1* 0,1")}}, "0,1", "-0,1", "-any"},
		{"not preferred", 2, []resource{{"cpu": hints("0,1")}}, "0,1", "-0,1", "-any"},
		{"two resources of one provider", 2, []resource{{"gpu": hints("1*"), "nic": hints("0* 1*")}}, "1*", "1*", "1*"},
		// The most demanding resource needs three nodes: the best without preference has as many, if possible.
		{"as wide as needed", 4, []resource{{"cpu": hints("0,1,2 0,1,3")}, {"memory": hints("0 0,1 0,1,3")}}, "0,1,3", "-0,1,3", "-any"},
		{"closer to what is needed", 4, []resource{{"cpu": hints("0,1,2,3")}, {"memory": hints("0 2,3")}}, "2,3", "-2,3", "-any"},
	} {
		for policy, want := range map[string]string{BestEffort: c.bestEffort, Restricted: c.restricted, SingleNUMANode: c.single, None: "any"} {
			m := manager(t, Config{Policy: policy, Scope: ScopeContainer, Machine: machine(c.nodes)})
			best, ok := m.decide(c.hints)
			got := show(best)
			if !ok {
				got = "-" + got
			}
			if got != want {
				t.Errorf("%s, %s: %s, want %s", c.name, policy, got, want)
			}
		}
	}
}

// Of sets with as many nodes, that with the shorter distances is better, otherwise the lower one.
func TestClosest(t *testing.T) {
	far := []map[string][]Hint{{"cpu": hints("0,2* 1,2*")}}
	m := manager(t, Config{Policy: BestEffort, Scope: ScopePod, Machine: machine(4)})
	if best, _ := m.decide(far); show(best) != "0,2*" {
		t.Errorf("%s, want 0,2*", show(best))
	}
	for policy, want := range map[string]string{BestEffort: "1,2*", Restricted: "1,2*"} {
		m := manager(t, Config{Policy: policy, Scope: ScopePod, Machine: machine(4), Options: map[string]string{optionClosest: "true"}})
		if best, _ := m.decide(far); show(best) != want {
			t.Errorf("%s: %s, want %s", policy, show(best), want)
		}
	}
	// The numbers of nodes have gaps: distances are in the order of the nodes.
	gaps := machine(3)
	gaps.Nodes[0].ID, gaps.Nodes[1].ID, gaps.Nodes[2].ID = 2, 5, 9
	m = manager(t, Config{Policy: BestEffort, Scope: ScopePod, Machine: gaps, Options: map[string]string{optionClosest: "true"}})
	if a, b := m.average(numa.MaskOf(2, 5)), m.average(numa.MaskOf(2, 9)); a != 15 || b != 20 {
		t.Errorf("%v, %v, want 15 and 20", a, b)
	}
}

func TestNew(t *testing.T) {
	unknown := machine(2)
	unknown.Nodes[1].Distances = nil
	for want, cfg := range map[string]Config{
		`topologyManagerPolicy: unknown policy "x"`:                    {Policy: "x"},
		`topologyManagerScope: unknown scope "x"`:                      {Policy: Restricted, Scope: "x"},
		`unknown option "x"`:                                           {Policy: Restricted, Scope: ScopePod, Options: map[string]string{"x": "1"}},
		`prefer-closest-numa-nodes: "maybe" must be true or false`:     {Policy: Restricted, Scope: ScopePod, Options: map[string]string{optionClosest: "maybe"}},
		`max-allowable-numa-nodes: "7" must be a number of at least 8`: {Policy: Restricted, Scope: ScopePod, Options: map[string]string{optionMax: "7"}},
		"9 NUMA nodes, more than the limit of 8":                       {Policy: Restricted, Scope: ScopePod, Machine: machine(9)},
		"does not tell the distances":                                  {Policy: Restricted, Scope: ScopePod, Machine: unknown, Options: map[string]string{optionClosest: "true"}},
	} {
		if _, err := New(cfg); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	manager(t, Config{Policy: Restricted, Scope: ScopePod, Machine: machine(9), Options: map[string]string{optionMax: "9"}})
	manager(t, Config{Policy: None, Machine: machine(99), Options: map[string]string{"x": "1"}}) // as upstream: not looked at
}

// giver is a provider with fixed hints.
type giver struct {
	container, pod map[string][]Hint
	err            error
	got            []string
}

func (g *giver) Hints(*v1.Pod, *v1.Container) map[string][]Hint { return g.container }
func (g *giver) PodHints(*v1.Pod) map[string][]Hint             { return g.pod }
func (g *giver) Allocate(_ context.Context, _ *v1.Pod, c *v1.Container, h Hint) error {
	g.got = append(g.got, c.Name+" "+show(h))
	return g.err
}

type reasoned struct{}

func (reasoned) Error() string  { return "text" }
func (reasoned) Reason() string { return "SMTAlignmentError" }

func TestAdmit(t *testing.T) {
	pod := &v1.Pod{Spec: v1.PodSpec{InitContainers: []v1.Container{{Name: "init"}}, Containers: []v1.Container{{Name: "app"}}}}
	for _, c := range []struct {
		name, policy, scope string
		giver               giver
		got, err            string
		aligned             int
	}{
		{"one node, each container", SingleNUMANode, ScopeContainer, giver{container: map[string][]Hint{"cpu": hints("1*")}}, "init 1* app 1*", "", 2},
		{"one node, the pod", SingleNUMANode, ScopePod, giver{pod: map[string][]Hint{"cpu": hints("1*")}}, "init 1* app 1*", "", 1},
		{"whole cores", BestEffort, ScopeContainer, giver{err: &WholeCoresError{reasoned{}}}, "init 0,1*", "SMTAlignmentError: text", 0},
		{"each container", Restricted, ScopeContainer, giver{container: map[string][]Hint{"cpu": hints("1*")}}, "init 1* app 1*", "", 0},
		{"the pod", Restricted, ScopePod, giver{pod: map[string][]Hint{"cpu": hints("0*")}, container: map[string][]Hint{"cpu": {}}}, "init 0* app 0*", "", 0},
		{"policy none", None, ScopePod, giver{pod: map[string][]Hint{"cpu": {}}}, "init any app any", "", 0},
		{"refused", Restricted, ScopeContainer, giver{container: map[string][]Hint{"cpu": {}}}, "", "TopologyAffinityError: Resources cannot be allocated with Topology locality", 0},
		{"the pod is refused", SingleNUMANode, ScopePod, giver{pod: map[string][]Hint{"cpu": hints("0,1*")}}, "", "TopologyAffinityError: Resources cannot be allocated with Topology locality", 0},
		{"failed", None, ScopePod, giver{err: errors.New("no")}, "init any", "UnexpectedAdmissionError: Allocate failed due to no, which is unexpected", 0},
		{"failed with a reason", BestEffort, ScopeContainer, giver{err: reasoned{}}, "init 0,1*", "SMTAlignmentError: text", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			rec := tracetest.New(t)
			m := manager(t, Config{Policy: c.policy, Scope: c.scope, Machine: machine(2), Providers: []Provider{{"cpu", &c.giver}}, Bus: rec.Bus()})
			err, text := m.Admit(t.Context(), pod), ""
			if err != nil {
				text = err.Error()
			}
			if got := strings.Join(c.giver.got, " "); text != c.err || got != c.got {
				t.Errorf("%q, allocated %q; want %q, %q", text, got, c.err, c.got)
			}
			want := trace.AllocationAdmitted
			if c.err != "" {
				want = trace.AllocationRefused
			}
			es := tracetest.Events[trace.Allocation](rec)
			if len(es) != 1 || es[0].Outcome != want || es[0].Manager != trace.ManagerTopology || es[0].Policy != c.policy || es[0].Aligned != c.aligned || es[0].WholeCores != (c.name == "whole cores") {
				t.Errorf("%+v", es)
			}
		})
	}
}

// On a machine with 8 NUMA nodes, each of a pod's many resources may have a hint for every set of nodes. All combinations of them would take
// longer than anybody waits.
func TestManyResources(t *testing.T) {
	var every []Hint
	numa.Subsets(machine(8).IDs(), func(set numa.Mask) {
		every = append(every, Hint{Nodes: set, Preferred: set.Count() == 1})
	})
	in := map[string][]Hint{}
	for _, name := range []string{"cpu", "memory", "hugepages-2Mi", "hugepages-1Gi", "gpu", "nic"} {
		in[name] = every
	}
	m, done := manager(t, Config{Policy: Restricted, Scope: ScopePod, Machine: machine(8)}), make(chan string)
	go func() {
		alike, _ := m.decide([]map[string][]Hint{in})
		in["nic"] = hints("2,3* 6,7* 0,1,6")
		differ, _ := m.decide([]map[string][]Hint{in})
		done <- show(alike) + " " + show(differ)
	}()
	select {
	case got := <-done:
		if want := "0* 0,1"; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	case <-time.After(30 * time.Second):
		t.Fatal("no answer in 30 s")
	}
}
