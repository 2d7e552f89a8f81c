package volume

import (
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// Notices are changes for a Manager, which handles each once. They are built before the Manager and its plugins, so
// that the parts that plugins use can report changes. They keep at most one entry for each pod and each plugin. Safe
// for concurrent use; no method blocks.
type Notices struct {
	wake chan struct{}

	mu      sync.Mutex
	changed map[types.UID][]string // the volumes' names in the pod; empty for all
	// retry and reschedule have names of plugins.
	retry, reschedule map[string]bool
}

// NewNotices returns an empty set.
func NewNotices() *Notices {
	return &Notices{wake: make(chan struct{}, 1), changed: map[types.UID][]string{}, retry: map[string]bool{}, reschedule: map[string]bool{}}
}

// Refresh requests an update of a pod's volumes, by default of all of them, because their content changed.
func (n *Notices) Refresh(uid types.UID, volumes ...string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if old, known := n.changed[uid]; !known || len(volumes) == 0 {
		n.changed[uid] = volumes
	} else if len(old) > 0 {
		all := slices.Concat(old, volumes)
		slices.Sort(all)
		n.changed[uid] = slices.Compact(all)
	}
	n.notify()
}

// Retry requests that failed operations of a plugin are retried now, because their cause may be gone.
func (n *Notices) Retry(plugin string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.retry[plugin] = true
	n.notify()
}

// Reschedule requests that a plugin is asked again when its volumes must be set up again, because some must be from now on.
func (n *Notices) Reschedule(plugin string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.reschedule[plugin] = true
	n.notify()
}

func (n *Notices) notify() {
	select {
	case n.wake <- struct{}{}:
	default:
	}
}

// act passes the notices to the manager and clears them.
func (n *Notices) act(m *Manager) {
	n.mu.Lock()
	changed, retry, reschedule := n.changed, n.retry, n.reschedule
	n.changed, n.retry, n.reschedule = map[types.UID][]string{}, map[string]bool{}, map[string]bool{}
	n.mu.Unlock()
	for uid, volumes := range changed {
		m.Refresh(uid, volumes...)
	}
	for plugin := range retry {
		m.Retry(plugin)
	}
	for plugin := range reschedule {
		m.Reschedule(plugin)
	}
}
