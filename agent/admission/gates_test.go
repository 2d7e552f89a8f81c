package admission

import (
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Feature gates decide what pods may use.
func TestGates(t *testing.T) {
	node := &v1.Node{Spec: v1.NodeSpec{Taints: []v1.Taint{{Key: "cost", Value: "5", Effect: v1.TaintEffectNoExecute}}}}
	tolerating := podWith("p")
	tolerating.Spec.Tolerations = []v1.Toleration{{Key: "cost", Operator: v1.TolerationOpLt, Value: "9"}}
	level := podWith("p")
	level.Spec.Resources = &v1.ResourceRequirements{Requests: v1.ResourceList{v1.ResourceCPU: resource.MustParse("1")}}
	for _, c := range []struct {
		name            string
		in              Inputs
		reason, message string
	}{
		{"comparison", Inputs{Pod: tolerating, Node: node, Comparisons: true}, "", ""},
		{"comparison, off", Inputs{Pod: tolerating, Node: node}, "TaintToleration", "Predicate TaintToleration failed: node(s) had taints that the pod didn't tolerate"},
		{"pod-level resources", Inputs{Pod: level}, "", ""},
		{"pod-level resources, off", Inputs{Pod: level, NoPodLevel: true}, "PodLevelResourcesNotSupported", "PodLevelResources feature gate is disabled"},
		{"pod-level resources, off, before a shutdown", Inputs{Pod: level, NoPodLevel: true, ShuttingDown: true}, "PodLevelResourcesNotSupported", "PodLevelResources feature gate is disabled"},
		{"no pod-level resources, off", Inputs{Pod: podWith("p"), NoPodLevel: true}, "", ""},
	} {
		if v := Check(c.in); v.OK != (c.reason == "") || v.Reason != c.reason || v.Message != c.message {
			t.Errorf("%s: %+v, want %s: %s", c.name, v, c.reason, c.message)
		}
	}
}
