package mirror

import (
	"context"
	"errors"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeloupe/kubeloupe/agent/kubeapi"
	"github.com/kubeloupe/kubeloupe/agent/podspec"
	"github.com/kubeloupe/kubeloupe/trace"
)

// Config is what a Manager needs.
type Config struct {
	// Client creates and deletes pods.
	Client kubeapi.PodsGetter
	// Node is the node's name.
	Node string
	// NodeUID returns the UID of the node's API object; "" while the node is not registered, or is being deleted: then no mirror is
	// created. Call Wake when that changes.
	NodeUID func() types.UID
	// Known is where the manager keeps its state; nil means a new one.
	Known *Known
	// Changed is called with a static pod's UID and its mirror whenever the mirror is new or changed, so that its status can be
	// compared. It is called without locks held; may be nil.
	Changed func(ctx context.Context, uid types.UID, mirror *v1.Pod)
	// Bus may be nil.
	Bus *trace.Bus
}

// Manager creates and deletes the mirrors of static pods. All methods are safe for concurrent use; pods given to it,
// and those that it returns, must not change.
type Manager struct {
	*Known
	cfg  Config
	wake chan struct{}
}

// lag is how long the watch may take to deliver a new mirror; after that, the mirror counts as deleted.
const lag = 5 * time.Second

// New returns a manager without pods.
func New(c Config) (*Manager, error) {
	if c.Client == nil || c.Node == "" || c.NodeUID == nil {
		return nil, errors.New("mirror: Config needs Client, Node and NodeUID")
	}
	if c.Known == nil {
		c.Known = NewKnown()
	}
	return &Manager{Known: c.Known, cfg: c, wake: make(chan struct{}, 1)}, nil
}

// Wake makes Run check everything again.
func (m *Manager) Wake() {
	select {
	case m.wake <- struct{}{}:
	default:
	}
}

// Add reports that a static pod is desired. While an earlier one with the same full name exists, that one keeps the mirror. Adding
// it again has no effect.
func (m *Manager) Add(p *v1.Pod) {
	defer m.Wake()
	m.mu.Lock()
	defer m.mu.Unlock()
	name := podspec.FullName(p)
	list := m.statics[name]
	if i := slices.IndexFunc(list, func(q *v1.Pod) bool { return q.UID == p.UID }); i >= 0 {
		list[i] = p
		return
	}
	m.statics[name] = append(list, p)
}

// Remove reports that a static pod is gone and no longer desired.
func (m *Manager) Remove(uid types.UID) {
	defer m.Wake()
	m.mu.Lock()
	defer m.mu.Unlock()
	for name, list := range m.statics {
		list = slices.DeleteFunc(list, func(q *v1.Pod) bool { return q.UID == uid })
		if m.statics[name] = list; len(list) == 0 {
			delete(m.statics, name)
		}
	}
}

// Complete reports that every source has reported and that its pods were added: mirrors without a static pod can be deleted.
func (m *Manager) Complete() {
	defer m.Wake()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.complete = true
}

// Set takes all mirror pods that the API server has. It does not wait.
func (m *Manager) Set(ctx context.Context, pods []*v1.Pod) {
	type change struct {
		uid    types.UID
		mirror *v1.Pod
	}
	var changed []change
	m.mu.Lock()
	next := make(map[string]*v1.Pod, len(pods))
	stale := make(map[types.UID]bool, len(m.ended))
	for _, p := range pods {
		name := podspec.FullName(p)
		if m.ended[p.UID] {
			stale[p.UID] = true
			continue
		}
		next[name] = p
		delete(m.made, name)
		if s := m.holder(name); s != nil && m.mirrors[name] != p && shows(p, s) {
			changed = append(changed, change{s.UID, p})
		}
	}
	for name, x := range m.made {
		if time.Since(x.at) > lag {
			delete(m.made, name)
			continue
		}
		next[name] = x.mirror
	}
	m.mirrors, m.ended, m.listed = next, stale, true
	m.mu.Unlock()
	if m.cfg.Changed != nil {
		for _, c := range changed {
			m.cfg.Changed(ctx, c.uid, c.mirror)
		}
	}
	m.Wake()
}
