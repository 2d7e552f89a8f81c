package volume

import (
	"context"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/trace"
)

// attachPatience is how long a set-up waits for the controller; the manager tries again later.
const attachPatience = 2 * time.Minute

// How often what a volume waits for is looked at.
const (
	firstLook = 50 * time.Millisecond
	lastLook  = time.Second
)

// WaitAttached waits until the node's status lists a volume as attached, and returns its device, which may be "". attached reads the status
// as the agent last saw it: this needs no request. of is the volume's name. The errors are those of [Poll], and that it takes too long.
//
// Upstream: pkg/volume/util/operationexecutor/operation_generator.go, GenerateVerifyControllerAttachedVolumeFunc.
func WaitAttached(ctx context.Context, bus *trace.Bus, name v1.UniqueVolumeName, of string, attached func(v1.UniqueVolumeName) (string, bool)) (device string, err error) {
	err = Timed(ctx, Attaching, func() error {
		is, err := Poll(ctx, bus, AttachWait(name, of), func() (is bool) {
			device, is = attached(name)
			return is
		})
		if err == nil && !is {
			err = NotAttached(name)
		}
		return err
	})
	return device, err
}

// AttachWait is the wait until the node's status lists a volume as attached. of is the volume's name.
func AttachWait(name v1.UniqueVolumeName, of string) trace.Wait {
	return trace.Wait{
		For: trace.WaitAttach, Target: trace.Target{Kind: trace.TargetVolume, Name: of}, Limit: attachPatience,
		Note: fmt.Sprintf("the attach-detach controller has to attach %s (volumesAttached in the node's status)", name),
	}
}

// NotAttached is the error after an [AttachWait].
func NotAttached(name v1.UniqueVolumeName) error {
	return &NotAttachedError{fmt.Errorf("volume %s is not attached according to the node's status, after %v", name, attachPatience)}
}

// Poll returns true as soon as look does, false if it does not within wait.Limit. While it waits, it publishes the Wait, and the slot of the
// operation is free. Its errors are the cause of ctx, and [ErrReleased].
func Poll(ctx context.Context, bus *trace.Bus, wait trace.Wait, look func() bool) (is bool, err error) {
	if look() {
		return true, nil
	}
	end := time.Now().Add(wait.Limit)
	span := trace.Begin(bus, trace.FromContext(ctx), wait)
	defer func() { trace.End(bus, span, wait) }()
	err = Idle(ctx, func() error {
		for delay := firstLook; !is && time.Now().Before(end); delay = min(delay*3/2, lastLook) {
			t := time.NewTimer(delay)
			select {
			case <-ctx.Done():
				t.Stop()
				return context.Cause(ctx)
			case <-Released(ctx):
				t.Stop()
				return ErrReleased
			case <-t.C:
			}
			is = look()
		}
		return nil
	})
	return is, err
}
