package topology

import (
	"context"
	"errors"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/kubeloupe/kubeloupe/agent/numa"
	"github.com/kubeloupe/kubeloupe/trace/tracetest"
)

// resizer is a provider that notes what it is asked.
type resizer struct {
	hints []Hint
	fails map[string]error // by container
	calls []string
}

func (r *resizer) Hints(*v1.Pod, *v1.Container) map[string][]Hint {
	return map[string][]Hint{"cpu": r.hints}
}
func (r *resizer) PodHints(*v1.Pod) map[string][]Hint { return r.Hints(nil, nil) }

func (r *resizer) Allocate(_ context.Context, _ *v1.Pod, c *v1.Container, affinity Hint) error {
	r.calls = append(r.calls, c.Name+" from "+affinity.Nodes.String())
	return r.fails[c.Name]
}

func (r *resizer) Try(pod *v1.Pod) { r.calls = append(r.calls, "try "+string(pod.UID)) }

func (r *resizer) End(keep bool) {
	if keep {
		r.calls = append(r.calls, "keep")
	} else {
		r.calls = append(r.calls, "undo")
	}
}

// fixed gives a resource that does not change; it must not be allocated again.
type fixed struct{ HintProvider }

func (fixed) Hints(*v1.Pod, *v1.Container) map[string][]Hint { return nil }
func (fixed) PodHints(*v1.Pod) map[string][]Hint             { return nil }

type laterError struct{ error }

func (laterError) Later() bool { return true }

func TestResize(t *testing.T) {
	pod := func(a, b string) *v1.Pod {
		p := &v1.Pod{}
		p.UID = "u"
		for name, cpu := range map[string]string{"a": a, "b": b} {
			amounts := v1.ResourceList{v1.ResourceCPU: resource.MustParse(cpu)}
			p.Spec.Containers = append(p.Spec.Containers, v1.Container{Name: name, Resources: v1.ResourceRequirements{Requests: amounts, Limits: amounts}})
		}
		if p.Spec.Containers[0].Name == "b" {
			p.Spec.Containers[0], p.Spec.Containers[1] = p.Spec.Containers[1], p.Spec.Containers[0]
		}
		return p
	}
	one, both := Hint{Nodes: numa.MaskOf(1), Preferred: true}, Hint{Nodes: numa.MaskOf(0, 1)}
	full := errors.New("full")
	for _, c := range []struct {
		name, policy, scope string
		from, to            *v1.Pod
		r                   resizer
		want, err           string
		later               bool
	}{
		{"in order", None, "", pod("1", "1"), pod("2", "2"), resizer{}, "try u, a from , b from ", "", false},
		{"what gives up CPUs is first", None, "", pod("1", "2"), pod("2", "1"), resizer{}, "try u, b from , a from ", "", false},
		{"of containers", SingleNUMANode, ScopeContainer, pod("1", "1"), pod("2", "1"), resizer{hints: []Hint{one, both}}, "try u, b from 1, a from 1", "", false},
		{"of the pod", Restricted, ScopePod, pod("1", "1"), pod("2", "1"), resizer{hints: []Hint{one, both}}, "try u, b from 1, a from 1", "", false},
		{
			"not as the policy says", SingleNUMANode, ScopeContainer,
			pod("1", "1"), pod("2", "1"),
			resizer{hints: []Hint{both}},
			"try u, undo", "Resources cannot be allocated with Topology locality", false,
		},
		{
			"the pod not as the policy says", Restricted, ScopePod,
			pod("1", "1"), pod("2", "1"),
			resizer{hints: []Hint{both}},
			"try u, undo", "Resources cannot be allocated with Topology locality", false,
		},
		{"too few", None, "", pod("1", "1"), pod("2", "1"), resizer{fails: map[string]error{"a": full}}, "try u, b from , a from , undo", "container a: full", false},
		{
			"too few now", None, "",
			pod("1", "1"), pod("2", "1"),
			resizer{fails: map[string]error{"a": laterError{full}}},
			"try u, b from , a from , undo", "container a: full", true,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			m, err := New(Config{
				Policy: c.policy, Scope: c.scope, Machine: numa.Machine{Nodes: []numa.Node{{ID: 0}, {ID: 1}}},
				Providers: []Provider{{"device", fixed{}}, {"cpu", &c.r}}, Bus: tracetest.New(t).Bus(),
			})
			if err != nil {
				t.Fatal(err)
			}
			end, err := m.Resize(t.Context(), c.to, c.from)
			if got := strings.Join(c.r.calls, ", "); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
			if c.err == "" {
				if err != nil {
					t.Fatal(err)
				}
				if end(true); c.r.calls[len(c.r.calls)-1] != "keep" {
					t.Error(c.r.calls)
				}
				return
			}
			refused, ok := errors.AsType[*ResizeError](err)
			if !ok || err.Error() != c.err || refused.Later != c.later || end != nil {
				t.Errorf("%v, later %t; want %s, later %t", err, ok && refused.Later, c.err, c.later)
			}
		})
	}
}
