package image

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"strconv"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/kubeloupe/kubeloupe/agent/cri"
	"github.com/kubeloupe/kubeloupe/trace"
)

// inspectFailed says that the pull succeeded but the ImageStatus call after it failed. The image's ID is known all the same.
type inspectFailed struct{ error }

func (e inspectFailed) Unwrap() error { return e.error }

// pull pulls the image or joins another pod's pull, unless the pod is in back-off.
//
// Upstream: pkg/kubelet/images/image_manager.go, pullImage.
func (p *Puller) pull(ctx context.Context, req *Request, spec *runtimeapi.ImageSpec, lookup func() ([]Credential, error)) (Result, error) {
	if err := p.backingOff(ctx, req); err != nil {
		return Result{}, err
	}
	credentials, err := lookup()
	if err == nil {
		err = p.begin(req)
	}
	if err != nil {
		p.warn(ctx, req, "Failed", fmt.Sprintf("Failed to pull image %q: %v", req.Image, err))
		return Result{}, &Error{Reason: ErrImagePull, Message: err.Error(), Err: err}
	}
	p.note(ctx, req, "Pulling", fmt.Sprintf("Pulling image %q", req.Image))

	auths, sandbox := authsOf(credentials), p.sandboxOf(req)
	began := time.Now()
	// The pull may be for other pods too: the gate is asked here, and does not hold the pull itself.
	if err := cri.Ask(ctx, "PullImage", &runtimeapi.PullImageRequest{Image: spec, SandboxConfig: sandbox}); err != nil {
		p.record(req, credentials, landed{}, err)
		if ctx.Err() != nil {
			return Result{}, context.Cause(ctx)
		}
		return Result{}, p.failed(ctx, req, began, err)
	}
	key := keyOf(spec, auths, sandbox)
	fl, shared := p.flights.board(ctx, key, func(ctx context.Context) (landed, error) {
		return p.fly(cri.Ungated(ctx), spec, auths, sandbox)
	})
	got, err := p.ride(ctx, key, fl, spec.Image, shared)
	p.record(req, credentials, got, err)
	switch inspect, ok := errors.AsType[inspectFailed](err); {
	case err != nil && ctx.Err() != nil:
		return Result{}, context.Cause(ctx)
	case ok:
		return Result{}, p.inspectError(ctx, req, inspect.error)
	case err != nil:
		return Result{}, p.failed(ctx, req, began, err)
	}

	total := time.Since(began)
	if shared {
		got.took = total
	}
	p.note(ctx, req, "Pulled", fmt.Sprintf("Successfully pulled image %q in %v (%v including waiting). Image size: %v bytes.",
		req.Image, got.took.Truncate(time.Millisecond), total.Truncate(time.Millisecond), got.image.GetSize()))
	p.backoff.sweep(time.Now())
	res := newResult(req, got.image)
	res.Pulled, res.Shared = true, shared
	return res, nil
}

// sandboxOf returns what the runtime learns about the pod; nil if there is none.
func (p *Puller) sandboxOf(req *Request) *runtimeapi.PodSandboxConfig {
	if p.sandbox == nil || req.Pod == nil {
		return nil
	}
	return p.sandbox(req.Pod)
}

// begin records that a pull begins. So after a crash, the image is known to have been pulled, not loaded by others.
func (p *Puller) begin(req *Request) error {
	if p.records == nil {
		return nil
	}
	return p.records.Begin(req.Image)
}

// record records the result of a pull that begin recorded. An image that was pulled is on the node, also if its status is not known: without
// a record, it would count as loaded by others, and every pod could use it.
func (p *Puller) record(req *Request, credentials []Credential, got landed, err error) {
	_, uninspected := errors.AsType[inspectFailed](err)
	switch {
	case p.records == nil:
	case err != nil && !uninspected || got.ref == "":
		p.records.Failed(req.Image)
	case got.used < len(credentials):
		p.records.Pulled(req.Image, got.ref, &credentials[got.used])
	default:
		p.records.Pulled(req.Image, got.ref, nil)
	}
}

// ride waits for a flight. For a pod that joined one, this is a named wait.
func (p *Puller) ride(ctx context.Context, key flightKey, fl *flight, image string, shared bool) (landed, error) {
	if !shared {
		return p.flights.wait(ctx, key, fl)
	}
	sp := trace.Begin(p.bus, trace.FromContext(ctx), trace.ImagePull{Image: image, Shared: true})
	wait := trace.Wait{For: trace.WaitOtherPull, Target: trace.Target{Kind: trace.TargetImage, Name: image}}
	w := trace.Begin(p.bus, sp, wait)
	got, err := p.flights.wait(ctx, key, fl)
	trace.End(p.bus, w, wait)
	trace.End(p.bus, sp, pullEvent(image, got.image, true, err))
	return got, err
}

// fly runs the pull: in its turn, within the registry's rate limit, with each credential until one succeeds.
func (p *Puller) fly(ctx context.Context, spec *runtimeapi.ImageSpec, auths []*runtimeapi.AuthConfig, sandbox *runtimeapi.PodSandboxConfig) (landed, error) {
	work, err := p.admit(ctx, spec.Image)
	if err != nil {
		return landed{}, err
	}
	began := time.Now()
	sp := trace.Begin(p.bus, trace.FromContext(ctx), trace.ImagePull{Image: spec.Image})
	ctx = trace.ContextWith(ctx, sp)
	stop := p.follow(ctx, sp, spec.Image, work)
	got, err := p.fetch(ctx, spec, auths, sandbox)
	stop()
	leave(work, err == nil)
	trace.End(p.bus, sp, pullEvent(spec.Image, got.image, false, err))
	got.took = time.Since(began)
	return got, err
}

// fetch calls the runtime to pull, then requests the image's status: the response has neither size nor user.
func (p *Puller) fetch(ctx context.Context, spec *runtimeapi.ImageSpec, auths []*runtimeapi.AuthConfig, sandbox *runtimeapi.PodSandboxConfig) (landed, error) {
	if len(auths) == 0 {
		auths = []*runtimeapi.AuthConfig{nil}
	}
	var errs []error
	for i, auth := range auths {
		if len(errs) > 0 && ctx.Err() != nil {
			break
		}
		pulled, err := p.service.PullImage(ctx, &runtimeapi.PullImageRequest{Image: spec, Auth: auth, SandboxConfig: sandbox})
		if err != nil {
			errs = append(errs, plain(err))
			continue
		}
		img, err := p.status(ctx, spec)
		if err == nil && img == nil {
			err = errors.New("it is missing after a successful pull")
		}
		if err != nil {
			return landed{ref: pulled.GetImageRef(), used: i}, inspectFailed{err}
		}
		return landed{image: img, ref: img.GetId(), used: i}, nil
	}
	if len(errs) == 1 {
		return landed{}, errs[0] // not wrapped: its beginning is the runtime's reason
	}
	return landed{}, utilerrors.NewAggregate(errs)
}

// plain returns an error of the runtime without gRPC's code, if that says nothing: users read the text in Events and statuses, and its
// beginning can be the runtime's reason.
//
// Upstream: cri-client/pkg/remote_image.go, pullImageV1.
func plain(err error) error {
	if s, ok := status.FromError(err); ok && s.Code() == codes.Unknown {
		return errors.New(s.Message())
	}
	return err
}

func pullEvent(image string, img *runtimeapi.Image, shared bool, err error) trace.ImagePull {
	e := trace.ImagePull{Image: image, Shared: shared, Ref: img.GetId(), Bytes: int64(img.GetSize())}
	if err != nil {
		e.Err = err.Error()
		e.Class = trace.ClassifyPull(e.Err)
	}
	return e
}

// fingerprint distinguishes sets of credentials without storing them.
func fingerprint(auths []*runtimeapi.AuthConfig) string {
	if len(auths) == 0 {
		return ""
	}
	h := sha256.New()
	for _, a := range auths {
		b, err := proto.MarshalOptions{Deterministic: true}.Marshal(a)
		if err != nil { // cannot happen: no required fields, strings from JSON
			b = []byte(strconv.Quote(a.String()))
		}
		_, _ = fmt.Fprintf(h, "%d:%s", len(b), b)
	}
	return string(h.Sum(nil))
}
