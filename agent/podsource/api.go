package podsource

import (
	"context"
	"errors"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/agent/backoff"
	"github.com/kubeloupe/kubeloupe/agent/kubeapi"
	"github.com/kubeloupe/kubeloupe/agent/podspec"
	"github.com/kubeloupe/kubeloupe/trace"
)

// SourceAPI is the name of the API server's source.
const SourceAPI = podspec.SourceAPI

// The back-off to an API server that does not respond doubles from the first to the last value. Upstream: client-go
// tools/cache, defaultBackoffInit and defaultBackoffMax.
const (
	firstAPIRetry = 250 * time.Millisecond
	lastAPIRetry  = 15 * time.Second
)

// Mirrors takes the pods of the API server that mirror static ones.
type Mirrors interface {
	// Set receives all mirror pods that the API server has for this node, when they are first known and on every change. It is
	// called from one goroutine and must not block. The pods never change.
	Set(ctx context.Context, pods []*v1.Pod)
}

// APIConfig is what an API needs.
type APIConfig struct {
	// Client lists and watches pods. Its watches must have no timeout of the client.
	Client kubeapi.PodsGetter
	// Node is the node's name.
	Node string
	// Mirrors may be nil: then mirror pods are ignored.
	Mirrors Mirrors
	// After is closed when the source may begin; nil means immediately. Upstream: pkg/kubelet/config/apiserver.go, nodeHasSynced.
	After <-chan struct{}
	// Bus may be nil.
	Bus *trace.Bus
}

// API is the source of the pods that the API server has bound to the node.
//
// It lists once and then follows a watch; it lists again only when the API server cannot continue the watch. While the
// API server does not respond, its pods stay. Mirror pods are not run: Mirrors receives them, before the Set of the
// same list, and they are never in a Set.
//
// Upstream: pkg/kubelet/config/apiserver.go, NewSourceApiserver.
type API struct {
	cfg  APIConfig
	wake chan struct{}

	// The following fields belong to Run's goroutine.
	pods    []*v1.Pod // to run, in order of creation
	mirrors []*v1.Pod
	version string // the watch continues from this resourceVersion; "" if a list is needed
	listed  bool   // a complete list was delivered
	failed  string // the error that was last published; "" without one
	tries   int    // failures in a row
	// expiries counts consecutive watches that the API server could not continue.
	expiries int
}

// NewAPI returns a source that sends no request before Run.
func NewAPI(c APIConfig) (*API, error) {
	switch {
	case c.Client == nil:
		return nil, errors.New("api source: no client")
	case c.Node == "":
		return nil, errors.New("api source: the node's name is empty")
	}
	return &API{cfg: c, wake: make(chan struct{}, 1)}, nil
}

// Name implements Source.
func (a *API) Name() string { return SourceAPI }

// Run implements Source.
func (a *API) Run(ctx context.Context, set func(Set)) error {
	if a.cfg.After != nil {
		select {
		case <-ctx.Done():
			return nil
		case <-a.cfg.After:
		}
	}
	for {
		err := a.follow(ctx, set)
		if ctx.Err() != nil {
			return nil
		}
		if err == nil {
			continue
		}
		a.tell(err)
		if !a.backoff(ctx, err) {
			return nil
		}
	}
}

// tell publishes an error, once for each message.
func (a *API) tell(err error) {
	if a.failed == err.Error() {
		return
	}
	a.failed = err.Error()
	trace.Point(a.cfg.Bus, trace.Span{}, trace.SourceError{Source: SourceAPI, Message: a.failed, Kept: a.listed})
}

// well records that the API server responds, and publishes the end of an error.
func (a *API) well() {
	a.tries = 0
	if a.failed != "" {
		a.failed = ""
		trace.Point(a.cfg.Bus, trace.Span{}, trace.SourceError{Source: SourceAPI})
	}
}

// backoff waits before the next attempt; false if ctx ended.
func (a *API) backoff(ctx context.Context, err error) bool {
	delay := retryDelay(a.tries, firstAPIRetry, lastAPIRetry)
	a.tries++
	wait := trace.Wait{
		For: trace.WaitBackoff, Target: trace.Target{Kind: trace.TargetWatch}, Tries: a.tries, Cause: err.Error(), Until: time.Now().Add(delay).UnixNano(),
	}
	span := trace.Begin(a.cfg.Bus, trace.Span{}, wait)
	defer trace.End(a.cfg.Bus, span, wait)
	select { // ignore a Wake from before this failure
	case <-a.wake:
	default:
	}
	select {
	case <-ctx.Done():
		return false
	case <-a.wake:
		return true
	case <-time.After(delay):
		return true
	}
}

// Wake requests an attempt now, before the back-off is finished: the API server may answer again.
func (a *API) Wake() {
	select {
	case a.wake <- struct{}{}:
	default:
	}
}

// retryDelay returns the delay before the next attempt after a number of failed ones. It doubles with each, and is
// random between half and all of that, so that nodes do not retry at the same time.
func retryDelay(tries int, first, last time.Duration) time.Duration {
	return backoff.After(backoff.Spread(first, last), tries)
}

// deliver delivers the current pods and mirror pods.
func (a *API) deliver(ctx context.Context, set func(Set), span trace.Span, pods, mirrors bool) {
	if mirrors && a.cfg.Mirrors != nil {
		a.cfg.Mirrors.Set(trace.ContextWith(ctx, span), slices.Clone(a.mirrors))
	}
	if pods {
		set(Set{Pods: slices.Clone(a.pods), Span: span})
	}
}
