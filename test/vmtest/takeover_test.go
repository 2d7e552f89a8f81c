package vmtest

import (
	"testing"

	"github.com/kubeloupe/kubeloupe/test/vm/node"
)

// TestTakeover has upstream's kubelet and kubeloupe take the node from each other, as their operator would: no container is restarted, and
// each starts and ends pods that the other knows.
func TestTakeover(t *testing.T) {
	b := setup(t)
	b.start(t, kinds())
	for _, c := range []struct {
		to   node.Agent
		name string
	}{
		{node.Kubelet, "of-upstream"}, {node.Kubeloupe, "of-kubeloupe"}, {node.Kubelet, "of-upstream-again"}, {node.Kubeloupe, "of-kubeloupe-again"},
	} {
		check := b.stays(t, "limited", "plain", "net")
		b.agent(t, c.to)
		b.Create(t, c.name)
		b.Runs(t, c.name)
		check(t)
	}
	// Each of them was started by one and is ended by the other.
	for _, name := range []string{"of-upstream", "of-upstream-again", "limited"} {
		if out, err := b.Kubectl(t.Context(), "delete", "pod", name, "--timeout", "5m"); err != nil {
			t.Errorf("%v: %s", err, out)
		}
	}
}
