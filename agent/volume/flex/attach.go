package flex

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/kubeloupe/kubeloupe/agent/volume"
	"github.com/kubeloupe/kubeloupe/trace"
)

// attachPatience is how long a set-up waits for the controller; the manager tries again later.
const attachPatience = 2 * time.Minute

// How often the node's status, as the agent last saw it, is looked at. This needs no request.
const (
	firstLook = 50 * time.Millisecond
	lastLook  = time.Second
)

// attached returns the volume's device, when it is attached: by the controller or, without one, by the driver.
//
// Upstream: pkg/volume/flexvolume/attacher.go, Attach and WaitForAttach.
func (d *driver) attached(ctx context.Context, s volume.Spec, options string) (device string, err error) {
	if d.p.cfg.Attached != nil {
		device, err = d.waitController(ctx, s)
	} else {
		var said answer
		said, err = d.call(ctx, s.Name, "attach", options, d.p.cfg.NodeName)
		device = said.Device
		if errors.Is(err, errUnsupported) {
			err = nil
		}
	}
	if err != nil {
		return "", err
	}
	said, err := d.call(ctx, s.Name, "waitforattach", device, options)
	switch {
	case errors.Is(err, errUnsupported):
		return device, nil
	case err != nil:
		return "", err
	}
	return said.Device, nil
}

// waitController waits until the node's status lists the volume as attached.
//
// Upstream: pkg/volume/util/operationexecutor/operation_generator.go, GenerateVerifyControllerAttachedVolumeFunc.
func (d *driver) waitController(ctx context.Context, s volume.Spec) (device string, err error) {
	name := uniqueName(s.Place)
	device, is := d.p.cfg.Attached(name)
	if is {
		return device, nil
	}
	wait := trace.Wait{For: trace.WaitAttach, Target: trace.Target{Kind: trace.TargetVolume, Name: s.Name}, Limit: attachPatience, Note: fmt.Sprintf("the attach-detach controller has to attach %s (volumesAttached in the node's status)", name)}
	span := trace.Begin(d.p.cfg.Bus, trace.FromContext(ctx), wait)
	defer func() { trace.End(d.p.cfg.Bus, span, wait) }()
	err = volume.Idle(ctx, func() error {
		end := time.Now().Add(attachPatience)
		for delay := firstLook; ; delay = min(delay*3/2, lastLook) {
			t := time.NewTimer(delay)
			select {
			case <-ctx.Done():
				t.Stop()
				return context.Cause(ctx)
			case <-volume.Released(ctx):
				t.Stop()
				return volume.ErrReleased
			case <-t.C:
			}
			if device, is = d.p.cfg.Attached(name); is {
				return nil
			}
			if time.Now().After(end) {
				return fmt.Errorf("volume %s is not attached according to the node's status, after %v", name, attachPatience)
			}
		}
	})
	return device, err
}
