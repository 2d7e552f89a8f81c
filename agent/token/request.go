package token

import (
	"context"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kubeloupe/kubeloupe/agent/backoff"
	"github.com/kubeloupe/kubeloupe/trace"
)

// The API server issues tokens of accounts to a node when it has seen that their pods run there. The node may have seen
// the pod first.
const (
	firstRefusal = 10 * time.Millisecond
	lastRefusal  = 2 * time.Second // in total
)

func (m *Manager) request(ctx context.Context, namespace, account string, want *authenticationv1.TokenRequest) (*authenticationv1.TokenRequest, error) {
	what := trace.Target{Kind: trace.TargetToken, Namespace: namespace, Name: account}
	wait := trace.Wait{For: trace.WaitObject, Target: what}
	span := trace.Begin(m.cfg.Bus, trace.FromContext(ctx), wait)
	defer func() { trace.End(m.cfg.Bus, span, wait) }()
	ctx, cancel := context.WithTimeout(trace.ContextWith(ctx, span), requestTimeout)
	defer cancel()
	began := time.Now()
	for pauses := backoff.Doubling(firstRefusal, lastRefusal); ; {
		delay := pauses.Duration
		got, err := m.create(ctx, namespace, account, want)
		if err == nil {
			return got, nil
		}
		if !apierrors.IsForbidden(err) || time.Since(began)+delay > lastRefusal {
			return nil, err
		}
		pauseWait := trace.Wait{For: trace.WaitBackoff, Target: what, Until: time.Now().Add(delay).UnixNano()}.WithCause(err.Error())
		pauseSpan := trace.Begin(m.cfg.Bus, span, pauseWait)
		pause(ctx, pauses.Step())
		trace.End(m.cfg.Bus, pauseSpan, pauseWait)
	}
}

// pause sleeps, unless ctx ends.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
