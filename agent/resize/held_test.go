package resize

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/kubeloupe/kubeloupe/trace"
)

// A pod that is resized holds the larger sum of each resource: before that is changed, of what it was given, and then of what it is allocated.
func TestHeld(t *testing.T) {
	of := func(cpu, memory string) v1.ResourceRequirements {
		r := v1.ResourceRequirements{}
		for name, q := range map[v1.ResourceName]string{v1.ResourceCPU: cpu, v1.ResourceMemory: memory} {
			if q == "" {
				continue
			}
			if r.Requests == nil {
				r.Requests = v1.ResourceList{}
			}
			r.Requests[name] = resource.MustParse(q)
		}
		return r
	}
	pod := func(level *v1.ResourceRequirements, containers ...v1.ResourceRequirements) *v1.Pod {
		p := &v1.Pod{Spec: v1.PodSpec{Resources: level}}
		p.UID = "u"
		for i, r := range containers {
			p.Spec.Containers = append(p.Spec.Containers, v1.Container{Name: string(rune('a' + i)), Resources: r})
		}
		return p
	}
	for name, c := range map[string]struct{ before, after, want *v1.Pod }{
		"smaller":            {pod(nil, of("2", "2Gi")), pod(nil, of("1", "1Gi")), pod(nil, of("2", "2Gi"))},
		"larger":             {pod(nil, of("1", "1Gi")), pod(nil, of("2", "2Gi")), pod(nil, of("2", "2Gi"))},
		"less CPU, more":     {pod(nil, of("2", "1Gi")), pod(nil, of("1", "2Gi")), pod(nil, of("2", "2Gi"))},
		"between containers": {pod(nil, of("2", ""), of("1", "")), pod(nil, of("1", ""), of("2", "")), pod(nil, of("1", ""), of("2", ""))},
		"a request is added": {pod(nil, of("2", ""), of("2", "")), pod(nil, of("1", ""), of("1", "1Gi")), pod(nil, of("2", ""), of("2", "1Gi"))},
		"and is a smaller sum": {
			pod(nil, of("", ""), of("3", "")), pod(nil, of("1", ""), of("1", "")), pod(nil, v1.ResourceRequirements{Requests: v1.ResourceList{}}, of("3", "")),
		},
		"of the pod": {pod(new(of("3", "")), of("1", "")), pod(new(of("2", "")), of("1", "")), pod(new(of("3", "")), of("1", ""))},
	} {
		t.Run(name, func(t *testing.T) {
			m, err := New(Config{Dir: t.TempDir(), Admit: func(*v1.Pod, []*v1.Pod) Verdict { return Verdict{Fits: true} }})
			if err != nil {
				t.Fatal(err)
			}
			m.Add(c.before)
			given := c.after.DeepCopy()
			m.Update(t.Context(), c.after, nil, trace.ResizeForUpdated)
			if d := cmp.Diff(c.want, m.Held(c.after)); d != "" {
				t.Errorf("in progress: %s", d)
			}
			m.Done(t.Context(), c.after)
			if d := cmp.Diff(given, m.Held(c.after)); d != "" {
				t.Errorf("done: %s", d)
			}
			if d := cmp.Diff(given, c.after); d != "" {
				t.Errorf("the pod was changed: %s", d)
			}
		})
	}
}
