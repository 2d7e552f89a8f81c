package cpus

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/agent/cpus/state"
	"github.com/kubeloupe/kubeloupe/agent/numa"
	"github.com/kubeloupe/kubeloupe/agent/podspec"
	"github.com/kubeloupe/kubeloupe/agent/topology"
	"github.com/kubeloupe/kubeloupe/trace"
)

func resizing(options ...string) func(*Config) {
	return func(c *Config) {
		with(options...)(c)
		c.Resize = true
	}
}

// resize tries to give the pod's containers what they request now, keeps it if all of them can have it, and returns what they have.
func (f *fixture) resized(t *testing.T, p *v1.Pod, nodes ...int) string {
	t.Helper()
	f.Try(p)
	failed := ""
	for c := range podspec.Each(p) {
		if err := f.Allocate(t.Context(), p, c, topology.Hint{Nodes: numa.MaskOf(nodes...), Preferred: true}); err != nil && failed == "" {
			failed = err.Error() + "; "
		}
	}
	f.End(failed == "")
	var has []string
	for c := range podspec.Each(p) {
		cpus, own := f.CPUs(p.UID, c.Name)
		if !own {
			cpus = "shared"
		}
		has = append(has, c.Name+" "+cpus)
	}
	return failed + strings.Join(has, " ")
}

// A container keeps its CPUs when it gets more, and those of its admission when it gives some back.
func TestResize(t *testing.T) {
	type step struct {
		containers string
		nodes      []int
		want, pool string
	}
	for _, c := range []struct {
		name    string
		machine shape
		change  func(*Config)
		pod     string
		nodes   []int
		others  []*v1.Pod
		steps   []step
	}{
		{"more, fewer, and too few", laptop(), resizing(), "a=2", nil, nil, []step{
			{"a=4", nil, "a 1-2,5-6", "0,3-4,7"},
			{"a=6", nil, "a 1-3,5-7", "0,4"},
			{"a=3", nil, "a 1-2,5", "0,3-4,6-7"},
			{"a=2", nil, "a 1,5", "0,2-4,6-7"},
			{"a=1", nil, "a container keeps the CPUs that it got at admission for itself: requested 1 CPUs, must be at least 2 (CPUs 1,5); a 1,5", "0,2-4,6-7"},
			{"a=8", nil, "not enough cpus available to satisfy request: requested=6, available=5; a 1,5", "0,2-4,6-7"},
		}},
		{"own and shared CPUs", laptop(), resizing(), "a=2 b=500m", nil, nil, []step{
			{"a=1500m b=500m", nil, "a container that has CPUs for itself (1,5) must request a whole number of them: requested 1500m; a 1,5 b shared", "0,2-4,6-7"},
			{"a=2 b=1", nil, "a container that shares CPUs cannot get CPUs for itself: requested a whole number of CPUs, 1; a 1,5 b shared", "0,2-4,6-7"},
			{"a=2 b=700m", nil, "a 1,5 b shared", "0,2-4,6-7"},
		}},
		{"nothing changes if one container fails", laptop(), resizing(), "a=1 b=2", nil, nil, []step{
			{"a=3 b=2", nil, "a 2,4,6 b 1,5", "0,3,7"},
			{"a=2 b=1", nil, "a container keeps the CPUs that it got at admission for itself: requested 1 CPUs, must be at least 2 (CPUs 1,5); a 2,4,6 b 1,5", "0,3,7"},
		}},
		{"the core that has few left first", laptop(), resizing(), "a=1", nil, []*v1.Pod{pod("q", "a=1")}, []step{
			{"a=2", nil, "a 4-5", "0,2-3,6-7"},
		}},
		{"whole cores", laptop(), resizing(optionFullCores), "a=2", nil, nil, []step{
			{"a=3", nil, "SMT Alignment Error: requested 3 cpus not multiple cpus per core = 2; a 1,5", "0,2-4,6-7"},
			{"a=6", nil, "a 1-3,5-7", "0,4"},
			{"a=8", nil, "SMT Alignment Error: not enough free physical CPUs: available physical CPUs = 0, requested CPUs = 2, CPUs per core = 2; a 1-3,5-7", "0,4"},
			{"a=4", nil, "a 1-2,5-6", "0,3-4,7"},
		}},
		{"strictly reserved", laptop(), resizing(optionStrict), "a=2", nil, nil, []step{{"a=6", nil, "a 1-3,5-7", "4"}}},
		{"from its NUMA node first, whichever else was chosen", server(), resizing(), "a=2", []int{1}, nil, []step{
			{"a=4", nil, "a 4-5,12-13", "0-3,6-11,14-15"},
			{"a=10", []int{0, 1}, "a 1,4-7,9,12-15", "0,2-3,8,10-11"},
			{"a=6", []int{1}, "a 4-6,12-14", "0-3,7-11,15"},
		}},
		{"an init container and a sidecar", laptop(), resizing(), "init:i=2 sidecar:s=1 a=1", nil, nil, []step{
			{"init:i=3 sidecar:s=2 a=1", nil, "i 1-2,5 s 4,6 a 1", "0,3,7"},
			{"init:i=2 sidecar:s=1 a=2", nil, "i 1,5 s 4 a 1-2", "0,3,6-7"},
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFixture(t, c.machine.machine(), c.change)
			f.admit(t, pod("p", strings.Fields(c.pod)...), c.nodes...)
			for _, p := range c.others {
				f.admit(t, p)
			}
			for _, s := range c.steps {
				if got := f.resized(t, pod("p", strings.Fields(s.containers)...), s.nodes...); got != s.want || f.pool() != s.pool {
					t.Errorf("%s: %s, shared %s; want %s, shared %s", s.containers, got, f.pool(), s.want, s.pool)
				}
			}
			again, err := New(f.cfg)
			if err != nil {
				t.Fatal(err)
			}
			if got, want := fmt.Sprint(again.content), fmt.Sprint(f.content); got != want {
				t.Errorf("the next agent has %s, want %s", got, want)
			}
			f.Release("p")
			f.Release("q")
			if want := f.static.pool().String(); f.pool() != want || len(f.content.Baselines) > 0 {
				t.Errorf("after the pod: shared %s, want %s; baselines %v", f.pool(), want, f.content.Baselines)
			}
		})
	}
}

// Without the feature gate, the policy ignores resizes, and the file has no baselines.
func TestResizeWithoutGate(t *testing.T) {
	f := newFixture(t, laptop().machine(), nil)
	f.admit(t, pod("p", "a=2", "b=500m"))
	if got := f.resized(t, pod("p", "a=4", "b=1")); got != "a 1,5 b shared" {
		t.Error(got)
	}
	if text, err := os.ReadFile(filepath.Join(f.cfg.Dir, stateFile)); err != nil || strings.Contains(string(text), "baseline") {
		t.Errorf("%s, %v", text, err)
	}
}

// A resize that is undone publishes nothing; one that is kept publishes what the container has, and the new pool. Meanwhile, no container
// is changed.
func TestResizeIsTold(t *testing.T) {
	f := newFixture(t, laptop().machine(), resizing())
	p := pod("p", "a=2")
	f.admit(t, p)
	told := func() (out []string) {
		for _, r := range f.rec.Records() {
			if e, ok := r.Event.(*trace.Allocation); ok && e.Why == trace.AllocationResized {
				out = append(out, fmt.Sprintf("%s %s of %s, pool %s, %d shared, own %v", e.Outcome, e.CPUs, e.Container, e.Pool, e.Shared, e.Own))
			}
		}
		return out
	}
	p = pod("p", "a=3")
	f.Try(p)
	if err := f.Allocate(t.Context(), p, &p.Spec.Containers[0], topology.Hint{}); err != nil {
		t.Fatal(err)
	}
	if got := f.plan(); len(got) > 0 {
		t.Errorf("containers change although the resize is only tried: %v", got)
	}
	f.End(false)
	if got := told(); len(got) > 0 {
		t.Error(got)
	}
	f.resized(t, p)
	if got, want := strings.Join(told(), "; "), "granted 1,4-5 of a, pool 0,2-3,6-7, 4 shared, own [{0 3}]"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got := f.plan(); len(got) != 1 || got[0].cpus != "1,4-5" {
		t.Errorf("the container gets %v", got)
	}
}

// The hints for a resize have the NUMA nodes of the CPUs that the container keeps.
func TestResizeHints(t *testing.T) {
	hints := func(m map[string][]topology.Hint) string {
		var out []string
		for _, h := range m[string(v1.ResourceCPU)] {
			s := h.Nodes.String()
			if h.Preferred {
				s += "!"
			}
			out = append(out, s)
		}
		return strings.Join(out, " ")
	}
	f := newFixture(t, server().machine(), resizing())
	f.admit(t, pod("p", "a=4"), 1)
	for _, c := range []struct{ cpu, want string }{
		{"6", "1! 0,1"}, {"8", "1! 0,1"}, {"10", "0,1!"}, {"16", ""}, {"2", "1! 0,1"}, // Allocate refuses the last one
	} {
		p := pod("p", "a="+c.cpu)
		if got := hints(f.Hints(p, &p.Spec.Containers[0])); got != c.want {
			t.Errorf("%s CPUs: %q, want %q", c.cpu, got, c.want)
		}
		if got := hints(f.PodHints(p)); got != c.want {
			t.Errorf("%s CPUs of the pod: %q, want %q", c.cpu, got, c.want)
		}
	}
	f.resized(t, pod("p", "a=10"), 0, 1)
	p := pod("p", "a=6")
	if got := hints(f.Hints(p, &p.Spec.Containers[0])); got != "1! 0,1" {
		t.Errorf("fewer: %q", got)
	}
}

// What an agent without the feature gate wrote are the baselines, and what is not a part of the CPUs is none.
func TestRestoredBaselines(t *testing.T) {
	f := newFixture(t, laptop().machine(), nil)
	f.admit(t, pod("p", "a=2"))
	f.cfg.Resize = true
	base := func() string {
		t.Helper()
		m, err := New(f.cfg)
		if err != nil {
			t.Fatal(err)
		}
		return m.content.Baselines["p"]["a"].String()
	}
	if got := base(); got != "1,5" {
		t.Errorf("baseline %q", got)
	}
	f.content.Baselines = state.Assignments{"p": {"a": parseSet(t, "1,2"), "gone": parseSet(t, "3")}}
	if err := f.write(); err != nil {
		t.Fatal(err)
	}
	if got := base(); got != "1,5" {
		t.Errorf("baseline %q", got)
	}
	f.content.Baselines["p"]["a"] = parseSet(t, "5")
	if err := f.write(); err != nil {
		t.Fatal(err)
	}
	if got := base(); got != "5" {
		t.Errorf("baseline %q", got)
	}
}

// An agent that was killed between the checkpoints of a resize makes up for it when the pod is admitted again.
func TestResizeAfterRestart(t *testing.T) {
	f := newFixture(t, laptop().machine(), resizing())
	f.admit(t, pod("p", "a=2"))
	if got := f.admit(t, pod("p", "a=4")); got != "a 1-2,5-6" {
		t.Error(got)
	}
	if got := f.admit(t, pod("p", "a=1")); got != "a 1-2,5-6" {
		t.Errorf("%s: it has what an earlier agent gave it", got)
	}
}
