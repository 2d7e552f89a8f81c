package csi

import (
	"context"
	"time"

	"github.com/kubeloupe/kubeloupe/agent/volume"
	"github.com/kubeloupe/kubeloupe/trace"
)

// registration is how long an existing volume waits for its driver. After a start of the agent, running drivers
// register much sooner.
const registration = 10 * time.Second

// awaitDriver returns a registered driver. For a volume of an earlier agent, it waits for the driver, which will
// probably register soon, instead of reporting an error.
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
