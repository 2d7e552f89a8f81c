package pods

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeloupe/kubeloupe/agent/admit"
	"github.com/kubeloupe/kubeloupe/agent/observe"
	"github.com/kubeloupe/kubeloupe/agent/podstatus"
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

// Seen is what the runtime has, as far as is known.
type Seen interface {
	Get(uid types.UID) *observe.Pod
	All() map[types.UID]*observe.Pod
}

// Orphans cleans up what belongs to pods that nobody knows.
type Orphans interface {
	// Clean removes what belongs to pods that known does not know, and says what it removed.
	Clean(ctx context.Context, known func(types.UID) bool) (removed []string, err error)
}

// Objects fetches ahead what pods refer to.
type Objects interface {
	Register(pod *v1.Pod)
	Unregister(pod *v1.Pod)
}

// Events makes Kubernetes Events, and publishes them.
type Events interface {
	Pod(ctx context.Context, pod *v1.Pod, container, eventType, reason, message string)
}

// Resizes keeps what pods have been allocated, which may be less or more than their specs ask for.
type Resizes interface {
	// Add takes a pod that was admitted and returns it as allocated.
	Add(pod *v1.Pod) *v1.Pod
	// Update takes a pod whose spec may ask for something else, or that waits for room.
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
	// Node adds to an admission's inputs what is known of the node; may be nil.
	Node func(*admit.Inputs)
	// Mirrors may be nil: static pods are not shown in an API.
	Mirrors Mirrors
	// Probes are told when containers of a pod change; may be nil.
	Probes interface{ Changed(uid types.UID) }
	// PublishStatus makes a pod's status anew (Syncer.PublishStatus); may be nil.
	PublishStatus func(ctx context.Context, uid types.UID)
	// Objects may be nil: nothing is fetched ahead.
	Objects Objects
	// Resizes may be nil: pods have what their specs say.
	Resizes Resizes
	// Statuses may be nil: nobody but this agent sees them.
	Statuses Statuses
	// Events may be nil: they are only published.
	Events Events
	// Tidy is asked for when housekeeping should come soon; may be nil.
	Tidy func()
	Bus  *trace.Bus
}

// Manager handles what the syncLoop hands on. Its methods are called by the loop only.
type Manager struct {
	cfg      Config
	sources  atomic.Bool // every source has reported
	rejected map[types.UID]bool
}

// New returns a manager that desires nothing.
func New(cfg Config) (*Manager, error) {
	if cfg.Workers == nil || cfg.Seen == nil || cfg.Store == nil {
		return nil, errors.New("pods: Config needs Workers, Seen and Store")
	}
	return &Manager{cfg: cfg, rejected: map[types.UID]bool{}}, nil
}

// SourcesReady reports whether every source has told what it has, and all of it was taken. Anybody may ask.
func (m *Manager) SourcesReady() bool { return m.sources.Load() }

// Store holds the desired pods and what became of them. Safe for concurrent use.
type Store struct {
	mu   sync.Mutex
	pods map[types.UID]*entry
	gone map[types.UID]time.Time // when nothing was left of a pod, until the runtime shows so
}

type entry struct {
	pod     *v1.Pod
	seenAt  time.Time
	status  v1.PodStatus
	said    trace.PodStatus // what was last published
	started bool
	ready   bool
	ending  bool
	// initWait is open while the pod waits for an init container; On is empty when it is not.
	initWait trace.Wait
	initSpan trace.Span
	network  string    // why the pod network is not ready, as last published
	ended    time.Time // when it was told to end
	again    *v1.Pod   // it was added anew since, and starts when it is gone
	// failed makes the pod Failed whatever its containers do: it gave way, or ran too long.
	failed *podstatus.Reason
	// shown is the version that the volumes show, once all runs.
	shown *v1.Pod
	// after are the pods that give way to this one: it starts when they have.
	after []types.UID
}

// NewStore returns an empty store.
func NewStore() *Store {
	return &Store{pods: map[types.UID]*entry{}, gone: map[types.UID]time.Time{}}
}

// put notes a desired pod, or what it is now. Of one that was added anew while it goes, the
// next life is meant.
func (s *Store) put(pod *v1.Pod, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch e := s.pods[pod.UID]; {
	case e == nil:
		// What the API has is what was true before this agent's time.
		s.pods[pod.UID] = &entry{pod: pod, seenAt: now, status: *pod.Status.DeepCopy()}
	case e.again != nil:
		e.again = pod
	default:
		e.pod = pod
	}
}

// again notes that a pod which is here was added anew; false when it is not here. One
// on its way out starts again when it is gone.
func (s *Store) again(pod *v1.Pod) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.pods[pod.UID]
	switch {
	case e == nil:
		return false
	case e.ended.IsZero():
		e.pod = pod // another source has it too
	default:
		e.again = pod
	}
	return true
}

// with calls f on a pod's entry, if there is one.
func (s *Store) with(uid types.UID, f func(*entry)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.pods[uid]; e != nil {
		f(e)
	}
}

// drop forgets a pod of which there never was anything.
func (s *Store) drop(uid types.UID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.pods, uid)
}

// retire forgets a pod of which nothing is left. If it was added anew meanwhile, that
// takes its place. say publishes the end of what was known and the beginning of what
// comes, under the lock so that nothing comes in between; either may be nil.
func (s *Store) retire(uid types.UID, say func(old, next *entry)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	s.gone[uid] = now
	old := s.pods[uid]
	delete(s.pods, uid)
	var next *entry
	if old != nil && old.again != nil {
		next = &entry{pod: old.again, seenAt: now, status: *old.again.Status.DeepCopy()}
		s.pods[uid] = next
	}
	say(old, next)
}

// outlived reports whether an observation made at that time is older than the end of
// the pod: the runtime has yet to tell.
func (s *Store) outlived(uid types.UID, at time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	gone, ok := s.gone[uid]
	return ok && !at.After(gone)
}

// forgetGone forgets the ends of pods that are not seen any more.
func (s *Store) forgetGone(seen map[types.UID]*observe.Pod) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for uid := range s.gone {
		if seen[uid] == nil {
			delete(s.gone, uid)
		}
	}
}

// ending are the pods that were told to end and are still here.
func (s *Store) ending() []*v1.Pod {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []*v1.Pod
	for _, e := range s.pods {
		if !e.ended.IsZero() {
			out = append(out, e.pod)
		}
	}
	return out
}

// all are the pods that have not been told to end.
func (s *Store) all() []*v1.Pod {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []*v1.Pod
	for _, e := range s.pods {
		if e.ended.IsZero() {
			out = append(out, e.pod)
		}
	}
	return out
}

// Known reports whether the pod is desired or still on its way out.
func (s *Store) Known(uid types.UID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.pods[uid] != nil
}

// Pods returns copies of all pods with their statuses, for /pods.
func (s *Store) Pods() []v1.Pod {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]v1.Pod, 0, len(s.pods))
	for _, e := range s.pods {
		p := e.pod.DeepCopy()
		p.Status = *e.status.DeepCopy()
		out = append(out, *p)
	}
	return out
}

// active are the pods that take part in admission: neither ending nor over.
func (s *Store) active(but types.UID) []*v1.Pod {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []*v1.Pod
	for uid, e := range s.pods {
		over := e.status.Phase == v1.PodSucceeded || e.status.Phase == v1.PodFailed
		switch {
		case uid == but:
		case e.again != nil:
			out = append(out, e.again)
		case e.ended.IsZero() && !over:
			out = append(out, e.pod)
		}
	}
	return out
}
