package volume

import (
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeloupe/kubeloupe/agent/slots"
	"github.com/kubeloupe/kubeloupe/trace"
)

// defaultPeriod is the reconciler's safety net. Nothing relies on it.
const defaultPeriod = 5 * time.Minute

// Config is what a Manager needs.
type Config struct {
	// RootDir is the kubelet's root directory, absolute.
	RootDir string
	// Plugins are asked in order; the first that supports a volume has it.
	Plugins []Plugin
	Bus     *trace.Bus
	// Concurrency is how many operations may work at once; 0 means 4 per CPU.
	Concurrency int
	// Period is the reconciler's safety net; 0 means 5 minutes.
	Period time.Duration
}

// Manager reconciles the volumes that pods want with those that there are. Safe for
// concurrent use.
type Manager struct {
	cfg     Config
	plugins map[string]Plugin
	slots   *slots.Slots
	kicked  chan struct{}
	stopped chan struct{}

	mu       sync.Mutex
	running  bool
	arrived  uint64 // pods
	attempts uint64 // that ended
	pods     map[types.UID]*pod
	states   map[key]*state
}

// New checks the configuration. Nothing happens until Run.
func New(cfg Config) (*Manager, error) {
	if !filepath.IsAbs(cfg.RootDir) {
		return nil, fmt.Errorf("volume: Config.RootDir %q: want an absolute path", cfg.RootDir)
	}
	if len(cfg.Plugins) == 0 {
		return nil, errors.New("volume: Config.Plugins is empty")
	}
	m := &Manager{
		plugins: map[string]Plugin{}, kicked: make(chan struct{}, 1), stopped: make(chan struct{}),
		pods: map[types.UID]*pod{}, states: map[key]*state{},
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
	var err error
	m.slots, err = slots.New("volume operations", cfg.Concurrency, cfg.Bus)
	m.cfg = cfg
	return m, err
}

// kick has the reconciler look now.
func (m *Manager) kick() {
	select {
	case m.kicked <- struct{}{}:
	default:
	}
}
