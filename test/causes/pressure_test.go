package causes_test

import (
	"os"
	"testing"
	"time"

	"github.com/kubeloupe/kubeloupe/agent/cri/sim"
	"github.com/kubeloupe/kubeloupe/test/pressure"
	"github.com/kubeloupe/kubeloupe/trace"
)

// TestBusyDisk starts a pod while others write to the disk. It is not parallel: the others are not to be slowed down.
func TestBusyDisk(t *testing.T) {
	if _, err := os.Stat("/proc/pressure/io"); err != nil {
		t.Skip("this kernel has no figures of pressure")
	}
	rt := runtime()
	rt.Latency["RunPodSandbox"] = sim.Latency{Fixed: 1500 * time.Millisecond}
	n := run(t, rt, nil, nil)
	pressure.Disk(t)
	n.set(podOf("web"))
	n.reached("web", "started")
	n.figures("next")
	if share := n.stalled("io"); share < 40 {
		t.Skipf("the kernel shows that tasks stalled for a disk %d %% of the time: this disk takes it, or is not seen here", share)
	}
	n.speaks("web", "KL25", "tasks of the node stalled for a disk")
}

// TestIdleDisk: nothing is said of a disk where nothing stalls.
func TestIdleDisk(t *testing.T) {
	n := run(t, runtime(), nil, nil)
	n.set(podOf("web"))
	n.reached("web", "started")
	n.figures("next")
	for _, resource := range []string{"io", "memory"} {
		if share := n.stalled(resource); share >= 10 {
			t.Skipf("tasks of this machine stall for %s %d %% of the time by themselves", resource, share)
		}
	}
	n.silent("web", "KL24", "KL25")
}

// figures waits for figures of the time until now: with each pod that comes the agent takes some.
func (n *node) figures(next string) {
	n.t.Helper()
	seen := n.recs[len(n.recs)-1].Time
	n.set(append(n.pods, podOf(next))...)
	n.until("figures of that time", func(r *trace.Record) bool {
		_, ok := r.Event.(*trace.Usage)
		return ok && r.Time > seen
	})
}

// stalled is for how much of the time tasks stalled for a resource, in percent, at worst.
func (n *node) stalled(resource string) (share int) {
	for _, r := range n.recs {
		u, ok := r.Event.(*trace.Usage)
		if !ok || u.Interval <= 0 {
			continue
		}
		for _, s := range u.Stalls {
			if string(s.Resource) == resource {
				share = max(share, int(100*s.Some/u.Interval))
			}
		}
	}
	return share
}
