package dra

import (
	"context"
	"maps"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// releaseAtOnce is how many calls of one driver are made at the same time for pods that are gone. Each driver has its own limit: one that
// hangs delays no claims of others.
const releaseAtOnce = 8

// releases unprepares the claims of pods that are gone. All methods are called by one goroutine, which also reads ended.
type releases struct {
	// release unprepares the claims of a pod. It calls done after each call of a driver.
	release func(ctx context.Context, pod types.UID, done func(driver string))
	// ended has what the goroutine must pass to handle.
	ended chan func()

	queue   []types.UID // in the order in which they are tried
	drivers map[types.UID][]string
	running map[types.UID]bool
	calls   map[string]int // by driver
	under   sync.WaitGroup
}

func newReleases(release func(ctx context.Context, pod types.UID, done func(driver string))) *releases {
	return &releases{release: release, ended: make(chan func()), running: map[types.UID]bool{}, calls: map[string]int{}}
}

// want sets which pods are gone, with the drivers of their claims. A pod that was tried is tried again after those that were not.
func (r *releases) want(ctx context.Context, gone map[types.UID][]string) {
	r.drivers = gone
	r.queue = slices.DeleteFunc(r.queue, func(pod types.UID) bool { _, still := gone[pod]; return !still })
	queued := map[types.UID]bool{}
	for _, pod := range r.queue {
		queued[pod] = true
	}
	for _, pod := range slices.Sorted(maps.Keys(gone)) {
		if !queued[pod] && !r.running[pod] {
			r.queue = append(r.queue, pod)
		}
	}
	r.start(ctx)
}

// start begins with the pods of which no driver has too many calls.
func (r *releases) start(ctx context.Context) {
	full := func(driver string) bool { return r.calls[driver] >= releaseAtOnce }
	r.queue = slices.DeleteFunc(r.queue, func(pod types.UID) bool {
		if ctx.Err() != nil || slices.ContainsFunc(r.driversOf(pod), full) {
			return false
		}
		r.begin(ctx, pod)
		return true
	})
}

// driversOf returns the drivers of a pod; "" stands for none.
func (r *releases) driversOf(pod types.UID) []string {
	if drivers := r.drivers[pod]; len(drivers) > 0 {
		return drivers
	}
	return []string{""}
}

func (r *releases) begin(ctx context.Context, pod types.UID) {
	open := map[string]bool{}
	for _, driver := range r.driversOf(pod) {
		open[driver] = true
		r.calls[driver]++
	}
	r.running[pod] = true
	finish := func(driver string) {
		if !open[driver] {
			return
		}
		open[driver] = false
		if r.calls[driver]--; r.calls[driver] == 0 {
			delete(r.calls, driver)
		}
	}
	tell := func(what func()) {
		select {
		case r.ended <- what:
		case <-ctx.Done(): // nobody uses this any more
		}
	}
	r.under.Go(func() {
		r.release(ctx, pod, func(driver string) { tell(func() { finish(driver) }) })
		tell(func() {
			delete(r.running, pod)
			for driver := range open {
				finish(driver)
			}
		})
	})
}

// handle takes an element of ended.
func (r *releases) handle(ctx context.Context, what func()) {
	what()
	r.start(ctx)
}
