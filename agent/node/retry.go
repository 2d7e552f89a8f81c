package node

import (
	"context"
	"math/rand/v2"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/kubeloupe/kubeloupe/agent/backoff"
	"github.com/kubeloupe/kubeloupe/trace"
)

const (
	firstBackoff = 200 * time.Millisecond
	maxBackoff   = 7 * time.Second
)

// retry is the pause before a retry: twice as long each time, plus up to a fifth. The zero value is the first.
type retry struct{ b wait.Backoff }

// wait pauses because of err. It returns early, with nil, when wake receives.
func (r *retry) wait(ctx context.Context, bus *trace.Bus, on trace.TargetKind, err error, wake <-chan struct{}) error {
	if r.b.Duration == 0 {
		r.b = backoff.Jittered(firstBackoff, maxBackoff, 0.2)
	}
	d := r.b.Step()
	w := trace.Wait{For: trace.WaitBackoff, Target: trace.Target{Kind: on}, Until: time.Now().Add(d).UnixNano()}.WithCause(err.Error())
	span := trace.Begin(bus, trace.FromContext(ctx), w)
	defer trace.End(bus, span, w)
	return sleep(ctx, d, wake)
}

// repeats reports whether the last attempt failed, too.
func (r *retry) repeats() bool { return r.b.Duration != 0 }

func (r *retry) reset() { r.b = wait.Backoff{} }

// sleep waits for d, or until wake receives.
func sleep(ctx context.Context, d time.Duration, wake <-chan struct{}) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-wake:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return nil
}

// jitter adds up to 4 %.
func jitter(d time.Duration) time.Duration { return d + rand.N(d/25+1) }
