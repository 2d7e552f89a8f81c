package dra

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"
	drapb "k8s.io/kubelet/pkg/apis/dra/v1"
)

// A driver that hangs delays no claims of others, also where pods have claims of both, and each driver has at most 8 calls.
func TestHungDriver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		gone := map[types.UID][]string{}
		for i := range 100 {
			gone[types.UID(fmt.Sprintf("a%02d", i))] = []string{gpus}
			gone[types.UID(fmt.Sprintf("b%02d", i))] = []string{gpus, nics}
			gone[types.UID(fmt.Sprintf("c%02d", i))] = []string{nics}
		}
		gone["d"] = nil // no driver need be called
		var mu sync.Mutex
		calls, most, ended, tried := map[string]int{}, map[string]int{}, map[types.UID]time.Duration{}, map[types.UID]int{}
		began := time.Now()
		r := newReleases(func(_ context.Context, pod types.UID, done func(string)) {
			mu.Lock()
			tried[pod]++
			mu.Unlock()
			var under sync.WaitGroup
			for _, driver := range gone[pod] {
				under.Go(func() {
					mu.Lock()
					calls[driver]++
					most[driver] = max(most[driver], calls[driver])
					mu.Unlock()
					took := 45 * time.Second
					if driver == nics {
						took = time.Millisecond
					}
					time.Sleep(took)
					mu.Lock()
					calls[driver]--
					mu.Unlock()
					done(driver)
				})
			}
			under.Wait()
			mu.Lock()
			ended[pod] = time.Since(began)
			mu.Unlock()
		})
		r.want(ctx, maps.Clone(gone))
		over := make(chan struct{})
		go func() {
			defer close(over)
			for {
				select {
				case <-ctx.Done():
					return
				case what := <-r.ended:
					r.handle(ctx, what)
				}
			}
		}()
		time.Sleep(10 * time.Second)
		synctest.Wait()
		mu.Lock()
		for i := range 100 {
			if at, ok := ended[types.UID(fmt.Sprintf("c%02d", i))]; !ok || at > time.Second {
				t.Errorf("the claims of pod c%02d were unprepared after %s (%t)", i, at, ok)
			}
		}
		if _, ok := ended["d"]; !ok {
			t.Error("a pod without drivers waits")
		}
		if most[gpus] != releaseAtOnce || most[nics] > releaseAtOnce || most[nics] == 0 {
			t.Errorf("calls at the same time: %v", most)
		}
		mu.Unlock()
		time.Sleep(time.Hour)
		synctest.Wait()
		mu.Lock()
		if len(ended) != len(gone) || slices.ContainsFunc(slices.Collect(maps.Values(tried)), func(n int) bool { return n != 1 }) {
			t.Errorf("%d of %d pods ended, tried %v", len(ended), len(gone), tried)
		}
		mu.Unlock()
		cancel()
		r.under.Wait()
		<-over
		if len(r.running) != 0 || len(r.calls) != 0 || len(r.queue) != 0 {
			t.Errorf("left: %v, %v, %v", r.running, r.calls, r.queue)
		}
	})
}

// A pod that failed is tried after those that were not tried; one that is not gone any more is not tried.
func TestReleaseOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		var mu sync.Mutex
		var order []types.UID
		gates := map[types.UID]chan struct{}{"a": make(chan struct{}), "b": make(chan struct{}), "c": make(chan struct{}), "d": make(chan struct{})}
		r := newReleases(func(_ context.Context, pod types.UID, done func(string)) {
			mu.Lock()
			order = append(order, pod)
			mu.Unlock()
			<-gates[pod]
			done(gpus)
			done("unknown")
		})
		r.calls[gpus] = releaseAtOnce - 1 // one at a time
		gone := map[types.UID][]string{"a": {gpus}, "b": {gpus}, "c": {gpus}, "d": {gpus}}
		end := func() { // of a pod: two calls, and all
			for range 3 {
				r.handle(ctx, <-r.ended)
			}
		}
		r.want(ctx, gone)
		close(gates["a"])
		end()
		delete(gone, "c")
		r.want(ctx, gone)
		close(gates["b"])
		end()
		close(gates["d"])
		end()
		end() // of a, again
		synctest.Wait()
		mu.Lock()
		defer mu.Unlock()
		if want := []types.UID{"a", "b", "d", "a"}; !slices.Equal(order, want) {
			t.Errorf("order %v, want %v", order, want)
		}
		cancel()
		r.under.Wait()
	})
}

// The same with drivers on sockets: the claims of one are unprepared while another hangs.
func TestReconcileWithHungDriver(t *testing.T) {
	n := newNode(t, t.TempDir())
	n.run()
	hung := make(chan struct{})
	slow := &fakeDriver{name: gpus, unprepare: func(ctx context.Context, _ []*drapb.Claim) (*drapb.NodeUnprepareResourcesResponse, error) {
		select {
		case <-hung:
		case <-ctx.Done():
		}
		return nil, errors.New("hung")
	}}
	defer close(hung)
	n.driver(slow)
	n.driver(&fakeDriver{name: nics})
	for i := range 3 * releaseAtOnce {
		for _, driver := range []string{gpus, nics} {
			name := fmt.Sprintf("%.3s%02d", driver, i)
			n.claim(name, []string{driver}, types.UID(name))
			if err := n.Prepare(t.Context(), n.pod(types.UID(name), name)); err != nil {
				t.Fatal(err)
			}
			n.gone(types.UID(name))
		}
	}
	n.reconcileSoon()
	n.until("the claims of the driver that answers to be unprepared", func() bool {
		return !slices.ContainsFunc(slices.Collect(maps.Keys(n.users())), func(uid types.UID) bool { return uid[:3] == "nic" })
	})
	if left := len(n.users()); left != 3*releaseAtOnce {
		t.Errorf("%d pods are left", left)
	}
}
