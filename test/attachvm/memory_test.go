package attachvm

import (
	"context"
	"fmt"
	"strings"
	"testing"
)

const (
	// reread makes four files, and reads them again and again. Their pages are the unit's.
	reread   = `for i in 0 1 2 3; do (dd if=/dev/zero of=/var/tmp/kl-read.$i bs=1M count=48 conv=fdatasync; while :; do cat /var/tmp/kl-read.$i > /dev/null; done) & done; wait`
	released = `systemctl stop kl-reread 2>/dev/null; rm -f /var/tmp/kl-read.*; true`
	// stalled is the share of the last ten seconds in which tasks stalled for memory, in whole percent.
	stalled = `sed -n 's/^some avg10=\([0-9]*\).*/\1/p' /proc/pressure/memory`
	// share is the share of memory that is available, in percent.
	share = `awk '/MemTotal/ {t=$2} /MemAvailable/ {a=$2} END {print int(100*a/t)}' /proc/meminfo`
)

// number is a number that a script prints.
func (b *bench) number(t *testing.T, script string) (n int) {
	t.Helper()
	out := b.run(t, script)
	if _, err := fmt.Sscan(out, &n); err != nil {
		t.Fatalf("%q: %v", out, err)
	}
	return n
}

// readers reads files again and again for which its own limit has no room, until tasks stall for memory.
func (b *bench) readers(t *testing.T) {
	t.Helper()
	b.run(t, "systemd-run -q --collect --unit=kl-reread -p MemoryMax=24M sh -c '"+reread+"'")
	eventually(t, "tasks stall for memory", func() string {
		if n := b.number(t, stalled); n < 20 {
			return fmt.Sprintf("%d %% of the time", n)
		}
		return ""
	})
}

// pressed creates a pod and waits until attach shows its start, while tasks stall for memory. It returns what why says of the pod.
func (b *bench) pressed(t *testing.T, name string) string {
	t.Helper()
	b.createOf(t, pod, name)
	b.runs(t, name)
	n, left := b.number(t, stalled), b.number(t, share)
	t.Logf("when %s runs, tasks stall for memory %d %% of the time, and %d %% of the memory is available", name, n, left)
	if n < 15 {
		t.Errorf("tasks stalled for memory only %d %% of the time", n)
	}
	b.shown(t, name, "sandbox", "create web", "start    web")
	return b.run(t, "sleep 5; kubeloupe why default/"+name) // figures of its last second come later
}

// TestMemory has a pod start while tasks stall for memory in a cgroup at its own limit, on a node that has enough: that is not KL24.
func TestMemory(t *testing.T) {
	b := setup(t)
	b.attach(t, "")
	t.Cleanup(func() {
		if out, err := b.vm.Run(context.WithoutCancel(t.Context()), released); err != nil {
			t.Errorf("%v: %s", err, out)
		}
	})
	b.readers(t)
	if said := b.pressed(t, "limit"); strings.Contains(said, "KL24") || b.number(t, share) < 20 {
		t.Errorf("%d %% of the memory is available:\n%s", b.number(t, share), said)
	}
}
