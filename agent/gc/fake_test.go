package gc

import (
	"context"
	"maps"
	"slices"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// node is a runtime with containers, sandboxes and images on a file system.
type node struct {
	mu         sync.Mutex
	containers map[string]*runtimeapi.Container
	sandboxes  map[string]*runtimeapi.PodSandbox
	images     map[string]*runtimeapi.Image
	capacity   int64
	other      int64            // bytes on the file system that are not images
	stuck      map[string]error // objects that cannot be removed
	deaf       error            // the error of list calls
	stopped    []string
	lists      int

	gone     map[string]bool // pods
	ended    map[string]bool // pods that have terminated
	complete chan struct{}   // closed when the sources are ready
}

func newNode() *node {
	n := newStartingNode()
	close(n.complete)
	return n
}

func newStartingNode() *node {
	return &node{
		complete:   make(chan struct{}),
		containers: map[string]*runtimeapi.Container{}, sandboxes: map[string]*runtimeapi.PodSandbox{},
		images: map[string]*runtimeapi.Image{}, stuck: map[string]error{}, gone: map[string]bool{}, capacity: 1000,
	}
}

func (n *node) Complete() <-chan struct{} { return n.complete }
func (n *node) IsDeleted(uid string) bool { return n.gone[uid] }

// IsTerminated implements Pods.
func (n *node) IsTerminated(uid string) bool { return n.gone[uid] || n.ended[uid] }

func (n *node) image(id string, size uint64) {
	n.images[id] = &runtimeapi.Image{Id: id, RepoTags: []string{"r.io/" + id + ":v1"}, Size: size}
}

func (n *node) fs(string) (FS, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	free := n.capacity - n.other
	for _, img := range n.images {
		free -= int64(img.Size)
	}
	return FS{n.capacity, free}, nil
}

func (n *node) ListContainers(context.Context, *runtimeapi.ListContainersRequest, ...grpc.CallOption) (*runtimeapi.ListContainersResponse, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.lists++
	return &runtimeapi.ListContainersResponse{Containers: slices.Collect(maps.Values(n.containers))}, n.deaf
}

func (n *node) ListPodSandbox(context.Context, *runtimeapi.ListPodSandboxRequest, ...grpc.CallOption) (*runtimeapi.ListPodSandboxResponse, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return &runtimeapi.ListPodSandboxResponse{Items: slices.Collect(maps.Values(n.sandboxes))}, n.deaf
}

func (n *node) StopContainer(_ context.Context, r *runtimeapi.StopContainerRequest, _ ...grpc.CallOption) (*runtimeapi.StopContainerResponse, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.stopped = append(n.stopped, r.ContainerId)
	n.containers[r.ContainerId].State = runtimeapi.ContainerState_CONTAINER_EXITED
	return &runtimeapi.StopContainerResponse{}, nil
}

func (n *node) RemoveContainer(_ context.Context, r *runtimeapi.RemoveContainerRequest, _ ...grpc.CallOption) (*runtimeapi.RemoveContainerResponse, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	c, ok := n.containers[r.ContainerId]
	if !ok {
		return nil, status.Error(codes.NotFound, "no such container")
	}
	if s := c.State; s == runtimeapi.ContainerState_CONTAINER_RUNNING || s == runtimeapi.ContainerState_CONTAINER_UNKNOWN {
		return nil, status.Errorf(codes.FailedPrecondition, "container is in state %v", s)
	}
	if err := n.stuck[r.ContainerId]; err != nil {
		return nil, err
	}
	delete(n.containers, r.ContainerId)
	return &runtimeapi.RemoveContainerResponse{}, nil
}

func (n *node) StopPodSandbox(_ context.Context, r *runtimeapi.StopPodSandboxRequest, _ ...grpc.CallOption) (*runtimeapi.StopPodSandboxResponse, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.stopped = append(n.stopped, r.PodSandboxId)
	return &runtimeapi.StopPodSandboxResponse{}, nil
}

func (n *node) RemovePodSandbox(_ context.Context, r *runtimeapi.RemovePodSandboxRequest, _ ...grpc.CallOption) (*runtimeapi.RemovePodSandboxResponse, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !slices.Contains(n.stopped, r.PodSandboxId) {
		return nil, status.Error(codes.FailedPrecondition, "sandbox is not stopped")
	}
	delete(n.sandboxes, r.PodSandboxId)
	return &runtimeapi.RemovePodSandboxResponse{}, nil
}

func (n *node) ListImages(context.Context, *runtimeapi.ListImagesRequest, ...grpc.CallOption) (*runtimeapi.ListImagesResponse, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return &runtimeapi.ListImagesResponse{Images: slices.Collect(maps.Values(n.images))}, n.deaf
}

func (n *node) RemoveImage(_ context.Context, r *runtimeapi.RemoveImageRequest, _ ...grpc.CallOption) (*runtimeapi.RemoveImageResponse, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if err := n.stuck[r.Image.Image]; err != nil {
		return nil, err
	}
	delete(n.images, r.Image.Image)
	return &runtimeapi.RemoveImageResponse{}, nil
}

func (n *node) ImageFsInfo(context.Context, *runtimeapi.ImageFsInfoRequest, ...grpc.CallOption) (*runtimeapi.ImageFsInfoResponse, error) {
	return &runtimeapi.ImageFsInfoResponse{ImageFilesystems: []*runtimeapi.FilesystemUsage{{FsId: &runtimeapi.FilesystemIdentifier{Mountpoint: "/images"}}}}, nil
}
