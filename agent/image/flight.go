package image

import (
	"context"
	"sync"
	"time"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// flightKey is what makes two pulls the same.
type flightKey struct{ image, runtimeHandler, credentials string }

// flight is one pull under way, for one pod or several. It lives as long as anyone
// waits for it: the pod that began it may go, the others are still served.
type flight struct {
	done   chan struct{}
	cancel context.CancelFunc
	riders int // guarded by flights.mu

	// Set before done is closed.
	got landed
	err error
}

// landed is what a flight brought.
type landed struct {
	image *runtimeapi.Image
	took  time.Duration // of the runtime
	used  int           // which of the credentials was good
}

type flights struct {
	mu  sync.Mutex
	all map[flightKey]*flight
}

// board joins the flight of that key, or begins it by calling run in its own
// goroutine with a context that outlives ctx. It reports whether it joined.
func (f *flights) board(ctx context.Context, key flightKey, run func(context.Context) (landed, error)) (*flight, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if fl, ok := f.all[key]; ok {
		fl.riders++
		return fl, true
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	fl := &flight{done: make(chan struct{}), cancel: cancel, riders: 1}
	if f.all == nil {
		f.all = make(map[flightKey]*flight)
	}
	f.all[key] = fl
	go func() {
		defer cancel()
		fl.got, fl.err = run(ctx)
		f.land(key, fl)
		close(fl.done)
	}()
	return fl, false
}

// wait returns what the flight brought, or ctx's error once ctx is done. The last
// rider to give up ends the flight.
func (f *flights) wait(ctx context.Context, key flightKey, fl *flight) (landed, error) {
	select {
	case <-fl.done:
		return fl.got, fl.err
	case <-ctx.Done():
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if fl.riders--; fl.riders == 0 {
		if f.all[key] == fl {
			delete(f.all, key)
		}
		fl.cancel()
	}
	return landed{}, context.Cause(ctx)
}

// land takes a flight off the board, so that the next pull is a new one.
func (f *flights) land(key flightKey, fl *flight) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.all[key] == fl {
		delete(f.all, key)
	}
}
