package e2e

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubeloupe/kubeloupe/trace"
)

func agentState(state, reason string) func(*trace.Record) bool {
	return func(r *trace.Record) bool {
		e, ok := r.Event.(*trace.Agent)
		return ok && string(e.State) == state && strings.Contains(e.Reason, reason)
	}
}

// restartContainerd ends the lab's containerd and starts it again, with a change in between.
func (n *node) restartContainerd(between func()) {
	n.t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(n.t.Context()), 3*deadline) // it may take as long as any thing before and after, and as between
	defer cancel()
	if err := n.RestartContainerd(ctx, syscall.SIGTERM, between); err != nil {
		n.t.Fatal(err)
	}
}

// TestContainerdRestarts ends containerd under the agent: it says so, its pods continue, and
// what was added and removed meanwhile comes and goes once containerd is back.
func TestContainerdRestarts(t *testing.T) {
	n := newNode(t)
	a := n.start()
	n.put("web.yaml", web)
	n.put("several.yaml", several)
	a.ready("web", "several")
	before := n.runs("several")
	a.mark()
	n.restartContainerd(func() {
		a.wait("the agent to notice", func(r *trace.Record) bool {
			e, ok := r.Event.(*trace.PLEGMode)
			return ok && e.Mode == "relist" || agentState("degraded", "container runtime")(r)
		})
		n.drop("web.yaml")
		n.put("other.yaml", named("other"))
	})
	a.gone("web")
	a.ready("other")
	if diff := cmp.Diff(before, n.runs("several")); diff != "" {
		t.Errorf("containers over a restart of containerd (-before +after):\n%s", diff)
	}
}

// TestNetworkNotReady starts the agent on a containerd without a CNI configuration: it
// says what is missing, starts pods of the host's network, and the others once it is there.
func TestNetworkNotReady(t *testing.T) {
	n := newNode(t)
	conf := filepath.Join(n.CNIConfDir, "10-kubeloupe.conflist")
	text, err := os.ReadFile(conf)
	if err != nil {
		t.Fatal(err)
	}
	restore := func() {
		if err := os.WriteFile(conf, text, 0o600); err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(restore)
	if err := os.Remove(conf); err != nil {
		t.Fatal(err)
	}
	n.await("containerd to notice", func() bool { return n.Ready(n.ctx()) != nil })
	a := n.start()
	a.wait("the agent to say so", agentState("degraded", "cni"))
	n.put("web.yaml", web)
	n.put("host.yaml", strings.Replace(named("host"), "spec:", "spec:\n  hostNetwork: true", 1))
	a.ready("host")
	if e := a.event("web", "NetworkNotReady"); !strings.Contains(e.Message, "cni") {
		t.Errorf("message %q does not name CNI", e.Message)
	}
	if got := n.sandboxes("web"); len(got) != 0 {
		t.Errorf("sandboxes without a network: %v", got)
	}
	restore()
	a.ready("web")
}
