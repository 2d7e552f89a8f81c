package podruntime

import (
	"slices"
	"testing"

	"github.com/kubeloupe/kubeloupe/agent/podstate"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/tracetest"
)

// That a sandbox is replaced is said once, before what runs in it is killed; a pod's first sandbox replaces none.
func TestSandboxChanged(t *testing.T) {
	for _, c := range []struct {
		name string
		seen *podstate.Pod
		want []string
	}{
		{"first", seen(), []string{"Created", "Started"}},
		{"its container runs", seen("-sandbox:0", "web=running"), []string{"SandboxChanged", "Killing", "Created", "Started"}},
		{"nothing runs", seen("-sandbox:0", "web=exited/0"), []string{"SandboxChanged", "Created", "Started"}},
		{"it is right", seen("sandbox:0"), []string{"Created", "Started"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			inBubble(t, nil, func(t *testing.T, w *world) {
				w.show(c.seen)
				if _, err := w.rt.Sync(t.Context(), always("web"), 1, nil); err != nil {
					t.Fatal(err)
				}
				var got []string
				for _, e := range tracetest.Events[trace.NodeEvent](w.rec) {
					got = append(got, e.Reason)
				}
				if !slices.Equal(got, c.want) {
					t.Errorf("events %q, want %q", got, c.want)
				}
			})
		})
	}
}
