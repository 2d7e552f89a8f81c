package auth

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/util/wait"
)

const (
	attempts    = 5
	callTimeout = 10 * time.Second
)

// retry retries f after temporary errors.
//
// Upstream: apiserver/pkg/util/webhook/webhook.go, WithExponentialBackoff and DefaultShouldRetry.
func retry(ctx context.Context, f func(context.Context) error) error {
	pauses := wait.Backoff{Duration: 500 * time.Millisecond, Factor: 1.5, Steps: attempts}
	for n := 1; ; n++ {
		call, cancel := context.WithTimeout(ctx, callTimeout)
		err := f(call)
		cancel()
		if err == nil || n == attempts || !passing(err) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(pauses.Step()):
		}
	}
}

func passing(err error) bool {
	_, later := apierrors.SuggestsClientDelay(err)
	return later || utilnet.IsConnectionReset(err) || utilnet.IsHTTP2ConnectionLost(err) ||
		apierrors.IsInternalError(err) || apierrors.IsTimeout(err) || apierrors.IsTooManyRequests(err)
}
