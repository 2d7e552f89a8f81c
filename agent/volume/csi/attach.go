package csi

import (
	"context"
	"errors"
	"fmt"
	"time"

	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeloupe/kubeloupe/agent/volume"
	"github.com/kubeloupe/kubeloupe/trace"
)

// How often a VolumeAttachment is read: nodes may get it, but not watch it.
const (
	firstLook = 100 * time.Millisecond
	lastLook  = 2 * time.Second
)

// attachWait waits until the controller has attached the volume, and returns its publish context for the driver. It
// waits at most two minutes.
//
// Upstream: pkg/volume/csi/csi_attacher.go, WaitForAttach; csi_plugin.go, getPublishContext.
func (p *Plugin) attachWait(ctx context.Context, v vol) (map[string]string, error) {
	id := v.attachment(p.cfg.NodeName)
	va, err := p.attachment(ctx, v, id)
	if err != nil || va != nil {
		return publishContext(va), err
	}
	wait := trace.Wait{For: trace.WaitAttach, Target: trace.Target{Kind: trace.TargetVolume, Name: v.name}, Limit: timeout, Note: fmt.Sprintf("%s has to attach %s (VolumeAttachment %s)", v.driver, v.handle, id)}
	span := trace.Begin(p.cfg.Bus, trace.FromContext(ctx), wait)
	defer func() { trace.End(p.cfg.Bus, span, wait) }()
	err = volume.Idle(ctx, func() error {
		ctx, cancel := context.WithTimeout(ctx, timeout)
		defer cancel()
		for delay := firstLook; ; delay = min(delay*3/2, lastLook) {
			t := time.NewTimer(delay)
			select {
			case <-ctx.Done():
				t.Stop()
				if errors.Is(ctx.Err(), context.DeadlineExceeded) {
					return fmt.Errorf("timed out waiting for external-attacher of %v CSI driver to attach volume %v", v.driver, v.handle)
				}
				return context.Cause(ctx)
			case <-volume.Released(ctx):
				t.Stop()
				return volume.ErrReleased
			case <-t.C:
			}
			if va, err = p.attachment(ctx, v, id); err != nil || va != nil {
				return err
			}
		}
	})
	return publishContext(va), err
}

func publishContext(va *storagev1.VolumeAttachment) map[string]string {
	if va == nil {
		return nil
	}
	return va.Status.AttachmentMetadata
}

// attachment returns the VolumeAttachment if the volume is attached, and nil while it may still be attached.
//
// Upstream: pkg/volume/csi/csi_attacher.go, verifyAttachmentStatus.
func (p *Plugin) attachment(ctx context.Context, v vol, id string) (*storagev1.VolumeAttachment, error) {
	va, err := p.cfg.API.StorageV1().VolumeAttachments().Get(ctx, id, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err), apierrors.IsForbidden(err):
		// Forbidden: the authorizer does not know the object either.
		return nil, nil
	case err != nil:
		if ctx.Err() != nil {
			return nil, nil // the caller reports the reason
		}
		return nil, fmt.Errorf("volume %v has GET error for volume attachment %v: %w", v.handle, id, err)
	case va.DeletionTimestamp != nil:
		return nil, errors.New("volume attachment is being deleted")
	case va.Status.Attached:
		return va, nil
	case va.Status.AttachError != nil:
		return nil, errors.New(va.Status.AttachError.Message)
	}
	return nil, nil
}
