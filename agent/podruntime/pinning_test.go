package podruntime

import (
	"context"
	"fmt"
	"slices"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// fakePinning gives each container CPU 3.
type fakePinning struct{ *world }

func (f fakePinning) Of(types.UID, string) (cpus, nodes string, own bool) { return "3", "1", true }
func (f fakePinning) Own(types.UID) bool                                  { return true }

func (f fakePinning) Created(_ *v1.Pod, container, id, cpus string) {
	_ = f.do(context.Background(), fmt.Sprintf("created %s %t with CPUs %s", container, id != "", cpus))
}

func (f fakePinning) Started(uid types.UID, container, id string) {
	_ = f.do(context.Background(), fmt.Sprintf("started %s %t of %s", container, id != "", uid))
}

// Who gives containers CPUs learns when a container was created with them, and when it runs: the CPUs may have changed meanwhile.
func TestPinning(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, w *world) {
		w.rt.cfg.Pinning = fakePinning{w}
		if _, err := w.rt.Sync(t.Context(), always("web"), 1, nil); err != nil {
			t.Fatal(err)
		}
		did := slices.DeleteFunc(w.did(), func(s string) bool {
			return !slices.Contains([]string{"create web", "created web true with CPUs 3", "start web", "started web true of uid"}, s)
		})
		if want := []string{"create web", "created web true with CPUs 3", "start web", "started web true of uid"}; !slices.Equal(did, want) {
			t.Errorf("did %q, want %q", did, want)
		}
	})
}
