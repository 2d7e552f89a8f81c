package vmtest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	vmbench "github.com/kubeloupe/kubeloupe/test/vm/bench"
	"github.com/kubeloupe/kubeloupe/test/vm/node"
)

// TestEviction uses up the node's memory, then its process ids, under kubeloupe and under upstream's kubelet: both evict the pod that uses most
// of them, with the same message but for the figures. Disks are test/evict's: under pressure a kubelet removes images that no pod uses, which
// the other tests need.
func TestEviction(t *testing.T) {
	b := setup(t)
	for _, a := range []node.Agent{node.Kubeloupe, node.Kubelet} {
		t.Run(string(a), func(t *testing.T) { b.evictions(t, a) })
	}
}

func (b *bench) evictions(t *testing.T, a node.Agent) {
	t.Helper()
	b.agent(t, a)
	name := func(pod string) string { return "evict-" + pod + "-" + string(a) }
	filled := func(mib int) string {
		return strings.Replace(spec("volumes: [{name: data, emptyDir: {medium: Memory}}]", "volumeMounts: [{name: data, mountPath: /data}]"),
			`command: [sleep, "36000"]`, fmt.Sprintf(`command: [sh, -c, "dd if=/dev/zero of=/data/fill bs=1M count=%d; exec sleep 36000"]`, mib), 1)
	}
	b.start(t, map[string]string{name("small"): filled(20), name("big"): filled(120)})
	small, big := b.pod(t, name("small")), b.pod(t, name("big"))

	// The thresholds are a little below what there is now.
	const script = `cp /var/lib/kubelet/config.yaml /root/config.before
avail=$(awk '/MemAvailable/ {print $2}' /proc/meminfo)
most=$(cat /proc/sys/kernel/threads-max); max=$(cat /proc/sys/kernel/pid_max); [ $max -lt $most ] && most=$max
now=$(cut -d/ -f2 /proc/loadavg | cut -d' ' -f1)
sed -i '/^eviction/d' /var/lib/kubelet/config.yaml
cat >> /var/lib/kubelet/config.yaml <<END
evictionHard: {memory.available: "$((avail - 300*1024))Ki", pid.available: "$((most - now - 200))", nodefs.available: "0%%", nodefs.inodesFree: "0%%", imagefs.available: "0%%", imagefs.inodesFree: "0%%"}
evictionPressureTransitionPeriod: 10s
END
systemctl restart %s`
	b.Run(t, fmt.Sprintf(script, a))
	b.later(t, fmt.Sprintf("cp /root/config.before /var/lib/kubelet/config.yaml; systemctl restart %s", a))
	b.made(t, a)
	time.Sleep(75 * time.Second) // upstream's figures of pods may be a minute old

	b.within(t, big, "web", "dd if=/dev/zero of=/data/more bs=1M count=450")
	t.Logf("memory: evicted after %s", b.evicted(t, name("big"), "memory"))
	b.within(t, small, "web", "i=0; while [ $i -lt 260 ]; do sleep 3600 & i=$((i+1)); done")
	t.Logf("process ids: evicted after %s", b.evicted(t, name("small"), "pids"))
}

// evicted waits for the Event of an eviction.
func (b *bench) evicted(t *testing.T, pod, resource string) time.Duration {
	t.Helper()
	begin := time.Now()
	vmbench.Eventually(t, pod+" is evicted", func() string {
		out, err := b.Kubectl(t.Context(), "get", "events", "--field-selector", "reason=Evicted,involvedObject.name="+pod, "-o", "jsonpath={.items[*].message}")
		if err != nil || !strings.HasPrefix(out, "The node was low on resource: "+resource+". Threshold quantity: ") {
			return fmt.Sprint(out, err)
		}
		t.Log(out)
		return ""
	})
	return time.Since(begin).Round(100 * time.Millisecond)
}
