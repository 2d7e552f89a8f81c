package auth

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	utilnet "k8s.io/apimachinery/pkg/util/net"
)

const (
	attempts    = 5
	callTimeout = 10 * time.Second
)

// retry tries again what may work the next time.
//
// Upstream: apiserver/pkg/util/webhook/webhook.go, WithExponentialBackoff and DefaultShouldRetry.
func retry(ctx context.Context, f func(context.Context) error) error {
	pause := 500 * time.Millisecond
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
		case <-time.After(pause):
			pause += pause / 2
		}
	}
}

func passing(err error) bool {
	_, later := apierrors.SuggestsClientDelay(err)
	return later || utilnet.IsConnectionReset(err) || utilnet.IsHTTP2ConnectionLost(err) ||
		apierrors.IsInternalError(err) || apierrors.IsTimeout(err) || apierrors.IsTooManyRequests(err)
}
