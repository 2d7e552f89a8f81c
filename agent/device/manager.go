package device

import (
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeloupe/kubeloupe/agent/numa"
	"github.com/kubeloupe/kubeloupe/trace"
)

// Config is what a Manager needs.
type Config struct {
	// Dir is the directory of the sockets and of the checkpoint: ROOT/device-plugins. An absolute path.
	Dir string
	// Ended reports whether nothing of a pod runs or will run again, so that its devices are free. It is called only after Complete
	// returns true.
	Ended func(uid types.UID) bool
	// Complete reports whether all sources of pods have reported.
	Complete func() bool
	// Active returns the pods of which something runs or will run, also those that are terminating.
	Active func() []*v1.Pod
	// Runs reports whether something of a pod runs: then it keeps the devices that it has.
	Runs func(uid types.UID) bool
	// Exists reports whether the runtime has anything of a pod, whether it runs or not.
	Exists func(uid types.UID) bool
	// NUMANodes are the IDs of the machine's NUMA nodes.
	NUMANodes []int
	// Strict says that the topology manager's policy rejects pods whose resources do not come from the same NUMA nodes. With one node, they do.
	Strict bool
	// Changed is called when the numbers of devices have changed; it must not block. It may be nil.
	Changed func()
	// HealthChanged is called with the pods of which a device's health has changed; it must not block. It may be nil.
	HealthChanged func(uids []types.UID)
	Bus           *trace.Bus
}

// Manager has the devices of the node. Safe for concurrent use.
type Manager struct {
	cfg   Config
	dirty chan struct{} // the checkpoint is to be written
	fresh bool          // there was no checkpoint

	saving sync.Mutex // taken before mu, while the checkpoint is written

	mu        sync.Mutex
	resources map[string]*resourceState
	holds     holds
	// near are the NUMA nodes that the topology manager chose for containers, by pod and container; 0 for any.
	near map[types.UID]map[string]numa.Mask
	// deferred are pods that were admitted although plugins that they need have not registered since the agent started.
	deferred map[types.UID]bool
	// gone are resources that were removed: the node keeps saying that it has none of them. Of each, it has the devices that containers had
	// then: what their plugin said last of them counts until one lists them again.
	gone map[string]list
	// blind says that the checkpoint could not be read: containers that run may have devices that are not known here.
	blind bool
	// registry connects plugins; nil while Run does not run.
	registry *registry
}

// resourceState is what is known of a resource. Many plugins may offer it, one after the other or, during an upgrade, two at a time.
type resourceState struct {
	// plugins are the connected ones; the last one registered counts.
	plugins []*plugin
	// devices are those of the plugin that counts. While none is connected, they are the last ones, and none is healthy.
	devices list
	// listed says that a plugin has listed its devices, now or before the agent restarted.
	listed bool
	// preStart says that PreStartContainer must be called, as the last plugin said.
	preStart bool
	// arrived is closed when a plugin lists its devices; nil if one has since the agent started.
	arrived chan struct{}
	// stopped is when the last plugin ended; zero while one is connected.
	stopped time.Time
	expiry  *time.Timer
}

// primary returns the plugin that counts, nil if none is connected.
func (r *resourceState) primary() *plugin {
	if r == nil || len(r.plugins) == 0 {
		return nil
	}
	return r.plugins[len(r.plugins)-1]
}

// known returns a resource that a plugin has listed, nil if there is none.
func (m *Manager) known(name string) *resourceState {
	if r := m.resources[name]; r != nil && r.listed {
		return r
	}
	return nil
}

// New checks cfg. It starts nothing: Restore reads the checkpoint, and Run serves plugins.
func New(cfg Config) (*Manager, error) {
	if !filepath.IsAbs(cfg.Dir) {
		return nil, fmt.Errorf("device: Config.Dir %q: want an absolute path", cfg.Dir)
	}
	if cfg.Ended == nil || cfg.Complete == nil || cfg.Active == nil || cfg.Runs == nil || cfg.Exists == nil {
		return nil, errors.New("device: Config needs Ended, Complete, Active, Runs and Exists")
	}
	if cfg.Changed == nil {
		cfg.Changed = func() {}
	}
	if cfg.HealthChanged == nil {
		cfg.HealthChanged = func([]types.UID) {}
	}
	return &Manager{
		cfg: cfg, dirty: make(chan struct{}, 1), resources: map[string]*resourceState{}, holds: holds{}, near: map[types.UID]map[string]numa.Mask{}, gone: map[string]list{}, deferred: map[types.UID]bool{},
	}, nil
}
