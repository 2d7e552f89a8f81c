package csi

import (
	"context"
	"time"

	"github.com/kubeloupe/kubeloupe/agent/volume"
	"github.com/kubeloupe/kubeloupe/trace"
)

// registration is how long a volume that is there already waits for its driver. After a start of the
// agent, drivers that run have registered long before.
const registration = 10 * time.Second

// awaitDriver returns a registered driver. One of a volume that an earlier agent left is on its way in
// all likelihood: that it is not here yet is nothing to frighten people with.
func (p *Plugin) awaitDriver(ctx context.Context, name string, s volume.Spec) (*driver, error) {
	p.mu.Lock()
	d, arrived := p.drivers[name], p.arrived
	p.mu.Unlock()
	if d != nil || !s.Adopt {
		return p.driver(name)
	}
	wait := trace.Wait{For: trace.WaitAttach, Target: trace.Target{Kind: trace.TargetDriver, Name: name}, Note: "it has to register with this agent; its volume " + s.Volume.Name + " is there already"}
	span := trace.Begin(p.cfg.Bus, trace.FromContext(ctx), wait)
	defer func() { trace.End(p.cfg.Bus, span, wait) }()
	err := volume.Idle(ctx, func() error {
		timer := time.NewTimer(registration)
		defer timer.Stop()
		for {
			select {
			case <-ctx.Done():
				return context.Cause(ctx)
			case <-volume.Released(ctx):
				return volume.ErrReleased
			case <-timer.C:
				return nil
			case <-arrived:
			}
			p.mu.Lock()
			d, arrived = p.drivers[name], p.arrived
			p.mu.Unlock()
			if d != nil {
				return nil
			}
		}
	})
	if err != nil {
		return nil, err
	}
	return p.driver(name)
}
