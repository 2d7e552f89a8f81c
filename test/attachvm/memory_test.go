package attachvm

import (
	"context"
	"fmt"
	"strings"
	"testing"

	vmbench "github.com/kubeloupe/kubeloupe/test/vm/bench"
)

const (
	// reread makes four files, and reads them again and again. Their pages are the unit's.
	reread = `for i in 0 1 2 3; do (dd if=/dev/zero of=/var/tmp/kl-read.$i bs=1M count=48 conv=fdatasync; while :; do cat /var/tmp/kl-read.$i > /dev/null; done) & done; wait`
	// swapping fills the memory that is available and 100 MiB more, of a swap file, and uses all of it again and again, page by page. Who needs
	// memory then has to wait until others' pages are on the disk.
	swapping = `$n = shift; push @a, "x" x (1 << 20) for 1 .. $n; while (1) { substr($a[rand @a], int(rand 1 << 20), 1) = "y" }`
	// lacking does that without eviction by the kubelet: its pods shall start.
	lacking = `set -e; cp /var/lib/kubelet/config.yaml /run/kl-config.yaml
printf 'evictionHard: {memory.available: 1Mi}\nfailSwapOn: false\n' >> /var/lib/kubelet/config.yaml; systemctl restart kubelet
fallocate -l 500M /var/kl-swap; chmod 600 /var/kl-swap; mkswap -q /var/kl-swap; swapon /var/kl-swap
echo '` + swapping + `' > /run/kl-swapping.pl
systemd-run -q --collect --unit=kl-swapping -p OOMScoreAdjust=1000 perl /run/kl-swapping.pl $(awk '/MemAvailable/ {print int($2/1024)+100}' /proc/meminfo)`
	enough   = `systemctl stop kl-swapping; swapoff /var/kl-swap; rm -f /var/kl-swap; cp /run/kl-config.yaml /var/lib/kubelet/config.yaml && systemctl restart kubelet`
	released = `systemctl stop kl-reread 2>/dev/null; rm -f /var/tmp/kl-read.*; true`
	// stalled is the share of the last ten seconds in which tasks stalled for memory, in whole percent.
	stalled = `sed -n 's/^some avg10=\([0-9]*\).*/\1/p' /proc/pressure/memory`
	// share is the share of memory that is available, in percent.
	share = `awk '/MemTotal/ {t=$2} /MemAvailable/ {a=$2} END {print int(100*a/t)}' /proc/meminfo`
)

// number is a number that a script prints.
func (b *bench) number(t *testing.T, script string) (n int) {
	t.Helper()
	out := b.Run(t, script)
	if _, err := fmt.Sscan(out, &n); err != nil {
		t.Fatalf("%q: %v", out, err)
	}
	return n
}

// readers reads files again and again for which its own limit has no room, until tasks stall for memory.
func (b *bench) readers(t *testing.T) {
	t.Helper()
	b.Run(t, "systemd-run -q --collect --unit=kl-reread -p MemoryMax=24M sh -c '"+reread+"'")
	b.stalls(t)
}

// stalls waits until tasks stall for memory.
func (b *bench) stalls(t *testing.T) {
	t.Helper()
	vmbench.Eventually(t, "tasks stall for memory", func() string {
		if n := b.number(t, stalled); n < 20 {
			return fmt.Sprintf("%d %% of the time", n)
		}
		return ""
	})
}

// pressed creates a pod and waits until attach shows its start, while tasks stall for memory. It returns what why says of the pod.
func (b *bench) pressed(t *testing.T, name string) string {
	t.Helper()
	b.CreateOf(t, pod, name)
	b.Runs(t, name)
	n, left := b.number(t, stalled), b.number(t, share)
	t.Logf("when %s runs, tasks stall for memory %d %% of the time, and %d %% of the memory is available", name, n, left)
	if n < 15 {
		t.Errorf("tasks stalled for memory only %d %% of the time", n)
	}
	b.shown(t, name, "sandbox", "create web", "start    web")
	return b.Run(t, "sleep 5; kubeloupe why default/"+name) // figures of its last second come later
}

// TestMemory has a pod start while tasks stall for memory in a cgroup at its own limit, on a node that has enough: that is not KL24.
func TestMemory(t *testing.T) {
	b := setup(t)
	b.attach(t, "")
	t.Cleanup(func() {
		if out, err := b.VM.Run(context.WithoutCancel(t.Context()), released); err != nil {
			t.Errorf("%v: %s", err, out)
		}
	})
	b.readers(t)
	if said := b.pressed(t, "limit"); strings.Contains(said, "KL24") || b.number(t, share) < 20 {
		t.Errorf("%d %% of the memory is available:\n%s", b.number(t, share), said)
	}
}

// TestShortage has a pod start on a node that is short of memory, so that its tasks stall for it: that is KL24.
func TestShortage(t *testing.T) {
	b := setup(t)
	t.Cleanup(func() {
		if out, err := b.VM.Run(context.WithoutCancel(t.Context()), enough); err != nil {
			t.Errorf("%v: %s", err, out)
		}
		if err := b.Ready(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	b.Run(t, lacking)
	if err := b.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.attach(t, "")
	b.stalls(t)
	said := b.pressed(t, "short")
	t.Log(said)
	if left := b.number(t, share); !strings.Contains(said, "KL24") || left > 10 {
		t.Errorf("%d %% of the memory is available:\n%s", left, said)
	}
}
