package podspec_test

import (
	"fmt"
	"slices"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/agent/podspec"
)

func TestEach(t *testing.T) {
	always := v1.ContainerRestartPolicyAlways
	p := &v1.Pod{Spec: v1.PodSpec{
		InitContainers: []v1.Container{{Name: "init"}, {Name: "sidecar", RestartPolicy: &always}},
		Containers:     []v1.Container{{Name: "a"}, {Name: "b"}},
	}}
	want := []string{"init false", "sidecar true", "a true", "b true"}
	for most := 1; most <= len(want); most++ {
		var got []string
		for c, long := range podspec.Each(p) {
			if got = append(got, fmt.Sprint(c.Name, " ", long)); len(got) == most {
				break
			}
		}
		if !slices.Equal(got, want[:most]) {
			t.Errorf("got %v, want %v", got, want[:most])
		}
	}
}
