package pods

import (
	"fmt"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeloupe/kubeloupe/agent/resize"
	"github.com/kubeloupe/kubeloupe/agent/worker"
	"github.com/kubeloupe/kubeloupe/trace"
)

// allReady are probes that all succeed.
type allReady struct{}

func (allReady) Started(*v1.Pod, *v1.Container, string) bool { return true }
func (allReady) Ready(*v1.Pod, *v1.Container, string) bool   { return true }

func list(cpu, memory string) v1.ResourceList {
	return v1.ResourceList{v1.ResourceCPU: resource.MustParse(cpu), v1.ResourceMemory: resource.MustParse(memory)}
}

// The pod-level resources of a status are those that were set, not those that are allocated.
func TestPodResourcesAreActuated(t *testing.T) {
	for _, c := range []struct {
		name          string
		set           func(p *v1.Pod, requests, limits v1.ResourceList)
		before, after string
		container     string // its Actuate makes the difference
	}{
		{
			name: "of the pod", set: func(p *v1.Pod, requests, limits v1.ResourceList) {
				p.Spec.Resources = &v1.ResourceRequirements{Requests: requests, Limits: limits}
			},
			before: "requests 100m 128Mi, limits 200m 64Mi", after: "requests 300m 128Mi, limits 400m 128Mi",
		},
		{
			name: "of its container", set: func(p *v1.Pod, requests, limits v1.ResourceList) {
				p.Spec.Containers[0].Resources = v1.ResourceRequirements{Requests: requests, Limits: limits}
			}, container: "c0",
			before: "requests 100m 128Mi, limits 200m 64Mi", after: "requests 300m 128Mi, limits 400m 128Mi",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			m, err := resize.New(resize.Config{Dir: t.TempDir(), Admit: func(*v1.Pod, []*v1.Pod) resize.Verdict { return resize.Verdict{Fits: true} }})
			if err != nil {
				t.Fatal(err)
			}
			version := func(generation int64, requests, limits v1.ResourceList) *v1.Pod {
				return podOf("web", "u1", fromAPI, func(p *v1.Pod) {
					p.Spec.Containers[0].Name, p.Generation = "c0", generation
					c.set(p, requests, limits)
				})
			}
			seen := fakeSeen{}
			seen.run("web", "u1", "running")
			status := NewStatus(StatusConfig{Seen: seen, Resizes: m, Probes: allReady{}, Workers: &fakeWorkers{states: map[types.UID]worker.State{}}, Runtime: "sim"})
			var previous v1.PodStatus
			say := func(pod *v1.Pod) string {
				st, _ := status(StatusInput{Pod: pod, Previous: previous})
				previous = st
				r := st.Resources
				return fmt.Sprintf("requests %s %s, limits %s %s", r.Requests.Cpu(), r.Requests.Memory(), r.Limits.Cpu(), r.Limits.Memory())
			}
			pod := version(1, list("100m", "32Mi"), list("200m", "64Mi"))
			m.Add(pod)
			if got, want := say(pod), "requests 100m 32Mi, limits 200m 64Mi"; got != want {
				t.Errorf("at first: %s, want %s", got, want)
			}
			pod = version(2, list("300m", "128Mi"), list("400m", "128Mi"))
			m.Update(t.Context(), pod, nil, trace.ResizeTrigger(""))
			if got := say(pod); got != c.before { // a memory request is in no cgroup
				t.Errorf("allocated: %s, want %s", got, c.before)
			}
			m.Failed(t.Context(), pod, "no")
			if got := say(pod); got != c.before {
				t.Errorf("failed: %s, want %s", got, c.before)
			}
			if err := m.Actuate(pod, c.container); err != nil {
				t.Fatal(err)
			}
			if got := say(pod); got != c.after {
				t.Errorf("actuated: %s, want %s", got, c.after)
			}
		})
	}
}
