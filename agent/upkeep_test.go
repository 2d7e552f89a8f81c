package agent

import (
	"context"
	"slices"
	"testing"

	"google.golang.org/grpc"
	v1 "k8s.io/api/core/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	kubelettypes "k8s.io/kubelet/pkg/types"

	"github.com/kubeloupe/kubeloupe/agent/pleg"
	"github.com/kubeloupe/kubeloupe/agent/volume"
	volumeimage "github.com/kubeloupe/kubeloupe/agent/volume/image"
)

// mounting is a runtime with one container, of a pod of an earlier agent, that has an image mounted.
type mounting struct{ pleg.Runtime }

// ListPodSandbox implements pleg.Runtime.
func (mounting) ListPodSandbox(context.Context, *runtimeapi.ListPodSandboxRequest, ...grpc.CallOption) (*runtimeapi.ListPodSandboxResponse, error) {
	return &runtimeapi.ListPodSandboxResponse{}, nil
}

// ListContainers implements pleg.Runtime.
func (mounting) ListContainers(context.Context, *runtimeapi.ListContainersRequest, ...grpc.CallOption) (*runtimeapi.ListContainersResponse, error) {
	return &runtimeapi.ListContainersResponse{Containers: []*runtimeapi.Container{{
		Id: "c", State: runtimeapi.ContainerState_CONTAINER_RUNNING, Metadata: &runtimeapi.ContainerMetadata{Name: "web"},
		Labels: map[string]string{kubelettypes.KubernetesPodUIDLabel: "u", kubelettypes.KubernetesPodNameLabel: "web", kubelettypes.KubernetesPodNamespaceLabel: "shop"},
	}}}, nil
}

// ContainerStatus implements pleg.Runtime.
func (mounting) ContainerStatus(context.Context, *runtimeapi.ContainerStatusRequest, ...grpc.CallOption) (*runtimeapi.ContainerStatusResponse, error) {
	return &runtimeapi.ContainerStatusResponse{Status: &runtimeapi.ContainerStatus{
		Id: "c", State: runtimeapi.ContainerState_CONTAINER_RUNNING, Metadata: &runtimeapi.ContainerMetadata{Name: "web"},
		Mounts: []*runtimeapi.Mount{{ContainerPath: "/etc/hosts", HostPath: "/h"}, {ContainerPath: "/models", Image: &runtimeapi.ImageSpec{Image: "sha256:2"}}},
	}}, nil
}

// An image that a container has mounted is in use, also before a source has delivered the container's pod.
func TestImagesOfVolumes(t *testing.T) {
	images, err := volumeimage.New(func(context.Context, *v1.Pod, *v1.ImageVolumeSource) (*runtimeapi.ImageSpec, error) { return nil, nil })
	if err != nil {
		t.Fatal(err)
	}
	p := &parts{}
	if p.volumes, err = volume.New(volume.Config{RootDir: t.TempDir(), Plugins: []volume.Plugin{images}}); err != nil {
		t.Fatal(err)
	}
	if p.pleg, err = pleg.New(pleg.Config{Runtime: mounting{}}); err != nil {
		t.Fatal(err)
	}
	if err := p.pleg.Relist(t.Context(), "start"); err != nil {
		t.Fatal(err)
	}
	if got := p.imagesOfVolumes(); !slices.Equal(got, []string{"sha256:2"}) {
		t.Errorf("images %v", got)
	}
}
