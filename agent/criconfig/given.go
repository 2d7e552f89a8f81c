package criconfig

import (
	"slices"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// Given is what device plugins add to a container.
type Given struct {
	Env         []Var
	Mounts      []*runtimeapi.Mount
	Devices     []*runtimeapi.Device
	CDIDevices  []*runtimeapi.CDIDevice
	Annotations map[string]string
}

// Take adds what device plugins gave. Variables that the container has itself stay as they are.
//
// Upstream: pkg/kubelet/kubelet_pods.go, GenerateRunContainerOptions.
func (in *ContainerInput) Take(g Given) {
	own := make(map[string]bool, len(in.Env))
	for _, v := range in.Env {
		own[v.Name] = true
	}
	more := slices.DeleteFunc(slices.Clone(g.Env), func(v Var) bool { return own[v.Name] })
	in.Env = slices.Concat(more, in.Env)
	in.ExtraMounts, in.Devices, in.CDIDevices, in.Annotations = g.Mounts, g.Devices, g.CDIDevices, g.Annotations
}
