package e2e

import (
	"os"
	"testing"
)

// TestCgroups reads what the kernel was told: tiers, pods and containers.
func TestCgroups(t *testing.T) {
	n := newNode(t)
	if _, err := os.Stat("/sys/fs/cgroup/memory"); err != nil {
		t.Skip("this test reads files of cgroup v1")
	}
	a := n.start()
	n.put("tiers.yaml", `
apiVersion: v1
kind: Pod
metadata: {name: guaranteed}
spec:
  terminationGracePeriodSeconds: 0
  containers:
  - {name: main, image: $BUSYBOX, command: $WAIT, resources: {limits: {cpu: 500m, memory: 64Mi}}}
---
apiVersion: v1
kind: Pod
metadata: {name: burstable}
spec:
  terminationGracePeriodSeconds: 0
  containers:
  - {name: main, image: $BUSYBOX, command: $WAIT, resources: {requests: {cpu: 250m, memory: 16Mi}, limits: {memory: 32Mi}}}
---
apiVersion: v1
kind: Pod
metadata: {name: besteffort}
spec:
  terminationGracePeriodSeconds: 0
  containers: [{name: main, image: $BUSYBOX, command: $WAIT}]
`)
	a.ready("guaranteed", "burstable", "besteffort")
	for _, c := range []struct{ pod, tier, controller, file, ofPod, ofContainer string }{
		{"guaranteed", "", "cpu", "cpu.shares", "512", "512"},
		{"guaranteed", "", "cpu", "cpu.cfs_quota_us", "50000", "50000"},
		{"guaranteed", "", "memory", "memory.limit_in_bytes", "67108864", "67108864"},
		{"burstable", "burstable/", "cpu", "cpu.shares", "256", "256"},
		{"burstable", "burstable/", "cpu", "cpu.cfs_quota_us", "-1", "-1"},
		{"burstable", "burstable/", "memory", "memory.limit_in_bytes", "33554432", "33554432"},
		{"besteffort", "besteffort/", "cpu", "cpu.shares", "2", "2"},
	} {
		uid := n.sandboxes(c.pod)[0].Labels[labelUID]
		cgroup := "kubepods/" + c.tier + "pod" + uid
		if got := n.cgroupFile(c.controller, cgroup, c.file); got != c.ofPod {
			t.Errorf("%s of pod %s is %s, want %s", c.file, c.pod, got, c.ofPod)
		}
		if got := n.cgroupFile(c.controller, cgroup+"/"+n.containers(c.pod)[0].Id, c.file); got != c.ofContainer {
			t.Errorf("%s of container %s is %s, want %s", c.file, c.pod, got, c.ofContainer)
		}
	}
	if got := n.cgroupFile("cpu", "kubepods/besteffort", "cpu.shares"); got != "2" {
		t.Errorf("cpu.shares of tier besteffort is %s, want 2", got)
	}
	if got := n.cgroupFile("cpu", "kubepods/burstable", "cpu.shares"); got != "256" {
		t.Errorf("cpu.shares of tier burstable is %s, want 256", got)
	}
	if got := n.exec("besteffort", "main", "cat", "/proc/1/oom_score_adj"); got != "1000" {
		t.Errorf("oom_score_adj of a best-effort container is %s, want 1000", got)
	}
}
