package pods

import (
	"context"
	"errors"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeloupe/kubeloupe/agent/criconfig"
	"github.com/kubeloupe/kubeloupe/agent/events"
	"github.com/kubeloupe/kubeloupe/agent/podruntime"
	"github.com/kubeloupe/kubeloupe/agent/podstate"
	"github.com/kubeloupe/kubeloupe/trace"
)

// Runtime executes the work for pods.
type Runtime interface {
	Sync(ctx context.Context, pod *v1.Pod, order uint64, publish func(context.Context)) (podruntime.Outcome, error)
	Kill(ctx context.Context, pod *v1.Pod, grace *int64, why string, order uint64) error
	Clean(ctx context.Context, pod *v1.Pod, remove bool, order uint64) error
	Reasons(uid types.UID) map[string]podruntime.Reason
	Forget(uid types.UID)
}

// Network reports whether the runtime is ready, and its pod network.
type Network interface {
	Ready() (ok bool, why string)
	NetworkReady() (ok bool, why string)
	// NetworkError returns why the pod network is not ready, as Events say it; nil if it is.
	NetworkError() error
}

// Probes runs the probes of containers.
type Probes interface {
	// Add starts the probes of a pod, or updates them. Previous is the pod's last status.
	Add(pod *v1.Pod, previous *v1.PodStatus)
	// StopLiveness stops the probes that could restart a container.
	StopLiveness(uid types.UID)
	// Remove stops all probes.
	Remove(uid types.UID)
}

// Volumes are updated when the fields of a pod that they show change.
type Volumes interface {
	Mount(ctx context.Context, pod *v1.Pod) (map[string]criconfig.Volume, error)
}

// Statuses writes statuses to the API server.
type Statuses interface {
	// Set returns immediately.
	Set(ctx context.Context, pod *v1.Pod, st v1.PodStatus)
	// Gone reports that nothing is left of a pod on this node, so its object can be deleted.
	Gone(ctx context.Context, pod *v1.Pod)
	// Observe takes the pod as the API server has it.
	Observe(ctx context.Context, uid types.UID, pod *v1.Pod)
	// Forget removes the state of a pod that no source has.
	Forget(uid types.UID)
}

// Mirrors shows static pods in the API server.
type Mirrors interface {
	Add(pod *v1.Pod)
	// Complete reports that every static pod was added.
	Complete()
	Remove(uid types.UID)
}

// SyncerConfig is what a Syncer needs.
//
// Many fields: a Syncer joins all parts that work for a pod.
type SyncerConfig struct {
	Runtime Runtime
	Network Network
	Store   *Store
	Status  StatusFunc
	// Victim reports whether a preempted pod still holds its resources.
	Victim func(uid types.UID) bool
	// Evicting reports whether the resources of an evicted pod are not free yet: then no other pod starts. May be nil.
	Evicting func() bool
	// Starting is called when a sync of a pod that has not started begins, and what it returns when that sync ends. They must not
	// block; may be nil.
	Starting func() (done func())
	// Forget is called for pods that are gone; may be nil.
	Forget func(uid types.UID)
	// Release frees the CPUs and memory of a pod of which nothing runs; may be nil.
	Release func(uid types.UID)
	// Freed is called when a pod has terminated, and again when its CPUs and devices are free. It must not block; may be nil.
	Freed func()
	// Observer has the state of the runtime. May be nil: then a pod of which the runtime lost containers is judged by the others only.
	Observer podruntime.Observer
	// LogsBy returns until when the log of a failed container, which its status quotes, may be incomplete; zero for
	// none. May be nil.
	LogsBy func(uid types.UID) time.Time
	// LastWords reads a container's termination message. It is called without a lock. May be nil.
	LastWords func(ctx context.Context, c *podstate.Container) string
	// Devices, Volumes, Probes, Statuses, Objects, Events and Mirrors may be nil.
	Devices  Devices
	Volumes  Volumes
	Probes   Probes
	Statuses Statuses
	Objects  Objects
	Events   events.Publisher
	Mirrors  Mirrors
	Bus      *trace.Bus
}

// Syncer does the work of pod workers.
type Syncer struct{ cfg SyncerConfig }

// NewSyncer checks that cfg is complete.
func NewSyncer(cfg SyncerConfig) (*Syncer, error) {
	if cfg.Runtime == nil || cfg.Network == nil || cfg.Store == nil || cfg.Status == nil {
		return nil, errors.New("pods: SyncerConfig needs Runtime, Network, Store and Status")
	}
	return &Syncer{cfg: cfg}, nil
}
