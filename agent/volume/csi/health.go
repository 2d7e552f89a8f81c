package csi

import (
	"context"
	"errors"
	"maps"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeloupe/kubeloupe/agent/volume"
)

const (
	defaultHealthPeriod = time.Minute
	// healthCalls limits the concurrent calls about health of one driver: a volume that hangs delays few others.
	healthCalls = 4
	// maxBackends limits the drivers that are not registered any more and whose backends' health is remembered.
	maxBackends = 64
)

// HealthConfig is what a Health needs.
type HealthConfig struct {
	// Plugin has the drivers.
	Plugin *Plugin
	// Period is how often the drivers are asked; a minute if it is not positive.
	Period time.Duration
	// Uses returns the persistent volumes of a plugin that pods want: [volume.Manager.Uses].
	Uses func(plugin string) []volume.Use
	// Set sets the health of a pod's volume, by its name in the pod, in the pod's status. It must not block.
	Set func(ctx context.Context, uid types.UID, volume string, conditions []v1.VolumeHealthCondition)
}

// Health asks drivers about the health of volumes and of storage backends (feature gate CSIVolumeHealth).
//
// Upstream: pkg/kubelet/volumemanager/volumehealth/manager.go; KEP-1432.
type Health struct {
	cfg HealthConfig

	mu       sync.Mutex
	asking   map[string]bool                         // drivers that are asked now
	ill      map[volumeID][]v1.VolumeHealthCondition // volumes that are not healthy, as last published
	backends map[string]backend                      // by driver
}

// volumeID is a volume of a pod, by its name on the node.
type volumeID struct {
	uid  types.UID
	name string
}

// NewHealth checks the configuration. It starts nothing; Run does.
func NewHealth(cfg HealthConfig) (*Health, error) {
	if cfg.Plugin == nil || cfg.Uses == nil || cfg.Set == nil {
		return nil, errors.New("csi: HealthConfig needs Plugin, Uses and Set")
	}
	if cfg.Period <= 0 {
		cfg.Period = defaultHealthPeriod
	}
	return &Health{cfg: cfg, asking: map[string]bool{}, ill: map[volumeID][]v1.VolumeHealthCondition{}, backends: map[string]backend{}}, nil
}

// Run asks the drivers now and in each period until ctx ends, and returns nil then. Drivers do not wait for each other: one that is
// still being asked is left out.
func (h *Health) Run(ctx context.Context) error {
	var under sync.WaitGroup
	defer under.Wait()
	again := time.NewTicker(h.cfg.Period)
	defer again.Stop()
	for {
		h.round(ctx, &under)
		select {
		case <-ctx.Done():
			return nil
		case <-again.C:
		}
	}
}

func (h *Health) round(ctx context.Context, under *sync.WaitGroup) {
	uses := map[string][]volume.Use{}
	wanted := map[volumeID]bool{}
	for _, u := range h.cfg.Uses(Name) {
		driver := u.Spec.PV.Spec.CSI.Driver
		uses[driver] = append(uses[driver], u)
		wanted[idOf(u)] = true
	}
	drivers := h.cfg.Plugin.registered()
	h.mu.Lock()
	defer h.mu.Unlock()
	maps.DeleteFunc(h.ill, func(id volumeID, _ []v1.VolumeHealthCondition) bool { return !wanted[id] })
	if len(h.backends) > len(drivers)+maxBackends {
		clear(h.backends)
	}
	for _, d := range drivers {
		if h.asking[d.name] {
			continue
		}
		h.asking[d.name] = true
		under.Go(func() {
			h.ask(ctx, d, uses[d.name])
			h.mu.Lock()
			defer h.mu.Unlock()
			delete(h.asking, d.name)
		})
	}
}

// ask asks one driver about its backend and the volumes.
func (h *Health) ask(ctx context.Context, d *driver, uses []volume.Use) {
	limit, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	ofBackend, err := d.can(limit, canStorageHealth)
	if err != nil {
		return // the record of the call has the error
	}
	ofVolumes, err := d.can(limit, canVolumeHealth)
	if err != nil {
		return
	}
	var calls errgroup.Group
	calls.SetLimit(healthCalls)
	if ofBackend {
		calls.Go(func() error { h.askBackend(ctx, d); return nil })
	}
	for i := range uses {
		if ofVolumes {
			calls.Go(func() error { h.askVolume(ctx, d, &uses[i]); return nil })
		}
	}
	_ = calls.Wait()
}

func idOf(u volume.Use) volumeID { return volumeID{types.UID(u.Pod.UID), u.Spec.Name} }
