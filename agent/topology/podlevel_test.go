package topology

import (
	"context"
	"errors"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/tracetest"
)

// podGiver is a provider that allocates for pods too.
type podGiver struct {
	giver
	podErr, check error
}

func (g *podGiver) AllocatePod(_ context.Context, _ *v1.Pod, h Hint) error {
	g.got = append(g.got, "pod "+show(h))
	return g.podErr
}

func (g *podGiver) CheckPod(*v1.Pod) error { return g.check }

// Pods with pod-level resources get all at once with the scope pod, and of providers that cannot do that, each container.
func TestPodLevel(t *testing.T) {
	pod := &v1.Pod{Spec: v1.PodSpec{
		InitContainers: []v1.Container{{Name: "init"}}, Containers: []v1.Container{{Name: "app"}},
		Resources: &v1.ResourceRequirements{Requests: v1.ResourceList{v1.ResourceCPU: resource.MustParse("2")}},
	}}
	plain := pod.DeepCopy()
	plain.Spec.Resources = nil
	one, none := map[string][]Hint{"cpu": hints("1*")}, map[string][]Hint{"cpu": {}}
	for _, c := range []struct {
		name, policy, scope string
		off                 bool
		pod                 *v1.Pod
		hints               map[string][]Hint
		podErr, err         error
		got, want           string
		source              trace.AllocationSource
		aligned             int
	}{
		{"the pod", Restricted, ScopePod, false, pod, one, nil, nil, "init 1* app 1*; pod 1*", "", "", 0},
		{"on one node", SingleNUMANode, ScopePod, false, pod, one, nil, nil, "init 1* app 1*; pod 1*", "", "", 1},
		{"each container", Restricted, ScopeContainer, false, pod, one, nil, nil, "init 1* app 1*; init 1* app 1*", "", "", 0},
		{"policy none", None, ScopePod, false, pod, one, nil, nil, "init any app any; init any app any", "", "", 0},
		{"without pod-level resources", Restricted, ScopePod, false, plain, one, nil, nil, "init 1* app 1*; init 1* app 1*", "", "", 0},
		{"the gate is off", Restricted, ScopePod, true, pod, one, nil, nil, "init 1* app 1*; init 1* app 1*", "", "", 0},
		{
			"the pod is refused", Restricted, ScopePod, false, pod, none, nil, nil, "; ",
			"TopologyAffinityError: Pod Scope pod with pod-level resources failed admission under pod-scope topology manager", "", 0,
		},
		{
			"a container is refused", Restricted, ScopeContainer, false, pod, none, nil, nil, "; ",
			"TopologyAffinityError: Pod Scope pod with pod-level resources failed admission with a container-level topology manager", "", 0,
		},
		{"refused without the gate", Restricted, ScopePod, true, pod, none, nil, nil, "; ", "TopologyAffinityError: Resources cannot be allocated with Topology locality", "", 0},
		{"failed", BestEffort, ScopePod, false, pod, one, errors.New("no"), nil, "init 1* app 1*; pod 1*", "UnexpectedAdmissionError: Allocate failed due to no, which is unexpected", trace.SourcePod, 0},
		{"nothing to share", BestEffort, ScopePod, false, pod, none, &EmptyPoolError{Message: "few"}, nil, "init 1 app 1; pod 1", "EmptyPodSharedPoolError: few", trace.SourcePod, 0},
		{"a container failed", BestEffort, ScopeContainer, false, pod, one, nil, errors.New("no"), "init 1*; init 1*", "UnexpectedAdmissionError: Allocate failed due to no, which is unexpected", trace.SourceNode, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			rec := tracetest.New(t)
			devices, cpu := &giver{container: one, pod: one}, &podGiver{giver{container: c.hints, pod: c.hints, err: c.err}, c.podErr, nil}
			m := manager(t, Config{
				Policy: c.policy, Scope: c.scope, Machine: machine(2), PodLevel: !c.off, Providers: []Provider{{"device", devices}, {"cpu", cpu}}, Bus: rec.Bus(),
			})
			err, text := m.Admit(t.Context(), c.pod), ""
			if err != nil {
				text = err.Error()
			}
			if got := strings.Join(devices.got, " ") + "; " + strings.Join(cpu.got, " "); text != c.want || got != c.got {
				t.Errorf("%q, allocated %q; want %q, %q", text, got, c.want, c.got)
			}
			es := tracetest.Events[trace.Allocation](rec)
			if len(es) != 1 || es[0].Source != c.source || es[0].Aligned != c.aligned || (es[0].Outcome == trace.AllocationRefused) != (c.want != "") {
				t.Errorf("%+v", es)
			}
			if c.podErr != nil && (es[0].Container != "" || es[0].Hints[0].Provider != "cpu") {
				t.Errorf("%+v: the cpu manager failed, for the pod", es[0])
			}
		})
	}
}

// A refusal says why there could be no hints.
func TestCheckPod(t *testing.T) {
	pod := &v1.Pod{Spec: v1.PodSpec{
		Containers: []v1.Container{{Name: "app"}}, Resources: &v1.ResourceRequirements{Requests: v1.ResourceList{v1.ResourceCPU: resource.MustParse("2")}},
	}}
	for scope, want := range map[string]string{ScopePod: "few", ScopeContainer: ""} {
		rec := tracetest.New(t)
		none := map[string][]Hint{"cpu": {}}
		m := manager(t, Config{Policy: Restricted, Scope: scope, Machine: machine(2), PodLevel: true, Bus: rec.Bus(), Providers: []Provider{
			{"device", &giver{}}, {"cpu", &podGiver{giver{pod: none, container: none}, nil, &EmptyPoolError{Message: "few"}}},
		}})
		if err := m.Admit(t.Context(), pod); err == nil {
			t.Error("admitted")
		}
		if es := tracetest.Events[trace.Allocation](rec); len(es) != 1 || len(es[0].Hints) != 1 || es[0].Hints[0].Err != want {
			t.Errorf("%+v", es)
		}
	}
}
