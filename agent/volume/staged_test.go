package volume

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/trace"
)

// stuckPlugin has volumes that stay on the node for some attempts.
type stuckPlugin struct {
	attachPlugin
	fails int
	tries []time.Duration // since the TearDown
}

func (p *stuckPlugin) TearDown(context.Context, Place) error {
	began := time.Now()
	return &StagedError{Err: errors.New("busy"), Again: func(context.Context) error {
		p.tries = append(p.tries, time.Since(began))
		if len(p.tries) <= p.fails {
			return errors.New("busy")
		}
		return nil
	}}
}

// A volume that cannot be unmounted from the node does not keep its pod, and is in use until it is unmounted.
func TestStaged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &stuckPlugin{fails: 2}
		var changed atomic.Int64
		m := running(t, Config{Plugins: []Plugin{p}, Claims: &oneClaim{pv: testPV()}, InUseChanged: func() { changed.Add(1) }})
		if _, err := m.Mount(t.Context(), claimPod("u", "data")); err != nil {
			t.Fatal(err)
		}
		if err := m.Unmount(t.Context(), trace.Pod{UID: "u"}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		changed.Store(0)
		for _, c := range []struct {
			wait time.Duration
			want []v1.UniqueVolumeName
		}{{time.Second, []v1.UniqueVolumeName{"test/pv"}}, {3 * time.Second, nil}} {
			if got := m.InUse(); !slices.Equal(got, []v1.UniqueVolumeName{"test/pv"}) || changed.Load() != 0 {
				t.Errorf("in use: %v, %d changes", got, changed.Load())
			}
			time.Sleep(c.wait)
			synctest.Wait()
			if got := m.InUse(); !slices.Equal(got, c.want) {
				t.Errorf("in use: %v, want %v", got, c.want)
			}
		}
		if want := []time.Duration{500 * time.Millisecond, 1500 * time.Millisecond, 3500 * time.Millisecond}; !slices.Equal(p.tries, want) || changed.Load() != 1 {
			t.Errorf("attempts after %v, want %v; %d changes", p.tries, want, changed.Load())
		}
	})
}

// hungPlugin has volumes that take long to tear down, and then stay on the node.
type hungPlugin struct {
	attachPlugin
	hangs atomic.Bool
}

func (p *hungPlugin) TearDown(context.Context, Place) error {
	time.Sleep(20 * time.Second)
	return &StagedError{Err: errors.New("slow"), Again: func(context.Context) error {
		if !p.hangs.Load() {
			return nil
		}
		time.Sleep(time.Minute)
		return errors.New("hung")
	}}
}

// A volume that cannot be unmounted from the node takes a slot from others for a bounded time, does so as slow work from then on, and is no
// sample of how long a TearDown takes.
func TestStagedSlots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &hungPlugin{}
		p.hangs.Store(true)
		m := running(t, Config{Plugins: []Plugin{p}, Claims: &oneClaim{pv: testPV()}, Concurrency: 1})
		mount := func(uid string) (took time.Duration) {
			began := time.Now()
			if _, err := m.Mount(t.Context(), claimPod(uid, "data")); err != nil {
				t.Fatal(err)
			}
			return time.Since(began)
		}
		unmount := func(uid string) {
			if err := m.Unmount(t.Context(), trace.Pod{UID: uid}); err != nil {
				t.Error(err)
			}
		}
		for _, uid := range []string{"a", "b", "c", "d", "e", "f"} {
			mount(uid)
		}
		unmount("a")
		time.Sleep(time.Second) // it is tried again
		mount("g")
		time.Sleep(time.Minute)
		m.mu.Lock()
		for _, s := range m.staged {
			if !s.job.slow {
				t.Error("it gets a slot as work that was not slow")
			}
		}
		if len(m.staged) != 1 {
			t.Errorf("%d volumes are left", len(m.staged))
		}
		m.mu.Unlock()
		p.hangs.Store(false)
		time.Sleep(5 * time.Minute)
		for _, uid := range []string{"b", "c", "d", "e"} {
			unmount(uid)
			time.Sleep(time.Minute)
		}
		go unmount("f")
		synctest.Wait()
		if took := mount("h"); took != time.Second { // attempts that succeed took no time
			t.Errorf("another volume waited %v for a slot", took)
		}
		time.Sleep(time.Minute)
	})
}
