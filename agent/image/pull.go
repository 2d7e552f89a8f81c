package image

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"strconv"
	"time"

	"google.golang.org/protobuf/proto"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/kubeloupe/kubeloupe/trace"
)

// inspectFailed marks that the pull itself went well and ImageStatus after it did not.
type inspectFailed struct{ error }

func (e inspectFailed) Unwrap() error { return e.error }

// pull brings the image, unless the pod has to back off, by its own pull or with
// another pod's.
//
// Upstream: pkg/kubelet/images/image_manager.go, pullImage.
func (p *Puller) pull(ctx context.Context, req *Request, name Name, spec *runtimeapi.ImageSpec) (Result, error) {
	if err := p.backingOff(ctx, req); err != nil {
		return Result{}, err
	}
	p.note(ctx, req, "Pulling", fmt.Sprintf("Pulling image %q", req.Image))

	var auths []*runtimeapi.AuthConfig
	if p.keyring != nil {
		auths = p.keyring.Lookup(name.Repository)
	}
	began := time.Now()
	took := time.Duration(0) // written by the flight, read after it landed
	key := flightKey{image: spec.Image, runtimeHandler: spec.RuntimeHandler, credentials: fingerprint(auths)}
	fl, shared := p.flights.board(ctx, key, func(ctx context.Context) (img *runtimeapi.Image, err error) {
		img, took, err = p.fly(ctx, spec, auths, req.SandboxConfig)
		return img, err
	})
	img, err := p.ride(ctx, key, fl, spec.Image, shared)
	var inspect inspectFailed
	switch {
	case err != nil && ctx.Err() != nil:
		return Result{}, context.Cause(ctx)
	case errors.As(err, &inspect):
		return Result{}, p.inspectError(ctx, req, inspect.error)
	case err != nil:
		return Result{}, p.failed(ctx, req, began, err)
	}

	total := time.Since(began)
	if shared {
		took = total
	}
	p.note(ctx, req, "Pulled", fmt.Sprintf("Successfully pulled image %q in %v (%v including waiting). Image size: %v bytes.",
		req.Image, took.Truncate(time.Millisecond), total.Truncate(time.Millisecond), img.GetSize()))
	p.backoff.sweep(time.Now())
	res := newResult(req, img)
	res.Pulled, res.Shared = true, shared
	return res, nil
}

// ride waits for a flight. For a pod that joined one, that is a wait with a name.
func (p *Puller) ride(ctx context.Context, key flightKey, fl *flight, image string, shared bool) (*runtimeapi.Image, error) {
	if !shared {
		return p.flights.wait(ctx, key, fl)
	}
	sp := trace.Begin(p.bus, trace.FromContext(ctx), trace.ImagePull{Image: image, Shared: true})
	wait := trace.Wait{For: trace.WaitOtherPull, On: image, Detail: "another pod pulls this image already"}
	w := trace.Begin(p.bus, sp, wait)
	img, err := p.flights.wait(ctx, key, fl)
	trace.End(p.bus, w, wait)
	trace.End(p.bus, sp, pullEvent(image, img, true, err))
	return img, err
}

// fly does the pull: in its turn, within the registry's rate, with each of the
// credentials until one is good. It returns how long the runtime took.
func (p *Puller) fly(ctx context.Context, spec *runtimeapi.ImageSpec, auths []*runtimeapi.AuthConfig, sandbox *runtimeapi.PodSandboxConfig) (*runtimeapi.Image, time.Duration, error) {
	release, err := p.admit(ctx)
	if err != nil {
		return nil, 0, err
	}
	defer release()

	began := time.Now()
	sp := trace.Begin(p.bus, trace.FromContext(ctx), trace.ImagePull{Image: spec.Image})
	ctx = trace.ContextWith(ctx, sp)
	stop := p.follow(ctx, sp, spec.Image)
	img, err := p.fetch(ctx, spec, auths, sandbox)
	stop()
	trace.End(p.bus, sp, pullEvent(spec.Image, img, false, err))
	return img, time.Since(began), err
}

// fetch has the runtime pull, then asks what it got: size and user are not in the answer.
func (p *Puller) fetch(ctx context.Context, spec *runtimeapi.ImageSpec, auths []*runtimeapi.AuthConfig, sandbox *runtimeapi.PodSandboxConfig) (*runtimeapi.Image, error) {
	if len(auths) == 0 {
		auths = []*runtimeapi.AuthConfig{nil}
	}
	var errs []error
	for _, auth := range auths {
		if len(errs) > 0 && ctx.Err() != nil {
			break
		}
		_, err := p.service.PullImage(ctx, &runtimeapi.PullImageRequest{Image: spec, Auth: auth, SandboxConfig: sandbox})
		if err != nil {
			errs = append(errs, err)
			continue
		}
		img, err := p.status(ctx, spec)
		if err == nil && img == nil {
			err = errors.New("it is not there after a pull that succeeded")
		}
		if err != nil {
			return nil, inspectFailed{err}
		}
		return img, nil
	}
	if len(errs) == 1 {
		return nil, errs[0] // unwrapped: its beginning is the runtime's reason
	}
	return nil, utilerrors.NewAggregate(errs)
}

func pullEvent(image string, img *runtimeapi.Image, shared bool, err error) trace.ImagePull {
	e := trace.ImagePull{Image: image, Shared: shared, Ref: img.GetId(), Bytes: int64(img.GetSize())}
	if err != nil {
		e.Err = err.Error()
	}
	return e
}

// fingerprint tells sets of credentials apart without keeping them.
func fingerprint(auths []*runtimeapi.AuthConfig) string {
	if len(auths) == 0 {
		return ""
	}
	h := sha256.New()
	for _, a := range auths {
		b, err := proto.MarshalOptions{Deterministic: true}.Marshal(a)
		if err != nil { // cannot be: no required fields, strings from JSON
			b = []byte(strconv.Quote(a.String()))
		}
		_, _ = fmt.Fprintf(h, "%d:%s", len(b), b)
	}
	return string(h.Sum(nil))
}
