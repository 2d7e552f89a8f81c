package podstatus

import (
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

func cpu(amount string) v1.ResourceList {
	if amount == "" {
		return nil
	}
	return v1.ResourceList{v1.ResourceCPU: resource.MustParse(amount)}
}

// CPUs of a cgroup at its least are shown only if more are allocated. A limit that the cgroup does not have is that of the last status, or
// the allocated one.
func TestPodResourcesAtTheirLeast(t *testing.T) {
	of := func(request, limit string) v1.ResourceRequirements {
		return v1.ResourceRequirements{Requests: cpu(request), Limits: cpu(limit)}
	}
	last := func(limit string) *v1.PodStatus {
		return &v1.PodStatus{Phase: v1.PodRunning, Resources: &v1.ResourceRequirements{Limits: list(limit, "1Gi")}}
	}
	for _, c := range []struct {
		name            string
		allocated, last v1.ResourceRequirements
		previous        *v1.PodStatus
		want            string
	}{
		{"both", of("1m", "5m"), of("2m", "10m"), nil, "1m 0 / 5m 0"},
		{"more allocated", of("100m", "100m"), of("1m", "5m"), nil, "2m 0 / 10m 0"},
		{"less allocated", of("1m", "5m"), of("100m", "100m"), nil, "100m 0 / 100m 0"},
		{"new request", of("100m", ""), of("", ""), nil, "2m 0 / 0 0"},
		{"new limit", of("100m", "200m"), of("100m", ""), nil, "100m 0 / 200m 0"},
		{"limit of the last status", of("100m", "200m"), of("100m", ""), last("3"), "100m 0 / 3 1Gi"},
		{"limit of a pod that did not run", of("100m", "200m"), of("100m", ""), &v1.PodStatus{Phase: v1.PodPending, Resources: last("3").Resources}, "100m 0 / 200m 0"},
	} {
		pod := aPod(v1.RestartPolicyAlways, "a")
		pod.Spec.Resources = &c.allocated
		given := func(name string) (v1.ResourceRequirements, bool) { return c.last, name == "" }
		if got := amounts(Generate(pod, seen(running("a")), Inputs{Actuated: given, Previous: c.previous}).Resources); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}
