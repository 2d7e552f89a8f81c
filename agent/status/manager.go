package status

import (
	"fmt"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	corev1 "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/kubeloupe/kubeloupe/agent/podspec"
	"github.com/kubeloupe/kubeloupe/trace"
)

// defaultWriters is how many pods are written about at a time.
const defaultWriters = 8

// DefaultSettle is a Settle that combines the changes of a pod start into one write.
const DefaultSettle = 500 * time.Millisecond

// Mirrors knows the API's objects of static pods.
type Mirrors interface {
	// Mirror returns the API's object that mirrors this version of a static pod; nil when there is none.
	Mirror(uid types.UID) *v1.Pod
}

// Config is what a Manager needs.
type Config struct {
	// Client patches and deletes pods; nil when there is no API server (standalone).
	Client corev1.PodsGetter
	// Mirrors may be nil when there are no static pods.
	Mirrors Mirrors
	// Running reports whether a pod may have running containers: until it has none, no terminal phase is written to the API. May be
	// nil.
	Running func(uid types.UID) bool
	// Writers is how many pods are written about at a time; 0 is 8. A write that hangs does not count for long.
	Writers int
	// Settle is how long a change may wait for the next one when it changes neither phase nor readiness
	// and the pod is not ending; 0 is not at all. It saves a write of a pod that starts fast.
	Settle time.Duration
	// Bus may be nil.
	Bus *trace.Bus
}

// Manager keeps the API's statuses of pods as the agent knows them. All methods are safe for
// concurrent use; the pods given to it must not change afterwards.
type Manager struct {
	cfg  Config
	wake chan struct{}

	mu      sync.Mutex
	entries map[types.UID]*entry
	queue   []*entry        // what has to be looked at, in order
	busy    map[*entry]bool // those under way
	fails   int             // answers in a row that did not come
	resume  time.Time
}

// entry is one pod.
//
// Many fields: a status has what was requested, what the API has, and the write under way, all under one lock.
type entry struct {
	pod    *v1.Pod // as last given
	static bool
	api    *object // what the API has; nil while a static pod has no mirror

	want    v1.PodStatus
	version uint64 // of want; 0 when none was set
	sent    uint64 // version that the API has
	held    bool   // part of want was held back
	gone    bool   // nothing of the pod is left here
	deleted bool   // and nothing is to be done in the API any more
	futile  string // the patch that changed nothing

	since  time.Time // the first change that has not been written
	span   trace.Span
	queued bool
	busy   bool
	began  time.Time // when it was begun that is under way
	again  bool      // look once more when it is not busy
	tries  int
	next   time.Time // not before, after a failure
	settle time.Time // not before, in case that more changes
	wait   trace.Wait
	waits  trace.Span
}

// object is what the API has of a pod, as far as it matters here.
type object struct {
	uid      types.UID
	version  string
	deleting bool
	status   v1.PodStatus
}

func objectOf(p *v1.Pod) *object {
	return &object{uid: p.UID, version: p.ResourceVersion, deleting: p.DeletionTimestamp != nil, status: p.Status}
}

// newer reports whether o is later than old, or of another object.
func (o *object) newer(old *object) bool {
	if old == nil || o.uid != old.uid {
		return true
	}
	c, err := resourceversion.CompareResourceVersion(o.version, old.version)
	return err != nil || c > 0
}

// New returns a manager that knows no pods.
func New(c Config) (*Manager, error) {
	if c.Writers < 0 {
		return nil, fmt.Errorf("status: %d writers: want at least 1", c.Writers)
	}
	if c.Writers == 0 {
		c.Writers = defaultWriters
	}
	return &Manager{cfg: c, wake: make(chan struct{}, 1), entries: map[types.UID]*entry{}, busy: map[*entry]bool{}}, nil
}

// Status returns the latest status of a pod; false when none was set.
func (m *Manager) Status(uid types.UID) (v1.PodStatus, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	e := m.entries[uid]
	if e == nil || e.version == 0 {
		return v1.PodStatus{}, false
	}
	return *e.want.DeepCopy(), true
}

// entry returns the pod's entry, and notes what p tells of the API.
func (m *Manager) entry(p *v1.Pod) *entry {
	e := m.entries[p.UID]
	if e == nil {
		e = &entry{static: podspec.IsStatic(p)}
		m.entries[p.UID] = e
	}
	e.pod = p
	switch {
	case !e.static:
		e.learn(objectOf(p))
	case e.api == nil && m.cfg.Mirrors != nil:
		if mirror := m.cfg.Mirrors.Mirror(p.UID); mirror != nil {
			e.learn(objectOf(mirror))
		}
	}
	return e
}

// learn notes what the API has, unless something later is known.
func (e *entry) learn(o *object) {
	if o.newer(e.api) {
		e.api = o
	}
}

// last is the status before: what was set, else what the API has.
func (e *entry) last() *v1.PodStatus {
	switch {
	case e.version > 0:
		return &e.want
	case e.api != nil:
		return &e.api.status
	}
	return &e.pod.Status
}
