package driver

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	healthapi "k8s.io/kubelet/pkg/apis/dra-health/v1"

	"github.com/kubeloupe/kubeloupe/trace"
)

// Slices deletes ResourceSlices.
type Slices interface {
	DeleteCollection(ctx context.Context, opts metav1.DeleteOptions, list metav1.ListOptions) error
}

// Health receives what drivers report about their devices. Its methods must not block.
type Health interface {
	// Report is a report of a plugin. It may leave out devices whose health has not changed.
	Report(driver, socket string, devices []*healthapi.DeviceHealth)
	// End says that the plugin reports nothing any more.
	End(driver, socket string)
}

// Config is what Drivers need.
type Config struct {
	NodeName string
	// Slices are the ResourceSlices of the cluster; nil without an API server.
	Slices Slices
	// Health may be nil: then the health of devices is not requested.
	Health Health
	// Usable is called when a plugin of a driver has registered or is connected; it must not block. It may be nil.
	Usable func(driver string)
	Bus    *trace.Bus
}

// Drivers are the plugins of DRA drivers. Safe for concurrent use.
type Drivers struct {
	cfg     Config
	running chan struct{} // closed when Run runs
	wiper   wiper

	mu      sync.Mutex
	ctx     context.Context // of Run; nil before
	under   sync.WaitGroup
	plugins map[string][]*Plugin // by driver, in the order of their registration
	count   int
}

// maxPlugins limits how many plugins may be registered.
const maxPlugins = 256

// New checks cfg. It starts nothing; Run does.
func New(cfg Config) (*Drivers, error) {
	if cfg.NodeName == "" {
		return nil, errors.New("driver: Config.NodeName is missing")
	}
	if cfg.Usable == nil {
		cfg.Usable = func(string) {}
	}
	d := &Drivers{cfg: cfg, running: make(chan struct{}), plugins: map[string][]*Plugin{}}
	d.wiper = wiper{cfg: cfg, pending: map[string]*pending{}}
	return d, nil
}

// Run follows plugins until ctx ends, and returns nil then. Call it once.
func (d *Drivers) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	d.mu.Lock()
	d.ctx = ctx
	d.mu.Unlock()
	d.wiper.start(ctx)
	close(d.running)
	<-ctx.Done()
	d.mu.Lock()
	for _, all := range d.plugins {
		for _, p := range all {
			p.close()
		}
	}
	d.mu.Unlock()
	d.under.Wait()
	d.wiper.wait()
	return nil
}

// MissingError is the error for a driver without a registered plugin. Its text is upstream's.
type MissingError struct{ Driver string }

// Error implements error.
func (e *MissingError) Error() string {
	if e.Driver == "" {
		return "DRA driver name is empty"
	}
	return fmt.Sprintf("DRA driver %s is not registered", e.Driver)
}

// Get returns the plugin of a driver that is to be called: the newest one that is connected; if none is, the newest one. Without one, the
// error is a *MissingError.
func (d *Drivers) Get(driver string) (*Plugin, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	all := d.plugins[driver]
	for _, p := range slices.Backward(all) {
		if p.connected {
			return p, nil
		}
	}
	if len(all) == 0 {
		return nil, &MissingError{Driver: driver}
	}
	return all[len(all)-1], nil
}

// changed handles a change of a driver's plugins. Called with mu.
func (d *Drivers) changed(driver string) {
	usable := false
	for _, p := range d.plugins[driver] {
		usable = usable || p.connected
	}
	d.wiper.note(driver, usable)
}

func (d *Drivers) publish(ctx context.Context, e trace.DRAPlugin) {
	trace.Point(d.cfg.Bus, trace.FromContext(ctx), e)
}
