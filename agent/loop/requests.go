package loop

import (
	"context"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeloupe/kubeloupe/trace"
)

// Requests are the requests of workers and their manager to the loop. They are built before both. Safe for concurrent
// use.
type Requests struct {
	due   chan types.UID
	freed chan trace.ResizeTrigger
	tidy  chan struct{}
}

// NewRequests returns an empty set.
func NewRequests() *Requests {
	return &Requests{due: make(chan types.UID, 1024), freed: make(chan trace.ResizeTrigger, 1), tidy: make(chan struct{}, 1)}
}

// Sync returns a function that requests a sync of a pod. It waits for the loop until ctx ends.
func (r *Requests) Sync(ctx context.Context) func(types.UID) {
	return func(uid types.UID) {
		select {
		case r.due <- uid:
		case <-ctx.Done():
		}
	}
}

// Freed says that a resize that waits may be possible now, and why. It does not block. Of several requests, the first one's reason counts.
func (r *Requests) Freed(why trace.ResizeTrigger) { request(r.freed, why) }

// Housekeep requests housekeeping. It does not block.
func (r *Requests) Housekeep() { request(r.tidy, struct{}{}) }

func request[T any](ch chan<- T, what T) {
	select {
	case ch <- what:
	default: // already requested
	}
}
