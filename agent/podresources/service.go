package podresources

import (
	"context"
	"errors"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	api "k8s.io/kubelet/pkg/apis/podresources/v1"

	"github.com/kubeloupe/kubeloupe/agent/podspec"
)

// Upstream: pkg/kubelet/apis/podresources/constants.go.
const (
	// Socket is the name of the socket in ROOT/pod-resources.
	Socket = "kubelet.sock"
	// QPS is how many requests there may be in a second, Burst how many at once.
	QPS = 100
	// Burst belongs to QPS.
	Burst = 10
	// Patience is how long a request waits for the pods of an agent that has just started, so that its restart does not make pods disappear
	// for a moment. Then it is answered with those that are known, as upstream's kubelet does at once: many clients give up after 10 s.
	Patience = 5 * time.Second
)

// Pods are the pods of the node.
type Pods interface {
	// Active returns the pods of which something runs or will run, also those that terminate.
	Active() []*v1.Pod
	// Everyone returns all pods, also those that have ended.
	Everyone() []*v1.Pod
	// Named returns the active pod of that name, or nil. If there are two, it is the new one, and not the one that still terminates.
	Named(namespace, name string) *v1.Pod
}

// Devices are the devices of device plugins.
type Devices interface {
	// Refresh frees the devices of pods that have ended.
	Refresh()
	// Devices returns those of a container.
	Devices(uid types.UID, container string) []*api.ContainerDevices
	// Allocatable returns all healthy ones.
	Allocatable() []*api.ContainerDevices
}

// Claims are the ResourceClaims of pods.
type Claims interface {
	// Dynamic returns the devices of a container's claims.
	Dynamic(pod *v1.Pod, c *v1.Container) []*api.DynamicResource
}

// Config is what a Service needs.
type Config struct {
	Pods    Pods
	Devices Devices
	CPUs    CPUs
	Memory  Memory
	Claims  Claims
	// Complete is closed when all sources have delivered their pods: until then, requests for pods wait, at most for [Patience].
	Complete <-chan struct{}
	// Ended says that List has the pods that have ended, too (the gate KubeletPodResourcesListUseActivePods is off).
	Ended bool
}

// Service answers the podresources API, version v1. Safe for concurrent use.
type Service struct {
	api.UnimplementedPodResourcesListerServer
	cfg Config
}

// New checks cfg.
func New(cfg Config) (*Service, error) {
	if cfg.Pods == nil || cfg.Devices == nil || cfg.CPUs == nil || cfg.Memory == nil || cfg.Claims == nil || cfg.Complete == nil {
		return nil, errors.New("podresources: Config needs Pods, Devices, CPUs, Memory, Claims and Complete")
	}
	return &Service{cfg: cfg}, nil
}

// settle waits until all pods are known, at most for Patience.
func (s *Service) settle(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, Patience)
	defer cancel()
	select {
	case <-s.cfg.Complete:
	case <-ctx.Done():
	}
}

// List returns what the containers of all pods have, as a rule of those that have not ended.
func (s *Service) List(ctx context.Context, _ *api.ListPodResourcesRequest) (*api.ListPodResourcesResponse, error) {
	s.settle(ctx)
	s.cfg.Devices.Refresh()
	out := &api.ListPodResourcesResponse{}
	pods := s.cfg.Pods.Active
	if s.cfg.Ended {
		pods = s.cfg.Pods.Everyone
	}
	for _, pod := range pods() {
		out.PodResources = append(out.PodResources, s.pod(pod))
	}
	return out, nil
}

// Get returns what the containers of one pod have that has not ended. The error is upstream's.
func (s *Service) Get(ctx context.Context, req *api.GetPodResourcesRequest) (*api.GetPodResourcesResponse, error) {
	s.settle(ctx)
	if pod := s.cfg.Pods.Named(req.GetPodNamespace(), req.GetPodName()); pod != nil {
		return &api.GetPodResourcesResponse{PodResources: s.pod(pod)}, nil
	}
	return nil, fmt.Errorf("pod %s in namespace %s not found", req.GetPodName(), req.GetPodNamespace())
}

// GetAllocatableResources returns what the node can give to containers, whether it is in use or not.
func (s *Service) GetAllocatableResources(context.Context, *api.AllocatableResourcesRequest) (*api.AllocatableResourcesResponse, error) {
	return &api.AllocatableResourcesResponse{
		Devices: s.cfg.Devices.Allocatable(), CpuIds: numbers(s.cfg.CPUs.Allocatable()), Memory: memoryOf(s.cfg.Memory.Allocatable()),
	}, nil
}

// pod returns what a pod and its containers have: sidecars and app containers. Other init containers pass on to these what they had.
//
// Upstream: pkg/kubelet/apis/podresources/server_v1.go.
func (s *Service) pod(pod *v1.Pod) *api.PodResources {
	out := &api.PodResources{
		Name: pod.Name, Namespace: pod.Namespace, CpuIds: numbers(s.cfg.CPUs.OfPod(pod.UID)), Memory: memoryOf(s.cfg.Memory.OfPod(pod.UID)),
	}
	for i := range pod.Spec.InitContainers {
		if c := &pod.Spec.InitContainers[i]; podspec.RestartableInit(c) {
			out.Containers = append(out.Containers, s.container(pod, c))
		}
	}
	for i := range pod.Spec.Containers {
		out.Containers = append(out.Containers, s.container(pod, &pod.Spec.Containers[i]))
	}
	return out
}

func (s *Service) container(pod *v1.Pod, c *v1.Container) *api.ContainerResources {
	return &api.ContainerResources{
		Name: c.Name, Devices: s.cfg.Devices.Devices(pod.UID, c.Name), CpuIds: numbers(s.cfg.CPUs.Exclusive(pod.UID, c.Name)),
		Memory: memoryOf(s.cfg.Memory.Blocks(pod.UID, c.Name)), DynamicResources: s.cfg.Claims.Dynamic(pod, c),
	}
}
