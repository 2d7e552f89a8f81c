package pods

import (
	"context"
	"errors"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeloupe/kubeloupe/agent/admission"
	"github.com/kubeloupe/kubeloupe/agent/events"
	"github.com/kubeloupe/kubeloupe/agent/podstate"
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

// Orphans removes what belongs to unknown pods.
type Orphans interface {
	// Clean removes everything that belongs to unknown pods, and returns what it removed.
	Clean(ctx context.Context, known func(types.UID) bool) (removed []string, err error)
}

// Objects fetches ahead what pods refer to.
type Objects interface {
	Register(pod *v1.Pod)
	Unregister(pod *v1.Pod)
}

// Resizes keeps what pods have been allocated, which may be less or more than their specs ask for.
type Resizes interface {
	// Add takes a pod that was admitted and returns it as allocated.
	Add(pod *v1.Pod) *v1.Pod
	// Update takes a pod whose spec may request new resources, or that waits for free resources.
	Update(ctx context.Context, pod *v1.Pod, others []*v1.Pod) *v1.Pod
	// Pod returns a pod as allocated.
	Pod(pod *v1.Pod) *v1.Pod
	// Pending reports whether the pod waits for room.
	Pending(pod *v1.Pod) bool
}

// Config is what a Manager needs.
type Config struct {
	Workers Workers
	Seen    Seen
	Orphans []Orphans
	Store   *Store
	// MaxPods is the most pods that the node takes.
	MaxPods int
	// Node adds data about the node to an admission's inputs; may be nil.
	Node func(*admission.Inputs)
	// Mirrors may be nil: static pods are not shown in an API.
	Mirrors Mirrors
	// Probes is notified when containers of a pod change; may be nil.
	Probes interface{ Changed(uid types.UID) }
	// PublishStatus makes a pod's status again (Syncer.PublishStatus); may be nil.
	PublishStatus func(ctx context.Context, uid types.UID)
	// Objects may be nil: nothing is fetched ahead.
	Objects Objects
	// Resizes may be nil: then pods have the resources in their specs.
	Resizes Resizes
	// Statuses may be nil: then statuses are not written to an API.
	Statuses Statuses
	// Forget is called when a pod that was rejected is gone, with what SyncerConfig.Forget does for others; may be nil.
	Forget func(uid types.UID)
	// Events may be nil: they are only published.
	Events events.Publisher
	// Starting receives each pod that is about to start, and does not wait; may be nil.
	Starting func()
	// Tidy is requested when housekeeping should come soon; may be nil.
	Tidy func()
	Bus  *trace.Bus
}

// Manager handles the events of the syncLoop. Only the loop calls its methods, except Run.
type Manager struct {
	cfg      Config
	clean    chan trace.Span // asks Run to clean, and names the cause
	complete chan struct{}   // closed when every source has reported
	rejected map[types.UID]bool
}

// New returns a manager that desires nothing.
func New(cfg Config) (*Manager, error) {
	if cfg.Workers == nil || cfg.Seen == nil || cfg.Store == nil {
		return nil, errors.New("pods: Config needs Workers, Seen and Store")
	}
	return &Manager{cfg: cfg, clean: make(chan trace.Span, 1), complete: make(chan struct{}), rejected: map[types.UID]bool{}}, nil
}

// Complete is closed when every source has delivered its pods, and all of them were processed. Safe for concurrent use.
func (m *Manager) Complete() <-chan struct{} { return m.complete }

// IsDeleted reports whether nothing is known of a pod, so that its dead containers and its logs may go: no source has it, and
// no worker works for it. Until Complete is closed that means nothing. Anybody may ask.
func (m *Manager) IsDeleted(uid string) bool {
	id := types.UID(uid)
	return !m.cfg.Store.Known(id) && m.cfg.Workers.State(id) == worker.None
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
