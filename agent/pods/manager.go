package pods

import (
	"context"
	"errors"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeloupe/kubeloupe/agent/admission"
	"github.com/kubeloupe/kubeloupe/agent/events"
	"github.com/kubeloupe/kubeloupe/agent/podstate"
	"github.com/kubeloupe/kubeloupe/agent/resize"
	"github.com/kubeloupe/kubeloupe/agent/worker"
	"github.com/kubeloupe/kubeloupe/trace"
)

// Workers has a worker for each pod.
type Workers interface {
	Ask(uid types.UID, a worker.Ask)
	Wake(uid types.UID, c worker.Cause) bool
	State(uid types.UID) worker.State
	Pods() map[types.UID]*v1.Pod
}

// Seen is the known state of the runtime.
type Seen interface {
	Get(uid types.UID) *podstate.Pod
	All() map[types.UID]*podstate.Pod
}

// Orphans removes the remains of unknown pods.
type Orphans interface {
	// Clean removes everything that belongs to unknown pods, and returns what it removed.
	Clean(ctx context.Context, known func(types.UID) bool) (removed []string, err error)
}

// Objects fetches the objects that pods refer to, in advance.
type Objects interface {
	Register(pod *v1.Pod)
	Unregister(pod *v1.Pod)
}

// Resizes has the allocated resources of pods, which may be less or more than their specs request.
type Resizes interface {
	// Add takes a pod that was admitted, or a new version of it before every source has reported, and returns it as allocated. If it is not as
	// allocated, Waiting returns it.
	Add(pod *v1.Pod) *v1.Pod
	// Requested takes two versions of a pod before Update.
	Requested(ctx context.Context, old, pod *v1.Pod)
	// Update takes a pod whose spec may request new resources, or that waits for free resources.
	Update(ctx context.Context, pod *v1.Pod, others []*v1.Pod, why trace.ResizeTrigger) (*v1.Pod, resize.Preemption)
	// Pod returns a pod as allocated, Held as it counts for others: while it is resized, that can be more.
	Pod(pod *v1.Pod) *v1.Pod
	Held(pod *v1.Pod) *v1.Pod
	// Waiting returns those of the pods that wait for free resources or a decision, in the order in which they get them.
	Waiting(pods []*v1.Pod) []*v1.Pod
	// Keep forgets all pods that are not known.
	Keep(known func(types.UID) bool)
}

// Devices gives devices to pods. Resources reserves them.
type Devices interface {
	// Allocate allocates what was reserved for a pod. It may wait for device plugins; if it fails and ctx has not ended, the pod cannot run.
	Allocate(ctx context.Context, pod *v1.Pod) error
	// Release frees the devices of a pod of which nothing runs.
	Release(uid types.UID)
}

// Resources gives CPUs, memory and devices to pods.
type Resources interface {
	// Reserve gives a pod that is to be admitted what it requests, without waiting; devices are only reserved. What it already has, it keeps.
	Reserve(ctx context.Context, pod *v1.Pod) admission.Verdict
	// Release frees what a pod has of which nothing runs.
	Release(uid types.UID)
}

// Config is what a Manager needs.
type Config struct {
	Workers Workers
	Seen    Seen
	Orphans []Orphans
	Store   *Store
	// MaxPods is the maximum number of pods of the node.
	MaxPods int
	// Node adds data about the node to an admission's inputs; may be nil.
	Node func(*admission.Inputs)
	// Features are those that the node declares; nil means that updates of pods may need any.
	Features *admission.Features
	// Devices may be nil: then no pod gets devices of device plugins.
	Devices Devices
	// Mirrors may be nil: then no static pod has a mirror pod.
	Mirrors Mirrors
	// Probes is notified when containers of a pod change; may be nil.
	Probes interface{ Changed(uid types.UID) }
	// PublishStatus computes a pod's status again (Syncer.PublishStatus); may be nil.
	PublishStatus func(ctx context.Context, uid types.UID)
	// Objects may be nil: then nothing is fetched in advance.
	Objects Objects
	// Resizes may be nil: then pods have the resources in their specs.
	Resizes Resizes
	// Resources may be nil: then all pods share CPUs and memory, and no devices are reserved.
	Resources Resources
	// Statuses may be nil: then statuses are not written to an API.
	Statuses Statuses
	// Forget is called when a rejected pod is gone, as SyncerConfig.Forget is for others; may be nil.
	Forget func(uid types.UID)
	// Events may be nil: then they are only published on the bus.
	Events events.Publisher
	// Starting is called for each pod that is about to start, and must not block; may be nil.
	Starting func()
	// Tidy requests housekeeping soon; may be nil.
	Tidy func()
	Bus  *trace.Bus
}

// Manager handles the events of the syncLoop. Only the loop calls its methods, except Run.
type Manager struct {
	cfg      Config
	clean    chan trace.Span // requests Run to clean, with the cause
	complete chan struct{}   // closed when every source has reported
	rejected map[types.UID]bool
	delayed  delayed
	// undecided says that the resize of a pod was not decided yet.
	undecided bool
}

// New returns a manager without pods.
func New(cfg Config) (*Manager, error) {
	if cfg.Workers == nil || cfg.Seen == nil || cfg.Store == nil {
		return nil, errors.New("pods: Config needs Workers, Seen and Store")
	}
	return &Manager{cfg: cfg, clean: make(chan trace.Span, 1), complete: make(chan struct{}), rejected: map[types.UID]bool{}, delayed: newDelayed()}, nil
}

// Complete is closed when every source has delivered its pods, and all of them were processed. Safe for concurrent use.
func (m *Manager) Complete() <-chan struct{} { return m.complete }

// IsDeleted reports whether a pod is unknown, so that its dead containers and its logs can be removed: no source has
// it, and it has no worker. The result is valid only after Complete is closed. Safe for concurrent use.
func (m *Manager) IsDeleted(uid string) bool {
	id := types.UID(uid)
	return !m.cfg.Store.Known(id) && m.cfg.Workers.State(id) == worker.None
}

// IsTerminated reports whether nothing of a pod runs or will run again. Safe for concurrent use.
func (m *Manager) IsTerminated(uid string) bool {
	return m.cfg.Workers.State(types.UID(uid)) == worker.Terminated || m.IsDeleted(uid)
}

// SourcesReady reports whether Complete is closed.
func (m *Manager) SourcesReady() bool {
	select {
	case <-m.complete:
		return true
	default:
		return false
	}
}
