package status

import (
	"fmt"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/kubeloupe/kubeloupe/agent/kubeapi"
	"github.com/kubeloupe/kubeloupe/agent/podspec"
	"github.com/kubeloupe/kubeloupe/trace"
)

// defaultWriters is the number of concurrent writes.
const defaultWriters = 8

// DefaultSettle is a Settle that combines the changes of a pod start into one write.
const DefaultSettle = 500 * time.Millisecond

// Mirrors has the mirror pods of static pods.
type Mirrors interface {
	// Mirror returns the mirror pod of this version of a static pod; nil if there is none.
	Mirror(uid types.UID) *v1.Pod
}

// Config is what a Manager needs.
type Config struct {
	// Client patches and deletes pods; nil without an API server (standalone).
	Client kubeapi.PodsGetter
	// Mirrors may be nil if there are no static pods.
	Mirrors Mirrors
	// Running reports whether a pod may have running containers: until it has none, no terminal phase is written to the API. May be
	// nil.
	Running func(uid types.UID) bool
	// Writers is the number of concurrent writes; 0 means 8. A write that hangs counts only for a limited time.
	Writers int
	// Settle is how long a small change waits for the next one if it is a step of a start, or follows a write closely; 0 means no
	// wait. A change of phase or readiness, of a pod that is being deleted, or after a quiet time never waits. It saves writes of
	// pods that start fast or change often.
	Settle time.Duration
	// Busy reports whether pods wait for the runtime: then the first status of a pod that has not begun to start, and what a pod that
	// is being deleted does before it is gone, waits for a limited time. Working reports whether the runtime works on a pod: then the latter
	// waits for a shorter one. They must not block. May be nil.
	Busy, Working func() bool
	// Bus may be nil.
	Bus *trace.Bus
}

// Manager writes the agent's statuses of pods to the API. All methods are safe for concurrent use; the pods given to it
// must not change afterwards.
type Manager struct {
	cfg  Config
	wake chan struct{}

	mu      sync.Mutex
	entries map[types.UID]*entry
	queue   []*entry        // pods to write, in order
	busy    map[*entry]bool // running writes
	fails   int             // failures in a row to reach the API server
	resume  time.Time
}

// entry is one pod.
//
// Many fields: an entry has the requested status, what the API has, and the write under way, all under one lock.
type entry struct {
	pod    *v1.Pod // as last given
	static bool
	api    *object // the API's object; nil while a static pod has no mirror

	want    v1.PodStatus
	version uint64 // of want; 0 if none was set
	sent    uint64 // version that the API has
	held    bool   // part of want was held back
	gone    bool   // nothing of the pod is left on the node
	deleted bool   // and no action is left in the API
	futile  string // the patch that had no effect

	since  time.Time // the first change that is not written yet
	span   trace.Span
	queued bool
	busy   bool
	began  time.Time // when the running write began
	again  bool      // write again when it is not busy
	tries  int
	next   time.Time // no write before, after a failure
	settle time.Time // no write before, to wait for more changes
	yields bool      // nor while others need the runtime, for a limited time
	asks   bool      // after settle, a first status waits longer if pods wait for the runtime by then

	taken    uint64    // version in the running or last write
	wrote    time.Time // when the last patch was answered
	followed int       // waits in a row of changes that followed a write closely

	wait  trace.Wait
	waits trace.Span
}

// object is the part of the API's object that is needed here.
type object struct {
	uid      types.UID
	version  string
	deleting bool
	status   v1.PodStatus
}

func objectOf(p *v1.Pod) *object {
	return &object{uid: p.UID, version: p.ResourceVersion, deleting: p.DeletionTimestamp != nil, status: p.Status}
}

// newer reports whether o is later than old, which may be another object: one that replaces a mirror pod is later than any answer about the
// mirror pod before it. The API server counts versions of all pods together.
func (o *object) newer(old *object) bool {
	if old == nil {
		return true
	}
	c, err := resourceversion.CompareResourceVersion(o.version, old.version)
	return err != nil || c > 0
}

// New returns a manager without pods.
func New(c Config) (*Manager, error) {
	if c.Writers < 0 {
		return nil, fmt.Errorf("status: %d writers: want at least 1", c.Writers)
	}
	if c.Writers == 0 {
		c.Writers = defaultWriters
	}
	return &Manager{cfg: c, wake: make(chan struct{}, 1), entries: map[types.UID]*entry{}, busy: map[*entry]bool{}}, nil
}

// Status returns the latest status of a pod; false if none was set.
func (m *Manager) Status(uid types.UID) (v1.PodStatus, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	e := m.entries[uid]
	if e == nil || e.version == 0 {
		return v1.PodStatus{}, false
	}
	return *e.want.DeepCopy(), true
}

// Written reports whether the API has the latest status of a pod, or cannot get it: the pod has none, or no object.
func (m *Manager) Written(uid types.UID) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	e := m.entries[uid]
	return m.cfg.Client == nil || e == nil || e.deleted || e.api == nil || e.sent >= e.version && !e.held
}

// entry returns the pod's entry, and updates its API object from p.
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
	case e.api == nil:
		e.learn(m.mirror(p.UID))
	}
	return e
}

// mirror returns the mirror pod of a static pod; nil if there is none.
func (m *Manager) mirror(uid types.UID) *object {
	if m.cfg.Mirrors == nil {
		return nil
	}
	p := m.cfg.Mirrors.Mirror(uid)
	if p == nil {
		return nil
	}
	return objectOf(p)
}

// learn updates the API object, unless there is none or the entry has a later one.
func (e *entry) learn(o *object) {
	if o != nil && o.newer(e.api) {
		e.api = o
	}
}

// last returns the earlier status: the one that was set, otherwise the API's.
func (e *entry) last() *v1.PodStatus {
	switch {
	case e.version > 0:
		return &e.want
	case e.api != nil:
		return &e.api.status
	}
	return &e.pod.Status
}
