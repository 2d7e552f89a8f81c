package vmtest

import (
	"strings"
	"testing"

	"github.com/kubeloupe/kubeloupe/test/vm/node"
)

// kinds are pods that are more than one process: a network and a volume, a sidecar, and limits.
func kinds() map[string]string {
	return map[string]string{
		"limited": spec("", "resources: {limits: {cpu: 100m, memory: 32Mi}}"),
		"plain":   spec("", ""),
		"net": `
apiVersion: v1
kind: Pod
metadata: {name: %[1]s}
spec:
  nodeName: vm
  tolerations: [{operator: Exists}]
  terminationGracePeriodSeconds: 1
  initContainers:
  - {name: prepare, image: "%[2]s", command: [sh, -c, "echo once >> /shared/inits"], volumeMounts: [{name: shared, mountPath: /shared}]}
  - {name: beside, image: "%[2]s", restartPolicy: Always, command: [sleep, "36000"]}
  containers:
  - {name: web, image: "%[2]s", command: [sleep, "36000"], volumeMounts: [{name: shared, mountPath: /shared}]}
  volumes:
  - {name: shared, emptyDir: {}}
`,
	}
}

// TestRestarts restarts kubeloupe and containerd under pods, in each way: kubeloupe adopts the pods, whose containers are not restarted, and
// starts others.
func TestRestarts(t *testing.T) {
	b := setup(t)
	b.start(t, kinds())
	check := b.stays(t, "limited", "plain", "net")
	for _, c := range []struct {
		name, script string
		agent        bool // kubeloupe has another process then
	}{
		{"restart", "systemctl restart kubeloupe", true},
		{"kill", "systemctl kill -s KILL kubeloupe", true},
		{"stop and start", "systemctl stop kubeloupe; sleep 5; systemctl start kubeloupe", true},
		{"containerd", "systemctl restart containerd", false},
		{"containerd killed", "systemctl kill -s KILL --kill-whom=main containerd; sleep 6", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			before := b.Run(t, pidOf)
			b.Run(t, c.script)
			if c.agent {
				b.restarted(t, before)
			}
			after := "after-" + strings.ReplaceAll(c.name, " ", "-")
			b.Create(t, after)
			b.Runs(t, after)
			check(t)
			if now := b.Run(t, pidOf); !c.agent && now != before {
				t.Errorf("kubeloupe was process %s, and is %s", before, now)
			}
		})
	}
}

// TestWatchdog has systemd hear from kubeloupe, and restart it when it is stopped as by a debugger. Pods are not restarted.
func TestWatchdog(t *testing.T) {
	b := setup(t)
	b.Create(t, "watched")
	b.Runs(t, "watched")
	check := b.stays(t, "watched")
	const heard = "systemctl show -p WatchdogTimestampMonotonic --value kubeloupe"
	if out := b.Run(t, "systemctl show -p Type -p WatchdogUSec -p NotifyAccess kubeloupe"); !strings.Contains(out, "Type=notify") || !strings.Contains(out, "WatchdogUSec=1min") {
		t.Errorf("the unit has %s", out)
	}
	first := b.Run(t, heard)
	b.Says(t, `now=$(`+heard+`); test $now -gt `+first+` && echo later`, "later")

	const dropIn = "/run/systemd/system/kubeloupe.service.d"
	before := b.Run(t, pidOf)
	b.Run(t, "mkdir -p "+dropIn+`; printf '[Service]\nWatchdogSec=20\nTimeoutAbortSec=5\nRestartSec=1\n' > `+dropIn+"/fast.conf; systemctl daemon-reload; systemctl restart kubeloupe")
	b.later(t, "rm -rf "+dropIn+"; systemctl daemon-reload; systemctl restart kubeloupe")
	b.restarted(t, before)
	before = b.Run(t, pidOf)
	b.Run(t, "sleep 45; test $("+pidOf+") = "+before) // longer than the limit: it is heard
	b.Run(t, "kill -STOP "+before)
	b.restarted(t, before)
	t.Log(b.Says(t, "journalctl -q -u kubeloupe _PID=1 | tail -5; systemctl show -p NRestarts kubeloupe", "NRestarts="))
	if out := b.Run(t, "journalctl -q -b _PID=1 UNIT=kubeloupe.service | grep -c 'Watchdog timeout'"); out == "0" {
		t.Error("systemd did not say that the watchdog timed out")
	}
	check(t)
}

// TestReboot reboots the node: its pods run again.
func TestReboot(t *testing.T) {
	b := setup(t)
	b.start(t, kinds())
	before := map[string]string{}
	for n := range kinds() {
		before[n] = id(t, b.pod(t, n), "web")
	}
	if err := b.VM.Reboot(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.Says(t, "systemctl is-active kubeloupe", "active")
	b.made(t, node.Kubeloupe)
	for n, old := range before {
		// The status is the old one until kubeloupe has looked.
		b.Says(t, "ctr -n k8s.io containers ls -q 'labels.\"io.kubernetes.pod.name\"=="+n+"' | wc -l; ctr -n k8s.io tasks ls -q | grep "+old+" || echo ended", "ended")
	}
	for n, old := range before {
		b.anew(t, n, old)
	}
	p := b.pod(t, "net")
	if out := b.within(t, p, "web", "cat /shared/inits"); out != "once\nonce" {
		t.Errorf("the init container said %q, want to run once before and once after the reboot", out)
	}
	b.has(t, scope(t, b.pod(t, "limited"), "web"), map[string]string{"cpu.max": "10000 100000", "memory.max": "33554432"})
}
