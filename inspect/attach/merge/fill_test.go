package merge

import (
	"testing"

	"github.com/kubeloupe/kubeloupe/trace"
)

// TestFillSandbox: that a sandbox replaces another one, only the kubelet tells; the runtime knows better when it was made.
func TestFillSandbox(t *testing.T) {
	runtime := &trace.Action{ID: "sandbox", Verb: trace.VerbSandbox}
	kubelet := &trace.Action{ID: "sandbox", Verb: trace.VerbSandbox, Replaces: trace.SandboxNotReady, Reason: "the sandbox is not ready"}
	for _, e := range []trace.Event{fill(runtime, kubelet), fill(kubelet, runtime)} {
		if a, ok := e.(*trace.Action); !ok || a.Replaces != trace.SandboxNotReady || a.Reason != kubelet.Reason {
			t.Errorf("%+v", e)
		}
	}
	if runtime.Replaces != "" {
		t.Error("the runtime's own event was changed")
	}
}
