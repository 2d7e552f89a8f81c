package csi

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	csipb "github.com/container-storage-interface/spec/lib/go/csi"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/kubeloupe/kubeloupe/trace"
)

const (
	// shortestUpdate is the shortest period of updates of the number of volumes.
	shortestUpdate = 10 * time.Second
	// periodLook is how often the CSIDriver objects are read for the period, and for requiresRepublish, if no driver has a shorter period: nodes
	// that watch them would cost more.
	periodLook = 5 * time.Minute
)

// refreshed is when a driver was asked for the number of volumes that it can attach to the node.
type refreshed struct {
	at     time.Time
	asking bool
	soon   bool   // ask again, whatever the period is
	failed string // the last error about it that was published
}

// keepCounts keeps the numbers of volumes that drivers can attach to the node up to date in the CSINode object, until ctx ends. Drivers do
// not wait for each other.
//
// Upstream: pkg/volume/csi/csi_node_updater.go, which watches the CSIDriver objects.
func (p *Plugin) keepCounts(ctx context.Context) {
	var under sync.WaitGroup
	defer under.Wait()
	for ctx.Err() == nil {
		p.mu.Lock()
		arrived := p.arrived
		p.mu.Unlock()
		t := time.NewTimer(p.countAll(ctx, &under))
		select {
		case <-ctx.Done():
		case <-arrived:
		case <-p.kicked:
		case <-t.C:
		}
		t.Stop()
	}
}

// countAll asks the drivers whose period has passed, and returns the time until the next look.
func (p *Plugin) countAll(ctx context.Context, under *sync.WaitGroup) time.Duration {
	next := periodLook + rand.N(periodLook/10) // not all nodes at once after a restart of the API server
	for _, d := range p.registered() {
		info, err := p.info(ctx, d.name)
		period := info.updatePeriod()
		if err != nil || period == 0 {
			continue
		}
		left := d.countDue(period)
		if left <= 0 {
			left = period
			under.Go(func() { p.counted(ctx, d) })
		}
		next = min(next, left)
	}
	return next
}

// countDue returns how long the last answer is good. If it is not good any more, the caller must ask.
func (d *driver) countDue(period time.Duration) time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.count.soon {
		period = shortestUpdate
	}
	if d.count.asking {
		return period
	}
	left := period - time.Since(d.count.at)
	if left <= 0 {
		d.count = refreshed{at: time.Now(), asking: true, failed: d.count.failed}
	}
	return left
}

// recount requests that the driver is asked soon: its last answer is wrong.
func (d *driver) recount() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.count.soon = true
}

// kick wakes keepCounts.
func (p *Plugin) kick() {
	select {
	case p.kicked <- struct{}{}:
	default:
	}
}

// counted asks one driver, and publishes an error that is new.
func (p *Plugin) counted(ctx context.Context, d *driver) {
	failed := ""
	if err := p.refresh(ctx, d); err != nil {
		failed = err.Error()
	}
	d.mu.Lock()
	news := failed != "" && failed != d.count.failed && ctx.Err() == nil
	d.count.asking, d.count.failed = false, failed
	d.mu.Unlock()
	if news {
		trace.Point(p.cfg.Bus, trace.FromContext(ctx), trace.Log{
			Level: trace.LevelWarn, Message: "the number of volumes of CSI driver " + d.name + " could not be updated in the CSINode object: " + failed,
		})
	}
}

// refresh asks a driver for the number of its volumes, and stores it in the CSINode object.
//
// Upstream: pkg/volume/csi/csi_plugin.go, updateCSIDriver.
func (p *Plugin) refresh(ctx context.Context, d *driver) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	resp, err := d.node.NodeGetInfo(ctx, &csipb.NodeGetInfoRequest{})
	if err != nil {
		return err
	}
	entry, err := entryOf(d.name, resp)
	if err != nil {
		return err
	}
	return p.again(ctx, func() error {
		return p.updateCSINode(ctx, func(all []storagev1.CSINodeDriver) []storagev1.CSINodeDriver {
			if now, _ := p.driver(d.name); now != d {
				return nil // it has gone meanwhile
			}
			return withDriver(all, entry)
		})
	})
}
