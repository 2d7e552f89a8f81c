package kubeclient

import (
	"context"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/flowcontrol"

	"github.com/kubeloupe/kubeloupe/trace"
)

// limiter is a token bucket that publishes waits.
type limiter struct {
	flowcontrol.RateLimiter
	bus  *trace.Bus
	wait trace.Wait
}

func newLimiter(bus *trace.Bus, client string, qps, burst int32) flowcontrol.RateLimiter {
	if qps == 0 {
		qps = int32(rest.DefaultQPS)
	}
	if burst <= 0 {
		burst = int32(rest.DefaultBurst)
	}
	return &limiter{
		RateLimiter: flowcontrol.NewTokenBucketRateLimiter(float32(qps), int(burst)), bus: bus,
		wait: trace.Wait{
			For: trace.WaitTokens, Target: trace.Target{Kind: trace.TargetClient, Name: client}, Every: time.Second / time.Duration(qps), Burst: int(burst),
		},
	}
}

// Wait implements flowcontrol.RateLimiter: client-go calls it before each request.
func (l *limiter) Wait(ctx context.Context) error {
	if l.TryAccept() {
		return nil
	}
	span := trace.Begin(l.bus, trace.FromContext(ctx), l.wait)
	defer trace.End(l.bus, span, l.wait)
	return l.RateLimiter.Wait(ctx)
}
