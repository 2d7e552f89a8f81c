package driver

import (
	"context"
	"sync"
	"time"

	resourceapi "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"

	"github.com/kubeloupe/kubeloupe/agent/backoff"
	"github.com/kubeloupe/kubeloupe/agent/clock"
	"github.com/kubeloupe/kubeloupe/trace"
)

const (
	// wipeAfter is how long a driver may be without a connected plugin before its ResourceSlices are deleted.
	//
	// Upstream: pkg/kubelet/cm/dra/manager.go, defaultWipingDelay.
	wipeAfter = 30 * time.Second
	// The back-off after a request that failed, and how long a request may take.
	wipeFirst, wipeLast = time.Second, 5 * time.Minute
	wipeTimeout         = 30 * time.Second
	// maxPending limits for how many drivers this is done at the same time.
	maxPending = 1024
)

// wiper deletes the ResourceSlices of drivers that cannot be used, so that the scheduler does not choose their devices.
//
// Upstream: pkg/kubelet/cm/dra/plugin/dra_plugin_manager.go, wipeResourceSlices.
type wiper struct {
	cfg   Config
	under sync.WaitGroup

	mu      sync.Mutex
	ctx     context.Context // of Run; nil before
	pending map[string]*pending
}

// pending is a deletion that waits or is tried again.
type pending struct{ cancel context.CancelFunc }

// start deletes the ResourceSlices of all drivers.
func (w *wiper) start(ctx context.Context) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ctx = ctx
	if w.cfg.Slices != nil {
		w.under.Go(func() { w.wipe(ctx, "") })
	}
}

// wait returns when nothing is being deleted any more.
func (w *wiper) wait() {
	w.mu.Lock()   // whoever began something has added it by now
	w.mu.Unlock() //nolint:staticcheck // nothing is changed
	w.under.Wait()
}

// note takes whether a driver can be used. Deletion begins some time after it cannot, and ends when it can.
func (w *wiper) note(driver string, usable bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.cfg.Slices == nil || w.ctx == nil || w.ctx.Err() != nil {
		return
	}
	old := w.pending[driver]
	switch {
	case usable && old != nil:
		old.cancel()
		delete(w.pending, driver)
	case !usable && old == nil && len(w.pending) < maxPending:
		ctx, cancel := context.WithCancel(w.ctx)
		p := &pending{cancel}
		w.pending[driver] = p
		w.under.Go(func() {
			defer cancel()
			if clock.Sleep(ctx, wipeAfter) {
				w.wipe(ctx, driver)
			}
			w.mu.Lock()
			defer w.mu.Unlock()
			if w.pending[driver] == p {
				delete(w.pending, driver)
			}
		})
	}
}

// wipe deletes the ResourceSlices of this node, of one driver or of all for "", and tries again until it succeeds or ctx ends.
func (w *wiper) wipe(ctx context.Context, driver string) {
	which := fields.Set{resourceapi.ResourceSliceSelectorNodeName: w.cfg.NodeName}
	if driver != "" {
		which[resourceapi.ResourceSliceSelectorDriver] = driver
	}
	list := metav1.ListOptions{FieldSelector: which.String()}
	for n := 0; ; n++ {
		call, cancel := context.WithTimeout(ctx, wipeTimeout)
		err := w.cfg.Slices.DeleteCollection(call, metav1.DeleteOptions{}, list)
		cancel()
		if ctx.Err() != nil {
			return
		}
		done := err == nil || apierrors.IsNotFound(err)
		if done {
			err = nil
		}
		if done || n == 0 {
			ev := trace.DRAPlugin{Op: trace.DRAWiped, Driver: driver}
			if err != nil {
				ev.Err = err.Error()
			}
			trace.Point(w.cfg.Bus, trace.FromContext(ctx), ev)
		}
		if done || !clock.Sleep(ctx, backoff.After(backoff.Doubling(wipeFirst, wipeLast), n)) {
			return
		}
	}
}
