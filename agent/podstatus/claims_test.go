package podstatus

import (
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/agent/qos"
	"github.com/kubeloupe/kubeloupe/agent/qos/qostest"
)

// The pod's allocated resources, and those of its cgroup, contain what claims have. A BestEffort pod's cgroup has no CPU for it.
func TestResourcesWithClaims(t *testing.T) {
	for _, tc := range []struct {
		name                    string
		resources               v1.ResourceRequirements
		allocated, actual, none string // none: actual with the gate off
	}{
		{"burstable", qostest.Resources("cpu=250m memory=64Mi", "cpu=500m"), "1250m 128Mi / 0 0", "1250m 128Mi / 1500m 0", "250m 64Mi / 500m 0"},
		{"guaranteed", qostest.Resources("cpu=1 memory=64Mi", "cpu=1 memory=64Mi"), "2 128Mi / 0 0", "2 128Mi / 2 128Mi", "1 64Mi / 1 64Mi"},
		{"best effort", v1.ResourceRequirements{}, "1 64Mi / 0 0", "0 64Mi / 0 0", "0 0 / 0 0"},
	} {
		pod := aPod(v1.RestartPolicyAlways, "a")
		pod.Spec.Containers[0].Resources = tc.resources
		pod = qostest.Claim(pod, "cpu=1 memory=64Mi", "a")
		s := Generate(pod, seen(running("a")), Inputs{Claims: qos.WithClaims})
		if got := amounts(&v1.ResourceRequirements{Requests: s.AllocatedResources}); got != tc.allocated {
			t.Errorf("%s: allocated %s, want %s", tc.name, got, tc.allocated)
		}
		if got := amounts(s.Resources); got != tc.actual {
			t.Errorf("%s: %s, want %s", tc.name, got, tc.actual)
		}
		if got := amounts(Generate(pod, seen(running("a")), Inputs{}).Resources); got != tc.none {
			t.Errorf("%s: with the gate off %s, want %s", tc.name, got, tc.none)
		}
	}
}
