package podruntime

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"

	"google.golang.org/grpc"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/kubeloupe/kubeloupe/agent/criconfig"
	"github.com/kubeloupe/kubeloupe/agent/guestfile"
	"github.com/kubeloupe/kubeloupe/agent/image"
	"github.com/kubeloupe/kubeloupe/agent/podstate"
	"github.com/kubeloupe/kubeloupe/agent/redact"
	"github.com/kubeloupe/kubeloupe/agent/semaphore"
	"github.com/kubeloupe/kubeloupe/trace"
)

// Sandboxes is the part of the CRI that concerns sandboxes.
type Sandboxes interface {
	RunPodSandbox(context.Context, *runtimeapi.RunPodSandboxRequest, ...grpc.CallOption) (*runtimeapi.RunPodSandboxResponse, error)
	StopPodSandbox(context.Context, *runtimeapi.StopPodSandboxRequest, ...grpc.CallOption) (*runtimeapi.StopPodSandboxResponse, error)
	RemovePodSandbox(context.Context, *runtimeapi.RemovePodSandboxRequest, ...grpc.CallOption) (*runtimeapi.RemovePodSandboxResponse, error)
	PodSandboxStatus(context.Context, *runtimeapi.PodSandboxStatusRequest, ...grpc.CallOption) (*runtimeapi.PodSandboxStatusResponse, error)
}

// Containers is the part of the CRI that concerns containers.
type Containers interface {
	CreateContainer(context.Context, *runtimeapi.CreateContainerRequest, ...grpc.CallOption) (*runtimeapi.CreateContainerResponse, error)
	StartContainer(context.Context, *runtimeapi.StartContainerRequest, ...grpc.CallOption) (*runtimeapi.StartContainerResponse, error)
	StopContainer(context.Context, *runtimeapi.StopContainerRequest, ...grpc.CallOption) (*runtimeapi.StopContainerResponse, error)
	RemoveContainer(context.Context, *runtimeapi.RemoveContainerRequest, ...grpc.CallOption) (*runtimeapi.RemoveContainerResponse, error)
}

// Images pulls images.
type Images interface {
	Ensure(ctx context.Context, req image.Request) (image.Result, error)
	Forget(podUID string)
}

// Volumes mounts and unmounts all volumes of a pod.
type Volumes interface {
	// Check returns why the pod's volumes can never be set up, nil if they can. It reads only the pod.
	Check(pod *v1.Pod) error
	// Ready reports whether the volumes that the pod requested are mounted, and still exist.
	Ready(pod *v1.Pod) bool
	// Mount returns when all are mounted, by name.
	Mount(ctx context.Context, pod *v1.Pod) (map[string]criconfig.Volume, error)
	// Unmount returns when none is mounted.
	Unmount(ctx context.Context, pod trace.Pod) error
}

// Cgroups makes and removes pod cgroups.
type Cgroups interface {
	// Ready checks that the pod's cgroup and its parents exist, with their limits.
	Ready(pod *v1.Pod) bool
	// EnsurePod creates the cgroup and its parents if necessary, and sets their limits.
	EnsurePod(ctx context.Context, pod *v1.Pod) error
	DestroyPod(ctx context.Context, uid types.UID) error
	PodParent(pod *v1.Pod) string
}

// Observer returns the runtime's state of a pod.
type Observer interface {
	// Get returns the known state without a call; nil if nothing is known.
	Get(uid types.UID) *podstate.Pod
	// Refresh calls the runtime.
	Refresh(ctx context.Context, uid types.UID) (*podstate.Pod, error)
}

// Config is what a Runtime needs.
type Config struct {
	Sandboxes  Sandboxes
	Containers Containers
	Images     Images
	Volumes    Volumes
	Cgroups    Cgroups
	Observer   Observer
	// Files accesses files that containers can write; nil means a new one.
	Files *guestfile.Files
	// Gate may be nil: then no pod is stepped.
	Gate Gate
	// Slots bounds concurrent runtime work.
	Slots   *semaphore.Slots
	Backoff *CrashBackoff
	// Node is the data about the node that the CRI configurations need.
	Node criconfig.Node
	// DNS returns a pod's resolver configuration; its warnings are published. With an error, the pod gets no sandbox yet.
	DNS func(pod *v1.Pod) (*runtimeapi.DNSConfig, []criconfig.Warning, error)
	// HostIPs returns the node's addresses, primary first. It must not block. May be nil: then they are unknown.
	HostIPs func() []string
	// Family is the family of a pod's IPs that is first.
	Family podstate.Family
	// RootDir is the kubelet's root directory; LogLinks is where logs are linked by
	// container (/var/log/containers upstream), empty for no links.
	RootDir  string
	LogLinks string
	Bus      *trace.Bus
	// Secrets knows the secrets of each pod; may be nil.
	Secrets *redact.Vault
	// Options are optional.
	Options
}

// Runtime executes plans. Safe for concurrent use by different pods; one pod's calls must be serial, as its worker
// guarantees.
type Runtime struct {
	cfg Config

	mu       sync.Mutex
	known    map[types.UID]*knowledge
	reasons  map[types.UID]map[string]Reason
	verdicts map[types.UID]map[string]string // last published verdict per container
}

// New checks that cfg is complete.
func New(cfg Config) (*Runtime, error) {
	missing := map[string]bool{
		"Sandboxes": cfg.Sandboxes == nil, "Containers": cfg.Containers == nil, "Images": cfg.Images == nil,
		"Volumes": cfg.Volumes == nil, "Cgroups": cfg.Cgroups == nil, "Observer": cfg.Observer == nil,
		"Slots": cfg.Slots == nil, "Backoff": cfg.Backoff == nil, "DNS": cfg.DNS == nil, "RootDir": cfg.RootDir == "",
	}
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(missing)) {
		if missing[name] {
			errs = append(errs, errors.New("podruntime: Config."+name+" is missing"))
		}
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	if cfg.HostIPs == nil {
		cfg.HostIPs = func() []string { return nil }
	}
	if cfg.Files == nil {
		cfg.Files = guestfile.New(guestfile.Config{})
	}
	return &Runtime{
		cfg: cfg, known: map[types.UID]*knowledge{},
		reasons: map[types.UID]map[string]Reason{}, verdicts: map[types.UID]map[string]string{},
	}, nil
}
