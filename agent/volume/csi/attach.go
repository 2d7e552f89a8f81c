package csi

import (
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/grpc/codes"
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

// errDeleted is the error of a VolumeAttachment that is being deleted.
var errDeleted = errors.New("volume attachment is being deleted")

// attaching is what is known about the attachment of a volume.
type attaching struct {
	// listed says that the node's status lists the volume as attached.
	listed bool
	// va is the VolumeAttachment, nil while it is not attached.
	va *storagev1.VolumeAttachment
	// why is the latest error of a volume that the node's status does not list yet: it may still be attached. nil if there is none.
	why error
}

func (a attaching) done() bool { return a.listed && a.va != nil }

// attachWait waits until the controller has attached the volume, and returns its publish context for the driver. It
// waits at most two minutes. An error of a volume that the node's status does not list yet does not end the wait: the controller tries again.
//
// Upstream: pkg/volume/csi/csi_attacher.go, WaitForAttach; csi_plugin.go, getPublishContext;
// pkg/volume/util/operationexecutor/operation_generator.go, GenerateVerifyControllerAttachedVolumeFunc.
func (w *work) attachWait(ctx context.Context) (map[string]string, error) {
	now, err := w.attaching(ctx)
	if err != nil || now.done() {
		return publishContext(now.va), err
	}
	wait := w.attachWaits(now)
	span := trace.Begin(w.p.cfg.Bus, trace.FromContext(ctx), wait)
	defer func() { trace.End(w.p.cfg.Bus, span, wait) }()
	err = volume.Idle(ctx, func() error {
		ctx, cancel := context.WithTimeout(ctx, timeout)
		defer cancel()
		for delay := firstLook; ; delay = min(delay*3/2, lastLook) {
			t := time.NewTimer(delay)
			select {
			case <-ctx.Done():
				t.Stop()
				if errors.Is(ctx.Err(), context.DeadlineExceeded) {
					return w.notAttached(now)
				}
				return context.Cause(ctx)
			case <-volume.Released(ctx):
				t.Stop()
				return volume.ErrReleased
			case <-t.C:
			}
			if now, err = w.attaching(ctx); err != nil || now.done() {
				return err
			}
			if next := w.attachWaits(now); next.Cause != wait.Cause {
				trace.End(w.p.cfg.Bus, span, wait)
				wait = next
				span = trace.Begin(w.p.cfg.Bus, trace.FromContext(ctx), wait)
			}
		}
	})
	return publishContext(now.va), err
}

// attaching reads the state of the attachment. The node's status is read first: a controller omits the volume there before it detaches it.
func (w *work) attaching(ctx context.Context) (now attaching, err error) {
	now.listed = w.listed()
	now.va, err = w.p.attachment(ctx, w.v, w.v.attachment(w.p.cfg.NodeName))
	switch {
	case w.full(err):
		w.d.recount()
		w.p.kick()
		err = &volume.LimitError{Err: err}
	case !now.listed && errors.Is(err, errDeleted):
		err = nil // it is being detached; the controller attaches it again
	case !now.listed:
		now.why, err = err, nil
	}
	return now, err
}

// full reports whether the driver's controller cannot attach the volume because the node has too many, although schedulers read how many it
// can have: then others are wrong about the number.
//
// Upstream: pkg/volume/csi/csi_plugin.go, VerifyExhaustedResource.
func (w *work) full(err error) bool {
	e, ok := errors.AsType[attachError](err)
	return ok && e.exhausted() && w.info.updatePeriod() > 0 && !w.spec.Adopt && !w.spec.Refresh
}

// attachError is why a volume could not be attached.
type attachError struct{ *storagev1.VolumeError }

// Error implements error.
func (e attachError) Error() string { return e.Message }

// Upstream: pkg/volume/csi/csi_plugin.go, isResourceExhaustError.
func (e attachError) exhausted() bool {
	return e.ErrorCode != nil && *e.ErrorCode == int32(codes.ResourceExhausted)
}

// listed reports whether the node's status lists the volume as attached. This is not required of a volume that is mounted already: the
// status has listed it as in use since then.
func (w *work) listed() bool {
	if w.p.cfg.Attached == nil || w.spec.Adopt || w.spec.Refresh {
		return true
	}
	_, is := w.p.cfg.Attached(w.v.unique())
	return is
}

// attachWaits is the wait for what is missing.
func (w *work) attachWaits(now attaching) trace.Wait {
	wait := volume.AttachWait(w.v.unique(), w.v.name)
	if now.va == nil {
		wait.Note = fmt.Sprintf("%s has to attach %s (VolumeAttachment %s)", w.v.driver, w.v.handle, w.v.attachment(w.p.cfg.NodeName))
	}
	if now.why != nil {
		wait = wait.WithCause(now.why.Error())
	}
	return wait
}

// notAttached is the error if the rest is still missing at the end of the wait.
func (w *work) notAttached(now attaching) error {
	if now.va != nil {
		return volume.NotAttached(w.v.unique())
	}
	err := fmt.Errorf("timed out waiting for external-attacher of %v CSI driver to attach volume %v", w.v.driver, w.v.handle)
	if now.why != nil {
		err = fmt.Errorf("%w: %w", err, now.why)
	}
	return &volume.NotAttachedError{Err: err}
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
		return nil, errDeleted
	case va.Status.Attached:
		return va, nil
	case va.Status.AttachError != nil:
		return nil, attachError{va.Status.AttachError}
	}
	return nil, nil
}
