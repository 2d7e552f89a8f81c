package attach

import (
	"os"
	"testing"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/cause"
	"github.com/kubeloupe/kubeloupe/test/pressure"
	"github.com/kubeloupe/kubeloupe/trace"
)

// beside starts a pod whose sandbox takes three seconds.
func (b *bench) beside(t *testing.T, a *attached, pod string) {
	t.Helper()
	b.create(t, pod)
	b.started(t, a, "default/"+pod)
	time.Sleep(2 * time.Second) // the figures of the last second come later
}

// TestPressure has tasks of the node stall while pods start: for a disk, and, as a near-miss, for memory within a limit of their own. Node-wide
// want of memory is not made: it would stop whatever else runs here.
func TestPressure(t *testing.T) {
	if *pairs == 0 {
		t.Skip("it strains the disk and the memory of the machine for minutes: make attach-cost")
	}
	if _, err := os.Stat("/proc/pressure/io"); err != nil {
		t.Skip("this kernel has no figures of pressure")
	}
	b := setup(t)
	delay := b.slowNetwork(t)
	if err := os.WriteFile(delay, []byte("3\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	a := b.attach(t)
	t.Run("none", func(t *testing.T) {
		b.beside(t, a, "calm")
		for id, resource := range map[string]trace.Resource{"KL24": trace.ResourceMemory, "KL25": trace.ResourceIO} {
			if share, _ := a.strained(t, "calm", resource); share >= 10 {
				t.Logf("tasks of this machine stall for %s %d %% of the time by themselves", resource, share)
				continue
			}
			b.silent(t, a, "default/calm", id)
		}
	})
	t.Run("disk", func(t *testing.T) {
		pressure.Disk(t)
		b.beside(t, a, "disk")
		if share, _ := a.strained(t, "disk", trace.ResourceIO); share < 40 {
			t.Skipf("the kernel shows that tasks stalled for a disk %d %% of the time: this disk takes it, or is not seen here", share)
		}
		b.speaks(t, a, "default/disk", "KL25", cause.Likely, "tasks of the node stalled for a disk")
	})
	t.Run("limit", func(t *testing.T) {
		pressure.Memory(t)
		b.beside(t, a, "limit")
		share, short := a.strained(t, "limit", trace.ResourceMemory)
		if share < 15 || short {
			t.Skipf("tasks stalled for memory %d %% of the time, and the node is short of memory: %t", share, short)
		}
		t.Logf("tasks stalled for memory %d %% of the time", share)
		b.silent(t, a, "default/limit", "KL24")
	})
}
