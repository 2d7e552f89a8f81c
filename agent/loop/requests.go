package loop

import (
	"context"

	"k8s.io/apimachinery/pkg/types"
)

// Requests are the requests of workers and their manager to the loop. They are built before both. Safe for concurrent
// use.
type Requests struct {
	due   chan types.UID
	freed chan struct{}
	tidy  chan struct{}
}

// NewRequests returns an empty set.
func NewRequests() *Requests {
	return &Requests{due: make(chan types.UID, 1024), freed: make(chan struct{}, 1), tidy: make(chan struct{}, 1)}
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

// Freed says that resources are free. It does not block.
func (r *Requests) Freed() { request(r.freed) }

// Housekeep requests housekeeping. It does not block.
func (r *Requests) Housekeep() { request(r.tidy) }

func request(ch chan<- struct{}) {
	select {
	case ch <- struct{}{}:
	default: // already requested
	}
}
