package eviction

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	statsapi "k8s.io/kubelet/pkg/apis/stats/v1alpha1"

	"github.com/kubeloupe/kubeloupe/trace"
)

// Pods are the pods of the node.
type Pods interface {
	// Active returns the pods that end sooner if they are evicted with the grace period that grace returns, in seconds: those that run or
	// will run, and those that are terminating with a longer one. The caller must not change them.
	Active(grace func(*v1.Pod) int64) []*v1.Pod
	// Evict makes a pod fail and terminate, or terminate sooner. It returns immediately.
	Evict(ctx context.Context, pod *v1.Pod, e Order)
	// Ended reports whether nothing of a pod runs, and its resources are free.
	Ended(uid types.UID) bool
	// Empty reports whether the runtime has nothing of a pod: it has not started, and so it uses nothing.
	Empty(uid types.UID) bool
}

// Order is what an evicted pod gets.
type Order struct {
	// Message is for its status and its Event, Annotations for the Event.
	Message     string
	Annotations map[string]string
	// Grace is its grace period, in seconds.
	Grace int64
	// Disrupted adds the condition DisruptionTarget: the pod is not to blame.
	Disrupted bool
	// Decision is the decision about it.
	Decision trace.Decision
}

// Reclaimer removes what no pod uses.
type Reclaimer interface {
	// Containers removes containers that have exited, and Images images that no container uses. They return how many, and the bytes
	// that became free, as far as they are known.
	Containers(ctx context.Context) (removed int, freed int64, err error)
	Images(ctx context.Context) (removed int, freed int64, err error)
}

// Config is what a Manager needs.
type Config struct {
	// Thresholds are the result of Parse.
	Thresholds []Threshold
	// Transition is how long a condition stays true (evictionPressureTransitionPeriod).
	Transition time.Duration
	// MaxGrace is the longest grace period in a soft eviction, in seconds (evictionMaxPodGracePeriod).
	MaxGrace int64
	// Isolation enforces limits of local storage (localStorageCapacityIsolation).
	Isolation bool
	// Observe only measures: no pod is evicted, and nothing is removed.
	Observe bool

	// Measure measures the node.
	Measure func(context.Context) (Measured, error)
	// Usage measures the pods. For those that fresh picks, by UID, figures must not be older than a round; nil picks none.
	Usage func(ctx context.Context, fresh func(uid string) bool) ([]statsapi.PodStats, error)
	Pods  Pods
	// Reclaimer may be nil with Observe.
	Reclaimer Reclaimer
	// Marks are further thresholds to publish with a signal; may be nil.
	Marks map[trace.Signal][]trace.Threshold
	// Stalled delivers notifications of the kernel that tasks stall for memory; may be nil.
	Stalled <-chan struct{}
	// Watcher reports that memory crossed a threshold; may be nil.
	Watcher Watcher
	// Counted reports whether the file system counts what is in an emptyDir volume, by a quota; otherwise Usage has it from a scan. May
	// be nil: all are scanned.
	Counted func(pod *v1.Pod, volume *v1.Volume) bool
	// Changed is called when a condition changed, and must not block; may be nil.
	Changed func()
	// Warn sends a Warning Event about the node; may be nil.
	Warn func(ctx context.Context, reason, message string)
	// Bus may be nil.
	Bus *trace.Bus
}

// Manager runs rounds. Its methods other than Run are safe for concurrent use.
type Manager struct {
	cfg Config

	// Only Run uses these.
	layout     Layout
	thresholds []Threshold // for the layout; nil until it is known
	judge      *judge
	told       map[trace.Signal]said
	failing    bool
	foreseen   time.Time
	enforced   time.Time // when limits of local storage were last enforced
	figured    time.Time // when the figures were last published
	vain       struct {  // the last round that had to act and evicted nothing, for a threshold by its index
		threshold int
		at        time.Time
	}
	removing chan reclaimed // of removals that have not ended; nil for none
	near     bool           // little more than a threshold is left of something

	mu         sync.Mutex
	conditions []v1.NodeConditionType
	busy       bool
}

// said is a verdict on a signal as last published: about a threshold, by index.
type said struct {
	threshold int
	short     bool
}

// New returns a Manager. It returns an error if something that it needs is missing.
func New(c Config) (*Manager, error) {
	if c.Measure == nil || !c.Observe && (c.Usage == nil || c.Pods == nil || c.Reclaimer == nil) {
		return nil, errors.New("eviction: Config needs Measure, and without Observe also Usage, Pods and Reclaimer")
	}
	return &Manager{cfg: c}, nil
}

// Under reports whether a pressure condition of the node is true.
func (m *Manager) Under(c v1.NodeConditionType) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Contains(m.conditions, c)
}

// Evicting reports whether a pod was evicted whose resources are not free yet.
func (m *Manager) Evicting() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.busy
}

func (m *Manager) setBusy(on bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.busy = on
}
