package cri

import (
	"testing"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// The record of CreateContainer has the number of mounts that are images.
func TestImageVolumesOfCall(t *testing.T) {
	image := &runtimeapi.ImageSpec{Image: "sha256:1"}
	req := &runtimeapi.CreateContainerRequest{Config: &runtimeapi.ContainerConfig{Mounts: []*runtimeapi.Mount{
		{ContainerPath: "/a", Image: image}, {ContainerPath: "/b", HostPath: "/b"}, {ContainerPath: "/c", Image: image, ImageSubPath: "c"}, {Image: &runtimeapi.ImageSpec{}},
	}}}
	if got := describeRequest(t.Context(), "CreateContainer", req, nil).ImageVolumes; got != 2 {
		t.Errorf("%d image volumes, want 2", got)
	}
	if got := describeRequest(t.Context(), "RunPodSandbox", &runtimeapi.RunPodSandboxRequest{}, nil).ImageVolumes; got != 0 {
		t.Errorf("%d image volumes of a sandbox", got)
	}
}
