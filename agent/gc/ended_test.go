package gc

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubeloupe/kubeloupe/trace"
)

// For eviction, the containers of pods that have terminated go as well; their logs stay, and so does what a pod that runs may need.
func TestDeleteEnded(t *testing.T) {
	n := newNode()
	for _, line := range []string{"deaddead exited live/web 10 s", "endedended exited ended/web 10 t"} {
		c := container(t, line)
		n.containers[c.Id] = c
	}
	for _, line := range []string{"s ready live 1", "t notready ended 1"} {
		s := sandbox(t, line)
		n.sandboxes[s.Id] = s
	}
	n.ended = map[string]bool{"ended": true}
	c, rec := newCollector(t, n, nil)
	if _, err := c.CollectContainers(t.Context()); err != nil || len(n.containers) != 2 {
		t.Errorf("usually, %d containers are left, want 2: %v", len(n.containers), err)
	}
	sum, err := c.DeleteEnded(t.Context())
	if err != nil || sum.Removed != 2 || n.containers["deaddead"] == nil || len(n.sandboxes) != 1 {
		t.Errorf("%+v, %v, containers %v, sandboxes %v", sum, err, n.containers, n.sandboxes)
	}
	if pass := lastPass(t, rec); pass.Cause != trace.GCPressure {
		t.Errorf("pass %+v", pass)
	}
	last := decided(rec)
	if d := cmp.Diff([]string{"remove container web of ns/pod-ended (endedended)", "keep container web of ns/pod-live (deaddead)", "remove sandbox of ns/pod-ended (t)"}, last[len(last)-3:]); d != "" {
		t.Error(d)
	}
}
