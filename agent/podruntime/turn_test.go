package podruntime

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeloupe/kubeloupe/agent/podspec"
	"github.com/kubeloupe/kubeloupe/agent/podstate"
	"github.com/kubeloupe/kubeloupe/agent/semaphore"
)

func TestTurnOf(t *testing.T) {
	pod := always("web")
	ref := podspec.Ref(pod)
	removal := MakeClean(seen("sandbox:0"), true, false)
	removal.Ending = true
	for _, c := range []struct {
		name string
		seen *podstate.Pod
		k    knowledge
		plan Plan
		want semaphore.Turn
	}{
		{"a new pod, in order", nil, knowledge{}, Plan{}, semaphore.Turn{Class: "start", Order: 7}},
		{"on its way, in order", seen("sandbox:0", "init=exited/0"), knowledge{}, Plan{}, semaphore.Turn{Class: "start", Order: 7}},
		{"an init container that fails", seen("sandbox:0", "init=exited/1"), knowledge{}, Plan{}, semaphore.Turn{Class: "again"}},
		{"a container that crashed", seen("sandbox:0", "web=exited/1"), knowledge{}, Plan{}, semaphore.Turn{Class: "again"}},
		{"a start that failed", nil, knowledge{failed: true}, Plan{}, semaphore.Turn{Class: "again"}},
		{"a start that hung", nil, knowledge{failed: true, slow: true}, Plan{}, semaphore.Turn{Class: "again", Slow: true}},
		{"the end of a pod whose start hung", nil, knowledge{failed: true, slow: true}, Plan{Ending: true}, semaphore.Turn{Class: "end"}},
		{"an end that hung", nil, knowledge{slowEnd: true}, Plan{Ending: true}, semaphore.Turn{Class: "end", Slow: true}},
		{"a removal, after the ends", seen("sandbox:0"), knowledge{}, removal, semaphore.Turn{Class: "end", Order: 1}},
	} {
		c.want.Pod = ref
		if got := turnOf(pod, c.seen, &c.plan, &c.k, 7); got != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}

// Pods that end have their sandboxes stopped before those of pods that are gone from the API are removed.
func TestRemovalAfterEnds(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, w *world) {
		place, err := w.slots.Acquire(t.Context(), semaphore.Turn{Class: "start"})
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan error, 2)
		w.show(seen("-sandbox:0"))
		go func() { done <- w.rt.Clean(t.Context(), always("gone"), true, 1) }()
		synctest.Wait()
		w.show(seen("sandbox:0"))
		go func() { done <- w.rt.Kill(t.Context(), always("web"), nil, "deleted", 2) }()
		synctest.Wait()
		w.did()
		place.Release()
		for range 2 {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
		got := slices.DeleteFunc(w.did(), func(s string) bool { return s != "stop sandbox sb0" && s != "remove sandbox sb0" })
		if want := []string{"stop sandbox sb0", "remove sandbox sb0"}; !slices.Equal(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	})
}

// A pod whose sandbox hangs loses its slot to the next pod, and is in a separate class when it retries. If the call
// returns after all, the pod queues for the rest of its work.
func TestHungSandboxLosesItsSlot(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, w *world) {
		fail := make(chan error)
		w.on("run sandbox", func(context.Context) error { return <-fail })
		done := make(chan error, 1)
		sync := func() { _, err := w.rt.Sync(t.Context(), always("web"), 1, nil); done <- err }
		go sync()
		synctest.Wait()
		began := time.Now()
		other, err := w.slots.Acquire(t.Context(), semaphore.Turn{Class: "start", Order: 2})
		if err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took != 5*time.Second {
			t.Errorf("the next pod had a slot after %s, want 5s", took)
		}
		fail <- errors.New("deadline exceeded")
		if err := <-done; err == nil {
			t.Error("no error")
		}
		if k := w.rt.known[types.UID("uid")]; !k.slow || !k.failed {
			t.Errorf("it is not known that it overstayed: %+v", k)
		}
		w.did()
		go sync()
		synctest.Wait()
		if got := w.did(); slices.Contains(got, "run sandbox") {
			t.Errorf("without a slot: %v", got)
		}
		other.Release()
		synctest.Wait()
		if _, err := w.slots.Acquire(t.Context(), semaphore.Turn{Class: "start", Order: 3}); err != nil {
			t.Fatal(err)
		}
		fail <- nil // slow, but successful
		synctest.Wait()
		if got := w.did(); slices.Contains(got, "create web") {
			t.Errorf("it goes on without a slot: %v", got)
		}
		time.Sleep(time.Minute) // the pod with the slot is idle
		if err := <-done; err != nil {
			t.Error(err)
		}
		if w.rt.known[types.UID("uid")].slow {
			t.Error("it is still apart after all went well")
		}
	})
}
