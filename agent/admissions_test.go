package agent

import (
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Only another label or taint decides which pods may be on the node.
func TestPlacesOtherwise(t *testing.T) {
	node := func(label string, taints ...v1.Taint) *v1.Node {
		return &v1.Node{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"disk": label}}, Spec: v1.NodeSpec{Taints: taints}}
	}
	beat := node("ssd")
	beat.ResourceVersion, beat.Status.Conditions = "2", []v1.NodeCondition{{Type: v1.NodeReady}}
	gone := v1.Taint{Key: "gone", Effect: v1.TaintEffectNoExecute}
	for _, c := range []struct {
		name    string
		was, is *v1.Node
		want    bool
	}{
		{"the first", nil, node("ssd"), true},
		{"the same", node("ssd"), node("ssd"), false},
		{"its status", node("ssd"), beat, false},
		{"a label", node("ssd"), node("hdd"), true},
		{"a taint", node("ssd"), node("ssd", gone), true},
		{"no taint any more", node("ssd", gone), node("ssd"), true},
	} {
		if got := placesOtherwise(c.was, c.is); got != c.want {
			t.Errorf("%s: %t", c.name, got)
		}
	}
}
