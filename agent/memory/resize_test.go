package memory

import (
	"fmt"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/agent/topology"
	"github.com/kubeloupe/kubeloupe/trace"
)

func newResizing(t *testing.T) *fixture {
	t.Helper()
	f := newFixture(t)
	f.cfg.Resize = true
	var err error
	if f.Manager, err = New(f.cfg); err != nil {
		t.Fatal(err)
	}
	return f
}

// resized tries to give the containers what the pod requests now, keeps it if all of them can have it, and returns what they have.
func (f *fixture) resized(t *testing.T, from, to *v1.Pod) string {
	t.Helper()
	f.Try(from)
	failed := ""
	for _, c := range containers(to) {
		if err := f.Allocate(t.Context(), to, c, topology.Hint{}); err != nil && failed == "" {
			failed = err.Error()
			if later, ok := err.(interface{ Later() bool }); ok && later.Later() {
				failed += " now"
			}
			failed += "; "
		}
	}
	f.End(failed == "")
	return failed + f.sizes(to)
}

// sizes returns what the containers have, in MiB.
func (f *fixture) sizes(p *v1.Pod) string {
	var out []string
	for _, c := range containers(p) {
		text := c.Name
		for _, b := range f.content.Entries[string(p.UID)][c.Name] {
			text += fmt.Sprintf(" %d@%s", b.Size>>20, strings.Trim(fmt.Sprint(b.NUMAAffinity), "[]"))
		}
		out = append(out, text)
	}
	return strings.Join(out, " ")
}

// A container gets more memory on its NUMA nodes, or gives some back to them.
func TestResize(t *testing.T) {
	type step struct{ containers, want, left string }
	for _, c := range []struct {
		name   string
		pod    string
		nodes  []int
		others []*v1.Pod
		steps  []step
	}{
		{"more, less, too much", "a=1Gi", []int{1}, []*v1.Pod{pod("q", "a=1Gi")}, []step{
			{"a=2Gi", "a 2048@1", "2304 1280"},
			{"a=512Mi", "a 512@1", "2304 2816"},
			{"a=3328Mi", "a 3328@1", "2304 0"},
			{"a=3329Mi", "[memorymanager] NUMA nodes 1 of its memory do not have 1048576 more bytes of memory: 0 are free; a 3328@1", "2304 0"},
			{"a=1Gi", "a 1024@1", "2304 2304"},
		}},
		{"another pod has it", "a=1Gi", []int{0}, []*v1.Pod{pod("q", "a=2Gi")}, []step{
			{"a=2Gi", "[memorymanager] NUMA nodes 0 of its memory do not have 1073741824 more bytes of memory: 268435456 are free now; a 1024@0", "256 3328"},
			{"a=1280Mi", "a 1280@0", "0 3328"},
		}},
		{"of two nodes", "a=4Gi", []int{0, 1}, nil, []step{{"a=6Gi", "a 6144@0 1", "0 512"}, {"a=1Gi", "a 1024@0 1", "3328 2304"}}},
		{"huge pages stay", "a=1Gi+64Mi", []int{0}, nil, []step{{"a=2Gi+64Mi", "a 64@0 2048@0", "1280 3328"}}},
		{"nothing changes if one container fails", "a=1Gi b=1Gi", []int{0}, nil, []step{
			{"a=2Gi b=3Gi", "[memorymanager] NUMA nodes 0 of its memory do not have 2147483648 more bytes of memory: 268435456 are free now; a 1024@0 b 1024@0", "1280 3328"},
			{"a=512Mi b=2Gi", "a 512@0 b 2048@0", "768 3328"},
		}},
		{"later containers have a part of the init container's", "init:i=3Gi sidecar:s=1Gi a=1Gi", []int{0}, nil, []step{
			{"init:i=3Gi sidecar:s=1280Mi a=1Gi", "i 1024@0 s 1280@0 a 1024@0", "0 3328"},
			{"init:i=2560Mi sidecar:s=1280Mi a=1Gi", "i 512@0 s 1280@0 a 1024@0", "512 3328"},
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newResizing(t)
			p := pod("p", strings.Fields(c.pod)...)
			f.admit(t, p, true, c.nodes...)
			for _, q := range c.others {
				f.admit(t, q, true, 0)
			}
			for _, s := range c.steps {
				to := pod("p", strings.Fields(s.containers)...)
				got := f.resized(t, p, to)
				if got != s.want || f.left() != s.left {
					t.Errorf("%s: %s, left %s; want %s, left %s", s.containers, got, f.left(), s.want, s.left)
				}
				if !strings.HasPrefix(got, "[") {
					p = to
				}
				again, err := New(f.cfg)
				if err != nil {
					t.Fatal(err)
				}
				if got, want := (&fixture{Manager: again}).sizes(p), f.sizes(p); got != want {
					t.Errorf("the next agent has %s, want %s", got, want)
				}
			}
			f.Release("p")
			f.Release("q")
			if got := f.left(); got != "3328 3328" {
				t.Errorf("after the pods: left %s", got)
			}
		})
	}
}

// Without the feature gate, the policy ignores resizes.
func TestResizeWithoutGate(t *testing.T) {
	f := newFixture(t)
	p := pod("p", "a=1Gi")
	f.admit(t, p, true, 0)
	if got := f.resized(t, p, pod("p", "a=2Gi")); got != "a 1024@0" {
		t.Error(got)
	}
}

// The hints for a resize are the NUMA nodes that the container has; none if they do not have enough.
func TestResizeHints(t *testing.T) {
	f := newResizing(t)
	p := pod("p", "a=1Gi", "b=1Gi")
	f.admit(t, p, true, 1)
	f.Try(p)
	for amount, want := range map[string]string{"2Gi": "1", "512Mi": "1", "3Gi": "none"} {
		to := pod("p", "a="+amount, "b=1Gi")
		for i, hints := range []map[string][]topology.Hint{f.Hints(to, &to.Spec.Containers[0]), f.PodHints(to)} {
			got := "none"
			for _, h := range hints["memory"] {
				got = h.Nodes.String()
			}
			if _, asked := hints["memory"]; got != want || !asked {
				t.Errorf("%s (%d): %v, want %s", amount, i, hints, want)
			}
		}
	}
	for i, hints := range []map[string][]topology.Hint{f.Hints(p, &p.Spec.Containers[0]), f.PodHints(p)} {
		if got := hints["memory"]; len(got) != 1 || got[0].Nodes.String() != "1" || !got[0].Preferred {
			t.Errorf("what does not change (%d): %v, want node 1", i, hints)
		}
	}
	f.End(false)
}

// A resize that is undone publishes nothing.
func TestResizeIsTold(t *testing.T) {
	f := newResizing(t)
	p := pod("p", "a=1Gi")
	f.admit(t, p, true, 0)
	f.resized(t, p, pod("p", "a=9Gi"))
	f.resized(t, p, pod("p", "a=2Gi"))
	var got []string
	for _, r := range f.rec.Records() {
		if e, ok := r.Event.(*trace.Allocation); ok && e.Why == trace.AllocationResized {
			got = append(got, fmt.Sprintf("%s %d of %s, free %d", e.Outcome, e.Memory[0].Bytes>>20, e.Container, e.Free[0].Bytes>>20))
		}
	}
	if want := "granted 2048 of a, free 1280"; strings.Join(got, "; ") != want {
		t.Errorf("%v, want %s", got, want)
	}
}

// An agent that was killed between the checkpoints of a resize makes up for it when the pod is admitted again.
func TestResizeAfterRestart(t *testing.T) {
	f := newResizing(t)
	f.admit(t, pod("p", "a=1Gi"), true, 0)
	for amount, want := range map[string]string{"2Gi": "a 2048@0", "9Gi": "a 2048@0"} {
		p := pod("p", "a="+amount)
		if amount == "9Gi" {
			f.admit(t, pod("p", "a=2Gi"), true, 0)
		}
		f.admit(t, p, true, 0)
		if got := f.sizes(p); got != want {
			t.Errorf("%s: %s, want %s", amount, got, want)
		}
	}
}
