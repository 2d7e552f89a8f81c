package image

import (
	"context"
	"fmt"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
)

// failed records a failed pull and returns a typed error.
func (p *Puller) failed(ctx context.Context, req *Request, began time.Time, cause error) error {
	err := pullError(req.Image, cause)
	p.warn(ctx, req, "Failed", fmt.Sprintf("Failed to pull image %q: %v", req.Image, cause))
	a := p.backoff.fail(target{req.PodUID, req.Image}, began, time.Now(), err.Error())
	err.RetryAt = a.until()
	p.decide(ctx, req, a, fmt.Sprintf("attempt %d failed; the next may begin in %v", a.failures, a.delay))
	return err
}

// backingOff returns the error of a pod in back-off.
func (p *Puller) backingOff(ctx context.Context, req *Request) error {
	now := time.Now()
	a, waiting := p.backoff.check(target{req.PodUID, req.Image}, now)
	if !waiting {
		return nil
	}
	msg := fmt.Sprintf("Back-off pulling image %q", req.Image)
	p.note(ctx, req, "BackOff", msg)
	p.decide(ctx, req, a, fmt.Sprintf("the next attempt may begin in %v", a.until().Sub(now).Round(time.Millisecond)))
	return &Error{Reason: ImagePullBackOff, Message: msg + ": " + a.err, RetryAt: a.until()}
}

func (p *Puller) decide(ctx context.Context, req *Request, a attempt, reason string) {
	trace.Point(p.bus, trace.FromContext(ctx), trace.Decision{
		By: trace.ByBackoff, Subject: req.Image, Verdict: trace.VerdictWait, Reason: reason,
		Until: a.until().UnixNano(), Tries: a.failures, Cause: a.err,
		Inputs: []trace.KV{
			{K: "container", V: req.Container},
			{K: "delay", V: a.delay.String()},
			{K: "failed_at", V: a.at.Format(time.RFC3339Nano)},
		},
	})
}
