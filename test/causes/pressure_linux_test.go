package causes_test

import (
	"os"
	"testing"
	"time"

	"github.com/kubeloupe/kubeloupe/agent/cri/sim"
	"github.com/kubeloupe/kubeloupe/test/pressure"
	"github.com/kubeloupe/kubeloupe/trace"
)

// TestNeighborsLimit starts a pod while others run out of memory within a limit of their own: the node's figures of pressure have their stalls,
// and the node has memory. It is not parallel: the others are not to be slowed down.
func TestNeighborsLimit(t *testing.T) {
	if _, err := os.Stat("/proc/pressure/memory"); err != nil || os.Geteuid() != 0 {
		t.Skip("it needs the kernel's figures of pressure, and root for a limit")
	}
	rt := runtime()
	rt.Latency["RunPodSandbox"] = sim.Latency{Fixed: 2500 * time.Millisecond}
	n := run(t, rt, nil, nil)
	pressure.Memory(t)
	n.set(podOf("web"))
	n.reached("web", "started")
	n.figures("next")
	if share := n.stalled("memory"); share < 15 {
		t.Skipf("the kernel shows that tasks stalled for memory %d %% of the time: the disk is quick", share)
	}
	for _, r := range n.recs {
		if u, ok := r.Event.(*trace.Usage); ok && u.Memory != nil && (u.Memory.Reclaims > 0 || u.Memory.Available < u.Memory.Total/5) {
			t.Skipf("the node is short of memory itself: %+v", *u.Memory)
		}
	}
	n.silent("web", "KL24")
}
