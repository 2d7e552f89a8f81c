package volume

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeloupe/kubeloupe/agent/events"
	"github.com/kubeloupe/kubeloupe/agent/semaphore"
	"github.com/kubeloupe/kubeloupe/agent/volume/selinux"
	"github.com/kubeloupe/kubeloupe/trace"
)

// defaultPeriod is the period of the reconciler. It is only a safety net.
const defaultPeriod = 5 * time.Minute

// Config is what a Manager needs.
type Config struct {
	// RootDir is the kubelet's root directory, absolute.
	RootDir string
	// The first of the Plugins that supports a volume is used.
	Plugins []Plugin
	Bus     *trace.Bus
	// Concurrency is the number of concurrent operations; 0 means 4 per CPU.
	Concurrency int
	// Period is the period of the reconciler, a safety net; 0 means 5 minutes.
	Period time.Duration

	// Notices are the changes that others report; may be nil.
	Notices *Notices
	// Claims resolves persistentVolumeClaim and ephemeral volumes; nil without an API server.
	Claims Claims
	// Events records volumes that cannot be mounted; may be nil.
	Events events.Publisher
	// NodeLabels are the node's labels, for the node affinity of persistent volumes. If nil, node affinity is not
	// checked.
	NodeLabels func() map[string]string
	// Settled, if set, is called when all volumes of a pod are mounted after a Mount has failed.
	Settled func(uid types.UID)
	// InUseChanged, if set, is called when the result of InUse may have changed. It must not block.
	InUseChanged func()
	// SELinux translates SELinux options, with the node's policy; nil on a node without SELinux: then no volume has a label.
	SELinux selinux.Translate
	// SELinuxAllModes says that volumes of all access modes are mounted with labels (the gate SELinuxMount), not only those of
	// ReadWriteOncePod.
	SELinuxAllModes bool
	// BeforeTearDown, if set, is called before a volume is torn down, with the pod's directory and the volume's name on
	// the node: mounts of its subpaths are removed first.
	BeforeTearDown func(ctx context.Context, podDir, volume string) error
}

// Claims resolves a pod's claims. agent/volume/claim implements it.
type Claims interface {
	// Resolve returns the claim of a volume and the persistent volume bound to it.
	Resolve(ctx context.Context, pod *v1.Pod, v *v1.Volume) (*v1.PersistentVolumeClaim, *v1.PersistentVolume, error)
	// Grow calls do to expand the volume to its [NodeSize], and stores the result in the claim's status. It returns the updated claim.
	Grow(ctx context.Context, pod *v1.Pod, pvc *v1.PersistentVolumeClaim, pv *v1.PersistentVolume, do GrowFunc) (*v1.PersistentVolumeClaim, error)
}

// Manager reconciles the desired volumes of pods with the existing ones. Safe for concurrent use.
type Manager struct {
	cfg     Config
	plugins map[string]Plugin
	slots   *semaphore.Slots
	kicked  chan struct{}
	stopped chan struct{}

	mu       sync.Mutex
	running  bool
	arrived  uint64 // number of pods so far
	attempts uint64 // number of finished attempts
	pods     map[types.UID]*pod
	states   map[key]*state
	// left are volumes of an earlier agent that matter to others, whose pods are not known yet.
	left   map[key]leftover
	looked sync.Once // for left
	// staged are volumes that no pod has any more, and that are still on the node.
	staged map[stagedKey]*staged
	// reported are the volumes that the node's status lists as in use, listed those of the latest InUse, for the next status.
	reported, listed map[v1.UniqueVolumeName]bool
	swept            Counts // of the last pass over unknown pods
	turns            uint64 // number of shared volumes that pods wanted so far
	labels           map[selinux.Count]int
}

// New checks the configuration. It starts nothing; Run does.
func New(cfg Config) (*Manager, error) {
	if !filepath.IsAbs(cfg.RootDir) {
		return nil, fmt.Errorf("volume: Config.RootDir %q: want an absolute path", cfg.RootDir)
	}
	if len(cfg.Plugins) == 0 {
		return nil, errors.New("volume: Config.Plugins is empty")
	}
	m := &Manager{
		plugins: map[string]Plugin{}, kicked: make(chan struct{}, 1), stopped: make(chan struct{}),
		pods: map[types.UID]*pod{}, states: map[key]*state{}, staged: map[stagedKey]*staged{}, labels: map[selinux.Count]int{},
	}
	for _, p := range cfg.Plugins {
		if m.plugins[p.Name()] != nil {
			return nil, fmt.Errorf("volume: Config.Plugins has %s twice", p.Name())
		}
		m.plugins[p.Name()] = p
	}
	if cfg.Concurrency == 0 {
		cfg.Concurrency = 4 * runtime.NumCPU()
	}
	if cfg.Period == 0 {
		cfg.Period = defaultPeriod
	}
	if cfg.Notices == nil {
		cfg.Notices = NewNotices()
	}
	var err error
	m.slots, err = semaphore.New(semaphore.Config{Name: "volume operations", Target: trace.TargetVolumeSlots, Size: cfg.Concurrency, Bus: cfg.Bus})
	m.cfg = cfg
	return m, err
}

// kick wakes the reconciler.
func (m *Manager) kick() {
	select {
	case m.kicked <- struct{}{}:
	default:
	}
}
