package podruntime

import (
	"strings"
	"testing"
	"testing/synctest"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/agent/semaphore"
)

// A container with a large environment queues separately: it waits while another large one is created, and holds no
// slot that others could use.
func TestLargeEnvironmentQueuesApart(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, w *world) {
		var err error
		if w.slots, err = semaphore.New(semaphore.Config{Name: "the runtime", Size: 2, Bus: w.rec.Bus()}); err != nil {
			t.Fatal(err)
		}
		w.rt.cfg.Slots = w.slots
		other, err := w.slots.Acquire(t.Context(), semaphore.Turn{Class: classStart, Large: true})
		if err != nil {
			t.Fatal(err)
		}
		pod := always("web")
		pod.Spec.Containers[0].Env = []v1.EnvVar{{Name: "LARGE", Value: strings.Repeat("x", largeCreate)}}
		done := make(chan error, 1)
		go func() { _, err := w.rt.Sync(t.Context(), pod, 1, nil); done <- err }()
		synctest.Wait()
		if got := w.did(); len(got) == 0 || got[len(got)-1] == "create web" {
			t.Errorf("it does not wait for the large one: %q", got)
		}
		plain, err := w.slots.Acquire(t.Context(), semaphore.Turn{Class: classStart, Order: 9})
		if err != nil {
			t.Fatal(err)
		}
		plain.Release()
		other.Release()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if got := strings.Join(w.did(), ", "); got != "create web, start web" {
			t.Errorf("then %s", got)
		}
	})
}
