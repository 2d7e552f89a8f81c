package image

import (
	"context"
	"sync"
	"time"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// annRuntimeHandler is the annotation by which containerd chooses the runtime handler, and so the snapshotter, of a pull.
const annRuntimeHandler = "io.containerd.cri.runtime-handler"

// flightKey identifies equal pulls. A runtime may accept an image for one namespace and reject it for another: CRI-O has
// a policy for signatures for each.
type flightKey struct{ image, runtimeHandler, credentials, namespace, annotated string }

// keyOf returns the key of a pull. Of the sandbox, it has only what can change the pull's result.
func keyOf(spec *runtimeapi.ImageSpec, auths []*runtimeapi.AuthConfig, sandbox *runtimeapi.PodSandboxConfig) flightKey {
	return flightKey{
		image: spec.Image, runtimeHandler: spec.RuntimeHandler, credentials: fingerprint(auths),
		namespace: sandbox.GetMetadata().GetNamespace(), annotated: sandbox.GetAnnotations()[annRuntimeHandler],
	}
}

// flight is one running pull, for one pod or several. It runs as long as a pod waits for it, even if the pod that began
// it is gone.
type flight struct {
	done   chan struct{}
	cancel context.CancelFunc
	riders int // guarded by flights.mu

	// Set before done is closed.
	got landed
	err error
}

// landed is the result of a flight.
type landed struct {
	image *runtimeapi.Image
	ref   string        // the image's ID
	took  time.Duration // the runtime's time
	used  int           // which of the credentials succeeded
}

type flights struct {
	mu  sync.Mutex
	all map[flightKey]*flight
}

// board joins the flight of that key, or begins it by calling run in a separate goroutine with a context that outlives
// ctx. It reports whether it joined.
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

// wait returns the flight's result, or ctx's error if ctx ends. When the last pod stops waiting, the flight is
// canceled.
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

// land removes a finished flight, so that the next pull is a new one.
func (f *flights) land(key flightKey, fl *flight) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.all[key] == fl {
		delete(f.all, key)
	}
}
