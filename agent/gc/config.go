package gc

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"google.golang.org/grpc"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/kubeloupe/kubeloupe/trace"
)

// Upstream: pkg/kubelet/kubelet.go, ContainerGCPeriod and ImageGCPeriod.
const (
	containerPeriod = time.Minute
	imagePeriod     = 5 * time.Minute
)

// Runtime is the part of the CRI runtime service that the collector needs. runtimeapi.RuntimeServiceClient satisfies
// it.
type Runtime interface {
	ListContainers(context.Context, *runtimeapi.ListContainersRequest, ...grpc.CallOption) (*runtimeapi.ListContainersResponse, error)
	ListPodSandbox(context.Context, *runtimeapi.ListPodSandboxRequest, ...grpc.CallOption) (*runtimeapi.ListPodSandboxResponse, error)
	StopContainer(context.Context, *runtimeapi.StopContainerRequest, ...grpc.CallOption) (*runtimeapi.StopContainerResponse, error)
	RemoveContainer(context.Context, *runtimeapi.RemoveContainerRequest, ...grpc.CallOption) (*runtimeapi.RemoveContainerResponse, error)
	StopPodSandbox(context.Context, *runtimeapi.StopPodSandboxRequest, ...grpc.CallOption) (*runtimeapi.StopPodSandboxResponse, error)
	RemovePodSandbox(context.Context, *runtimeapi.RemovePodSandboxRequest, ...grpc.CallOption) (*runtimeapi.RemovePodSandboxResponse, error)
}

// ImageService is the part of the CRI image service that the collector needs. runtimeapi.ImageServiceClient satisfies
// it.
type ImageService interface {
	ListImages(context.Context, *runtimeapi.ListImagesRequest, ...grpc.CallOption) (*runtimeapi.ListImagesResponse, error)
	RemoveImage(context.Context, *runtimeapi.RemoveImageRequest, ...grpc.CallOption) (*runtimeapi.RemoveImageResponse, error)
	ImageFsInfo(context.Context, *runtimeapi.ImageFsInfoRequest, ...grpc.CallOption) (*runtimeapi.ImageFsInfoResponse, error)
}

// Pods reports which pods are gone.
type Pods interface {
	// Complete is closed when every pod source has delivered its pods once, and they are known to IsDeleted. Until then
	// no pod counts as gone.
	Complete() <-chan struct{}
	// IsDeleted reports whether the pod is not desired and no worker handles it: everything that is left of it can be removed. It
	// must return false for a pod whose containers are still being stopped.
	//
	// Upstream: pkg/kubelet/pod_workers.go, ShouldPodContentBeRemoved.
	IsDeleted(uid string) bool
	// IsTerminated reports whether nothing of the pod runs or will run again: its containers can be removed, its logs cannot.
	//
	// Upstream: pkg/kubelet/pod_workers.go, ShouldPodRuntimeBeRemoved.
	IsTerminated(uid string) bool
}

// Config is what a Collector needs.
type Config struct {
	Runtime Runtime
	Images  ImageService
	// Present receives, in each image run, the IDs of all images on the node; may be nil.
	Present func(ids []string, at time.Time)
	Pods    Pods
	// VolumeImages returns the images of volumes, which are in use too; may be nil.
	VolumeImages func() []string
	// Warn sends a Warning Event about the node, whose cause is the span of ctx; nil only publishes it.
	Warn func(ctx context.Context, reason, message string)
	// Bus receives the events; nil drops them.
	Bus *trace.Bus
	// PodLogDir is the pods' log directory, /var/log/pods upstream; if "", logs are not removed.
	PodLogDir string
	// ContainerLogDir holds links to the containers' logs, /var/log/containers upstream; if "", links are not removed.
	ContainerLogDir string

	ContainerPolicy ContainerPolicy
	ImagePolicy     ImagePolicy
	// FSInfo measures the file system that a path is on; nil means statfs.
	FSInfo func(path string) (FS, error)
}

// Collector removes objects that are no longer needed. It is safe for concurrent use.
type Collector struct {
	cfg   Config
	began time.Time

	containerPass sync.Mutex
	imagePass     sync.Mutex
	seen          tracker // guarded by imagePass
	failures      int     // consecutive failed periodic image runs; guarded by imagePass
}

// New returns a Collector, or an error with everything that is wrong.
func New(c Config) (*Collector, error) {
	var errs []error
	if c.Runtime == nil || c.Images == nil || c.Pods == nil {
		errs = append(errs, errors.New("gc: Runtime, Images and Pods are required"))
	}
	p := c.ImagePolicy
	for _, f := range []struct {
		field string
		value int
	}{{"imageGCHighThresholdPercent", p.High}, {"imageGCLowThresholdPercent", p.Low}} {
		if f.value < 0 || f.value > 100 {
			errs = append(errs, fmt.Errorf("gc: %s is %d, must be between 0 and 100", f.field, f.value))
		}
	}
	if p.Low > p.High {
		errs = append(errs, fmt.Errorf("gc: imageGCLowThresholdPercent is %d, must not be above imageGCHighThresholdPercent, which is %d", p.Low, p.High))
	}
	if p.MinAge < 0 || p.MaxAge < 0 {
		errs = append(errs, fmt.Errorf("gc: imageMinimumGCAge is %v and imageMaximumGCAge %v, neither can be negative", p.MinAge, p.MaxAge))
	}
	if p.MaxAge > 0 && p.MaxAge < p.MinAge {
		errs = append(errs, fmt.Errorf("gc: imageMaximumGCAge is %v, must be above imageMinimumGCAge, which is %v", p.MaxAge, p.MinAge))
	}
	if c.ContainerPolicy.MinAge < 0 {
		errs = append(errs, fmt.Errorf("gc: minimum-container-ttl-duration is %v, cannot be negative", c.ContainerPolicy.MinAge))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	if c.FSInfo == nil {
		c.FSInfo = StatFS
	}
	return &Collector{cfg: c, began: time.Now()}, nil
}
