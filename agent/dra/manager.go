package dra

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/kubeloupe/kubeloupe/agent/dra/checkpoint"
	"github.com/kubeloupe/kubeloupe/agent/dra/driver"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/sorting"
)

// Claims reads ResourceClaims.
type Claims interface {
	// Get returns a claim. The error for one that does not exist is the API's NotFound.
	Get(ctx context.Context, namespace, name string) (*resourceapi.ResourceClaim, error)
}

// Config is what a Manager needs.
type Config struct {
	// Dir is the kubelet's root directory, where the state file is. An absolute path.
	Dir      string
	NodeName string
	// Claims and Slices are those of the cluster; nil without an API server.
	Claims Claims
	Slices driver.Slices
	// Pod returns the newest version of a pod, nil if it is not known. Its status has the names of claims.
	Pod func(uid types.UID) *v1.Pod
	// Active returns the pods that run or will run, also those that are terminating. It is called only after Complete returns true.
	Active func() []*v1.Pod
	// Complete reports whether all sources of pods have reported.
	Complete func() bool
	// Retry requests another attempt for pods that waited for a driver; it must not block. It may be nil.
	Retry func(uids []types.UID)
	// HealthChanged is called with the pods of which a device's health has changed; it must not block. If it is nil, the health of devices
	// is not requested.
	HealthChanged func(uids []types.UID)
	// HealthMessages says that statuses show the drivers' messages about devices (feature gate ResourceHealthStatusMessage).
	HealthMessages bool
	// OptionalCalls says that allocations may leave out calls (DRAOptionalNodeOperations), PodGroups that claims may be those of a pod's
	// group (DRAWorkloadResourceClaims).
	OptionalCalls, PodGroups bool
	Bus                      *trace.Bus
}

// Manager has the claims of the node. Safe for concurrent use; the calls for one pod must be serial, except Container, Dynamic, Status
// and Ready.
type Manager struct {
	cfg     Config
	drivers *driver.Drivers
	health  *health
	nudge   chan struct{} // reconcile soon

	saving     sync.Mutex    // taken before mu, while the state file is written
	describing sync.Mutex    // taken before mu, while claims are described
	laterKick  chan struct{} // there is something in later

	mu     sync.Mutex
	claims map[types.NamespacedName]*claim
	// waiting are the pods that wait for a driver, with its name.
	waiting map[types.UID]string
	// blocked are the pods that wait until a claim is unprepared.
	blocked map[types.UID]types.NamespacedName
	// changes counts the changes of what the state file has, saved is the count when it was written.
	changes, saved uint64
	// unsaved are the pods whose claims were given back, with the count of that change, until the state file has it.
	unsaved map[types.UID]uint64
	// refusals are claims that no pod uses, with the last pod that could not use them.
	refusals map[types.NamespacedName]refusal
	// touched are the claims that have changed since they were described, later those to be described when there is time.
	touched, later map[types.NamespacedName]bool
}

// claim is a claim that pods of this node use.
type claim struct {
	checkpoint.Claim
	// prepared says that all drivers have prepared it since the agent started.
	prepared bool
	// unpreparing says that its drivers are or were called to unprepare it for its last pod. No other pod can use it before they all have.
	unpreparing bool
	// state is what is published of the claim, since when it has that state, and failure why the last calls failed; nil if they did not.
	state   trace.ClaimState
	since   time.Time
	failure *Error
	// busy is closed when the calls about the claim have ended; nil while there are none. While it is not nil, only who set it changes the
	// claim.
	busy chan struct{}
}

func (c *claim) key() types.NamespacedName {
	return types.NamespacedName{Namespace: c.Namespace, Name: c.ClaimName}
}

// New reads the state file. One that cannot be read is an error, as upstream, and is not changed: which devices containers have would be
// lost.
func New(cfg Config) (*Manager, error) {
	if !filepath.IsAbs(cfg.Dir) {
		return nil, fmt.Errorf("dra: Config.Dir %q: want an absolute path", cfg.Dir)
	}
	if cfg.Pod == nil || cfg.Active == nil || cfg.Complete == nil {
		return nil, errors.New("dra: Config needs Pod, Active and Complete")
	}
	if cfg.Retry == nil {
		cfg.Retry = func([]types.UID) {}
	}
	m := &Manager{
		cfg: cfg, nudge: make(chan struct{}, 1), laterKick: make(chan struct{}, 1), claims: map[types.NamespacedName]*claim{}, waiting: map[types.UID]string{},
		blocked: map[types.UID]types.NamespacedName{}, unsaved: map[types.UID]uint64{}, refusals: map[types.NamespacedName]refusal{}, touched: map[types.NamespacedName]bool{}, later: map[types.NamespacedName]bool{},
	}
	known, err := checkpoint.Read(m.path())
	if err != nil {
		return nil, fmt.Errorf("the state of ResourceClaims cannot be restored: %w: drain this node and remove the file before restarting", err)
	}
	for _, k := range known {
		c := &claim{Claim: k, state: trace.ClaimRestored, since: time.Now()}
		if c.PodUIDs == nil {
			c.PodUIDs = sets.New[string]()
		}
		if c.DriverState == nil {
			c.DriverState = map[string]checkpoint.Driver{}
		}
		m.claims[c.key()] = c
		m.postpone(c.key())
	}
	m.health = newHealth()
	if cfg.HealthChanged != nil {
		m.restoreHealth()
	}
	drivers := driver.Config{NodeName: cfg.NodeName, Slices: cfg.Slices, Usable: m.usable, Bus: cfg.Bus}
	if cfg.HealthChanged != nil {
		drivers.Health = m
	}
	m.drivers, err = driver.New(drivers)
	return m, err
}

// Register implements pluginwatch.Handler.
func (m *Manager) Register(ctx context.Context, name, endpoint string, versions []string) error {
	return m.drivers.Register(ctx, name, endpoint, versions)
}

// Deregister implements pluginwatch.Handler.
func (m *Manager) Deregister(ctx context.Context, name, endpoint string) {
	m.drivers.Deregister(ctx, name, endpoint)
}

// usable retries the pods that wait for a driver.
func (m *Manager) usable(name string) {
	m.mu.Lock()
	var uids []types.UID
	for uid, waits := range m.waiting {
		if waits == name {
			uids = append(uids, uid)
			delete(m.waiting, uid)
		}
	}
	m.mu.Unlock()
	m.reconcileSoon()
	if len(uids) > 0 {
		slices.Sort(uids)
		m.cfg.Retry(uids)
	}
}

// unblock retries the pods that wait for claims that are unprepared now.
func (m *Manager) unblock() {
	m.mu.Lock()
	var uids []types.UID
	for uid, key := range m.blocked {
		if m.claims[key] == nil {
			uids = append(uids, uid)
			delete(m.blocked, uid)
		}
	}
	m.mu.Unlock()
	if len(uids) > 0 {
		slices.Sort(uids)
		m.cfg.Retry(uids)
	}
}

// waits records for which driver a pod waits because of err, if any.
func (m *Manager) waits(uid types.UID, err error) {
	e, ok := errors.AsType[*Error](err)
	m.mu.Lock()
	if ok && e.Driver != "" {
		m.waiting[uid] = e.Driver
	} else {
		delete(m.waiting, uid)
	}
	if !ok || e.Fault != trace.FaultUnpreparing {
		delete(m.blocked, uid)
	}
	m.mu.Unlock()
	if ok && e.Fault == trace.FaultDriverMissing {
		if _, missing := m.drivers.Get(e.Driver); missing == nil { // it has registered since
			m.usable(e.Driver)
		}
	}
}

func (m *Manager) path() string { return filepath.Join(m.cfg.Dir, checkpoint.Name) }

// save writes the state file, if anything has changed since. When it returns nil, the changes that its caller made are on the disk.
func (m *Manager) save() error {
	m.saving.Lock()
	defer m.saving.Unlock()
	m.mu.Lock()
	at := m.changes
	if at == m.saved {
		m.mu.Unlock()
		return nil
	}
	all := make([]checkpoint.Claim, 0, len(m.claims))
	for _, c := range m.claims {
		all = append(all, clone(&c.Claim))
	}
	m.mu.Unlock()
	sorting.Stable(all, byName)
	if err := checkpoint.Write(m.path(), all); err != nil {
		return &Error{Fault: trace.FaultState, Err: err}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.saved = at
	maps.DeleteFunc(m.unsaved, func(_ types.UID, change uint64) bool { return change <= at })
	return nil
}
