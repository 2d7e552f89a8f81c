package criconfig

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// What device plugins give: the container's own variables count, and its arguments can refer to all.
func TestGiven(t *testing.T) {
	in := ContainerInput{Env: []Var{{Name: "MODE", Value: "mine"}}}
	in.Take(Given{
		Env:    []Var{{Name: "GPU", Value: "g0"}, {Name: "MODE", Value: "theirs"}},
		Mounts: []*runtimeapi.Mount{{HostPath: "/lib", ContainerPath: "/lib"}}, Devices: []*runtimeapi.Device{{HostPath: "/dev/null"}},
		CDIDevices: []*runtimeapi.CDIDevice{{Name: "v/c=1"}}, Annotations: map[string]string{"k": "v", annHash: "forged"},
	})
	c := &v1.Container{Name: "c", Args: []string{"$(GPU) $(MODE)"}}
	cfg, err := Container(&v1.Pod{Spec: v1.PodSpec{Containers: []v1.Container{*c}}}, c, Node{}, in)
	if err != nil {
		t.Fatal(err)
	}
	var env []string
	for _, kv := range cfg.Envs {
		env = append(env, kv.Key+"="+string(kv.Value))
	}
	if d := cmp.Diff([]string{"GPU=g0", "MODE=mine"}, env); d != "" || cfg.Args[0] != "g0 mine" {
		t.Error(cfg.Args, d)
	}
	if len(cfg.Mounts) != 1 || len(cfg.Devices) != 1 || len(cfg.CDIDevices) != 1 || cfg.Annotations["k"] != "v" || cfg.Annotations[annHash] == "forged" {
		t.Errorf("%v", cfg)
	}
}
