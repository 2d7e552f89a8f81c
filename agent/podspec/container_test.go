package podspec

import (
	"testing"

	v1 "k8s.io/api/core/v1"
)

func TestContainer(t *testing.T) {
	p := &v1.Pod{Spec: v1.PodSpec{
		InitContainers:      []v1.Container{{Name: "init", Image: "i"}},
		Containers:          []v1.Container{{Name: "app", Image: "a"}},
		EphemeralContainers: []v1.EphemeralContainer{{EphemeralContainerCommon: v1.EphemeralContainerCommon{Name: "debug", Image: "d"}}},
	}}
	for _, c := range []struct{ name, image, path string }{
		{"app", "a", "spec.containers{app}"},
		{"init", "i", "spec.initContainers{init}"},
		{"debug", "d", "spec.ephemeralContainers{debug}"},
		{"pause", "", "implicitly required container pause"},
		{"", "", ""},
	} {
		found := Container(p, c.name)
		if (found == nil) != (c.image == "") || found != nil && found.Image != c.image {
			t.Errorf("%q: got %+v", c.name, found)
		}
		if got := FieldPath(p, c.name); got != c.path {
			t.Errorf("%q: got %q, want %q", c.name, got, c.path)
		}
		if got := IsEphemeral(p, c.name); got != (c.name == "debug") {
			t.Errorf("%q: ephemeral: %t", c.name, got)
		}
		if found != nil {
			found.Image = "changed"
		}
	}
	if p.Spec.Containers[0].Image != "changed" || p.Spec.InitContainers[0].Image != "changed" || p.Spec.EphemeralContainers[0].Image != "changed" {
		t.Errorf("not the pod's: %+v", p.Spec)
	}
}
