package image

import (
	"cmp"
	"context"
	"fmt"
	"sync"

	v1 "k8s.io/api/core/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/kubeloupe/kubeloupe/trace"
)

// Ensure returns when the image is on the node. An error about the image is an *Error; the end of ctx is returned as
// such and does not count as a failure. The span in ctx is the parent of the events.
//
// For a present image that needs no pull, it makes one ImageStatus call.
//
// Upstream: pkg/kubelet/images/image_manager.go, EnsureImageExists.
func (p *Puller) Ensure(ctx context.Context, req Request) (Result, error) {
	how := Ensured{Policy: req.Policy}
	defer func() { p.ensured.add(how) }()
	name, err := ParseName(req.Image)
	if err != nil {
		msg := fmt.Sprintf("Failed to apply default image tag %q: %v", req.Image, err)
		p.warn(ctx, &req, "InspectFailed", msg)
		return Result{}, &Error{Reason: InvalidImageName, Message: msg, Err: err}
	}
	spec := &runtimeapi.ImageSpec{
		Image:              name.Image,
		UserSpecifiedImage: req.Image,
		Annotations:        req.Annotations,
		RuntimeHandler:     req.RuntimeHandler,
	}

	credentials := sync.OnceValues(func() ([]Credential, error) { return p.credentials(ctx, &req, name) })
	policy := cmp.Or(req.Policy, name.DefaultPolicy())
	switch how.Policy = policy; policy {
	case v1.PullAlways:
		how.Pull = yes
		return p.pull(ctx, &req, spec, credentials)
	case v1.PullIfNotPresent, v1.PullNever:
	default:
		return Result{}, fmt.Errorf("imagePullPolicy %q of container %s: must be Always, IfNotPresent or Never", policy, req.Container)
	}

	img, err := p.status(ctx, spec)
	switch {
	case err != nil && ctx.Err() != nil:
		return Result{}, context.Cause(ctx)
	case err != nil:
		return Result{}, p.inspectError(ctx, &req, err)
	case img != nil:
		how.Present = yes
		must, err := p.mustPull(&req, img, credentials)
		if err != nil {
			return Result{}, &Error{Reason: ErrImagePull, Message: err.Error(), Err: err}
		}
		if how.Pull = known(must); !must {
			p.note(ctx, &req, "Pulled", p.present(req.Image))
			return newResult(&req, img), nil
		}
	default:
		how.Present = no
	}
	if policy == v1.PullNever { // the message does not reveal that the image exists but is not for this pod
		msg := fmt.Sprintf("Container image %q is not present with pull policy of Never", req.Image)
		p.warn(ctx, &req, string(ErrImageNeverPull), msg)
		return Result{}, &Error{Reason: ErrImageNeverPull, Message: msg}
	}
	how.Pull = yes
	return p.pull(ctx, &req, spec, credentials)
}

func (p *Puller) mustPull(req *Request, img *runtimeapi.Image, credentials func() ([]Credential, error)) (bool, error) {
	if p.records == nil {
		return false, nil
	}
	return p.records.MustPull(req.Image, img.GetId(), credentials)
}

func (p *Puller) present(image string) string {
	msg := fmt.Sprintf("Container image %q already present on machine", image)
	if p.records != nil {
		msg += " and can be accessed by the pod"
	}
	return msg
}

// Forget drops the back-offs of a pod that is gone.
func (p *Puller) Forget(podUID string) { p.backoff.forget(podUID) }

// status returns the image, nil if it is not on the node.
func (p *Puller) status(ctx context.Context, spec *runtimeapi.ImageSpec) (*runtimeapi.Image, error) {
	resp, err := p.service.ImageStatus(ctx, &runtimeapi.ImageStatusRequest{Image: spec})
	if err != nil {
		return nil, err
	}
	return resp.GetImage(), nil
}

func (p *Puller) inspectError(ctx context.Context, req *Request, err error) error {
	msg := fmt.Sprintf("Failed to inspect image %q: %v", req.Image, err)
	p.warn(ctx, req, "InspectFailed", msg)
	return &Error{Reason: ImageInspectError, Message: msg, Err: err}
}

func (p *Puller) note(ctx context.Context, req *Request, reason, msg string) {
	p.say(ctx, req, v1.EventTypeNormal, reason, msg)
}

func (p *Puller) warn(ctx context.Context, req *Request, reason, msg string) {
	p.say(ctx, req, v1.EventTypeWarning, reason, msg)
}

func (p *Puller) say(ctx context.Context, req *Request, eventType, reason, msg string) {
	if p.events != nil && req.Pod != nil {
		p.events.Pod(ctx, req.Pod, req.Container, eventType, reason, msg)
		return
	}
	trace.Point(p.bus, trace.FromContext(ctx), trace.NodeEvent{Type: trace.EventType(eventType), Reason: reason, Message: msg, Field: req.field()})
}
