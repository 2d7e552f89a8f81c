package podruntime

import (
	"context"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/kubeloupe/kubeloupe/agent/criconfig"
	"github.com/kubeloupe/kubeloupe/agent/events"
)

// Probes returns the results of probes.
type Probes interface {
	// Failed returns the probe (startup or liveness) whose failure requires that the container is killed.
	Failed(containerID string) (probe, message string, failed bool)
	// Started reports whether a running container has passed its startup probe, or has none.
	Started(pod *v1.Pod, c *v1.Container, containerID string) bool
}

// Hooks runs lifecycle hooks. Their output becomes part of the container's status.
type Hooks interface {
	Run(ctx context.Context, pod *v1.Pod, c *v1.Container, containerID, podIP string, h *v1.LifecycleHandler) (output string, err error)
}

// SubPath prepares the paths of subPath mounts, safe against links that leave the volume.
type SubPath interface {
	// Prepare returns the path on the node for the container's mount with that index.
	Prepare(ctx context.Context, pod *v1.Pod, container string, mountIndex int, vol criconfig.Volume, subPath string) (hostPath string, err error)
	// Clean removes what was prepared for a container, or for the whole pod if container is "".
	Clean(ctx context.Context, pod types.UID, container string) error
}

// UserNamespaces gives pods with hostUsers: false their IDs.
type UserNamespaces interface {
	// Of returns the pod's user namespace, nil if it uses the node's.
	Of(pod *v1.Pod) (*runtimeapi.UserNamespace, error)
	Release(pod types.UID)
}

// Devices has what device plugins give to containers. Both calls may wait for plugins.
type Devices interface {
	// Container returns what a container's request gets. A container that has not got its devices gets them now.
	Container(ctx context.Context, pod *v1.Pod, c *v1.Container) (criconfig.Given, error)
	// PreStart tells the plugins that require it that the container is about to be created.
	PreStart(ctx context.Context, pod *v1.Pod, c *v1.Container) error
}

// Claims has the devices of ResourceClaims.
type Claims interface {
	// Has reports whether the pod refers to claims, and Ready whether they are known to be prepared, both without a call.
	Has(pod *v1.Pod) bool
	Ready(pod *v1.Pod) bool
	// Prepare has drivers prepare the pod's claims, and Unprepare those that no other pod uses. Both may wait for drivers.
	Prepare(ctx context.Context, pod *v1.Pod) error
	Unprepare(ctx context.Context, uid types.UID) error
	// Held reports whether a pod has claims that were prepared for it.
	Held(uid types.UID) bool
	// Container returns the devices of a container's claims.
	Container(pod *v1.Pod, c *v1.Container) ([]*runtimeapi.CDIDevice, error)
}

// Pinning has the CPUs and NUMA nodes of containers.
type Pinning interface {
	// Of returns the CPUs and the NUMA nodes that a container may use, in the kernel's format, "" for all, and whether it has the CPUs
	// for itself.
	Of(pod types.UID, container string) (cpus, memoryNodes string, own bool)
	// Own reports whether a container of the pod (with pod-level resources: each) has CPUs for itself.
	Own(pod types.UID) bool
	// Created reports that the container was created with those CPUs.
	Created(pod *v1.Pod, container, id, cpus string)
	// Started reports that the container runs.
	Started(pod types.UID, container, id string)
}

// PullSecrets has the image pull secrets of pods.
type PullSecrets interface {
	// Of returns the pod's pull secrets, and the names of those that could not be read. Only the end of ctx is an error.
	Of(ctx context.Context, pod *v1.Pod) (found []v1.Secret, missing []string, err error)
	// Tell emits an event about missing ones if err says that a pull failed, and reports whether it did.
	Tell(ctx context.Context, pod *v1.Pod, missing []string, err error) bool
}

// Options are the parts that a cluster node has and a standalone one may lack. Each may be nil.
type Options struct {
	Events events.Publisher
	// Probes: without it every running container counts as started, and none fails.
	Probes Probes
	// Hooks: without it no hook runs.
	Hooks Hooks
	// PullSecrets: without it, pods have no image pull secrets.
	PullSecrets PullSecrets
	// EnvObjects fetches the ConfigMaps and Secrets of environments.
	EnvObjects criconfig.Objects
	// Services are the services that the pod's environment can contain.
	Services func(ctx context.Context, pod *v1.Pod) ([]*v1.Service, error)
	// SubPath: without it, links are checked once, when the container is created.
	SubPath SubPath
	UserNS  UserNamespaces
	// RuntimeHandler is the handler of the pod's RuntimeClass.
	RuntimeHandler func(ctx context.Context, pod *v1.Pod) (string, error)
	// HandlerFeatures returns what a runtime handler can do, and an error if it is not known. Without it, handlers can do all that Node says.
	HandlerFeatures func(handler string) (*runtimeapi.RuntimeHandlerFeatures, error)
	// ExtraGroups are the supplemental groups that the pod's volumes add.
	ExtraGroups func(pod *v1.Pod) []int64
	// Resizes, Updates and PodLimits: without any of them the resources of running pods do not change.
	Resizes   Resizes
	Updates   Updates
	PodLimits PodLimits
	// SandboxFailed receives the error of a sandbox that could not be created: the cause may be the node's. It must not
	// block.
	SandboxFailed func(err error)
	// Devices are those of device plugins.
	Devices Devices
	// Claims: without it, no claim is prepared.
	Claims Claims
	// Pinning: without it, containers use all CPUs and NUMA nodes.
	Pinning Pinning
	// ResizeVolume gives a mounted volume of the pod, by name, the size limit of the pod's spec; nil without the feature gate
	// InPlacePodVerticalScalingMemoryBackedVolumes.
	ResizeVolume func(pod *v1.Pod, volume string) error
	// BlockVolumes maps the pod's block volumes by name to their devices on the node.
	BlockVolumes func(pod *v1.Pod) map[string]string
}
