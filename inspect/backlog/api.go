package backlog

import (
	"slices"

	"github.com/kubeloupe/kubeloupe/inspect/evidence"
	"github.com/kubeloupe/kubeloupe/inspect/internal/ring"
	"github.com/kubeloupe/kubeloupe/inspect/store"
	"github.com/kubeloupe/kubeloupe/trace"
)

// Limits on what is kept about the API server.
const (
	maxFailures = 64
	maxWatches  = 4096
)

// api is what is kept about calls to the API server.
type api struct {
	calls   ring.Ring[*store.Item] // the last call that ended
	watches map[trace.SpanID]*store.Item
	// ok is the last successful call, failures are the failed calls after it: the first and the last ones.
	ok       *store.Item
	failures []*store.Item
	failed   *store.Item // the last failure of all
	// lease is the last successful renewal of the node's lease, noLease the last failed one.
	lease, noLease *store.Item
}

func newAPI(calls int) api {
	return api{calls: ring.New[*store.Item](calls), watches: map[trace.SpanID]*store.Item{}}
}

func (a *api) walk(v visit) {
	history(v, needHistory, &a.calls)
	table(v, needParts, a.watches)
	many(v, needParts, &a.failures)
	one(v, needNode, &a.ok, &a.failed, &a.lease, &a.noLease)
}

func (a *api) fold(r *trace.Record, e *trace.APICall, it *store.Item) {
	if e.Ended {
		delete(a.watches, r.Parent)
		a.calls.Push(it)
		return
	}
	if r.Edge == trace.EdgeBegin {
		return
	}
	a.calls.Push(it)
	if e.Verb == trace.APIWatch && !evidence.Refused(e) && len(a.watches) < maxWatches {
		a.watches[r.Span] = it
	}
	a.health(e, it)
	switch says, renewed := evidence.Lease(e); {
	case renewed:
		a.lease = it
	case says:
		a.noLease = it
	}
}

func (a *api) health(e *trace.APICall, it *store.Item) {
	switch evidence.Health(e) {
	case evidence.NoAnswer:
	case evidence.Answered:
		a.ok, a.failures = it, a.failures[:0]
	case evidence.Unhealthy:
		a.failed = it
		if len(a.failures) == maxFailures {
			a.failures = slices.Delete(a.failures, 1, 2)
		}
		a.failures = append(a.failures, it)
	}
}
