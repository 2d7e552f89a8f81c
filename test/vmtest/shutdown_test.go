package vmtest

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	vmbench "github.com/kubeloupe/kubeloupe/test/vm/bench"
	"github.com/kubeloupe/kubeloupe/test/vm/node"
)

// closing is a pod that needs a while to terminate, and writes on the node when it has.
const closing = `
apiVersion: v1
kind: Pod
metadata: {name: %[1]s}
spec:
  nodeName: vm
  hostNetwork: true
  automountServiceAccountToken: false
  priorityClassName: PRIORITY
  terminationGracePeriodSeconds: 100
  containers:
  - name: web
    image: "%[2]s"
    command: [sh, -c, 'trap "sleep SECONDS; date +%%s > /out/%[1]s; exit 0" TERM; while :; do sleep 1; done']
    volumeMounts: [{name: out, mountPath: /out}]
  volumes:
  - {name: out, hostPath: {path: /var/lib/closing, type: DirectoryOrCreate}}
`

// TestGracefulShutdown reboots the node with shutdownGracePeriod: logind waits, the node becomes NotReady and takes no pods, and its pods
// terminate in the order of their priorities. What they became is judged after the reboot.
func TestGracefulShutdown(t *testing.T) {
	b := setup(t)
	const logind = "busctl get-property org.freedesktop.login1 /org/freedesktop/login1 org.freedesktop.login1.Manager InhibitDelayMaxUSec"
	before := b.Run(t, pidOf)
	b.Run(t, `cp /var/lib/kubelet/config.yaml /root/config.before; rm -rf /var/lib/closing
sed -i '/^shutdownGracePeriod/d' /var/lib/kubelet/config.yaml
printf 'shutdownGracePeriod: 240s\nshutdownGracePeriodCriticalPods: 120s\n' >> /var/lib/kubelet/config.yaml
systemctl restart kubeloupe`)
	b.later(t, "cp /root/config.before /var/lib/kubelet/config.yaml; rm -f /etc/systemd/logind.conf.d/99-kubelet.conf; systemctl kill -s HUP systemd-logind; systemctl restart kubeloupe")
	b.restarted(t, before)
	b.Says(t, "systemd-inhibit --list --no-pager | grep kubelet", "delay")
	b.Says(t, "cat /etc/systemd/logind.conf.d/99-kubelet.conf; "+logind, "t 240000000")

	pod := func(priority string, seconds int) string {
		return strings.NewReplacer("PRIORITY", priority, "SECONDS", strconv.Itoa(seconds)).Replace(closing)
	}
	b.start(t, map[string]string{"close-plain": pod(`""`, 40), "close-critical": pod("system-node-critical", 1)})

	rebooted := make(chan error, 1)
	go func() { rebooted <- b.VM.Reboot(t.Context()) }()
	vmbench.Eventually(t, "the node says that it shuts down", func() string {
		out, err := b.Kubectl(t.Context(), "get", "node", node.Name, "-o", `jsonpath={.status.conditions[?(@.type=="Ready")].status} {.status.conditions[?(@.type=="Ready")].message}`)
		if err != nil || !strings.HasPrefix(out, "False") || !strings.Contains(out, "node is shutting down") {
			return fmt.Sprint(out, err)
		}
		return ""
	})
	b.CreateOf(t, pod(`""`, 1), "close-late")
	vmbench.Eventually(t, "a new pod is rejected", func() string {
		s := b.pod(t, "close-late").Status
		if s.Phase != v1.PodFailed || s.Reason != "NodeShutdown" || !strings.Contains(s.Message, "Pod was rejected as the node is shutting down.") {
			return fmt.Sprintf("%s %s %s", s.Phase, s.Reason, s.Message)
		}
		return ""
	})
	if err := <-rebooted; err != nil {
		t.Fatal(err)
	}
	b.made(t, node.Kubeloupe)
	for _, name := range []string{"close-plain", "close-critical"} {
		b.closed(t, name)
	}
	out := strings.Fields(b.Run(t, "cat /var/lib/closing/close-plain /var/lib/closing/close-critical"))
	if len(out) != 2 || out[0] > out[1] {
		t.Errorf("the pods terminated at %q, want the critical one last", out)
	}
	b.remembers(t)
	journal := b.Run(t, "journalctl -q -b -1 -u kubeloupe --grep 'shutdown:' --output cat")
	for _, want := range []string{"the machine is about to shut down", "group 1 of 2", "group 2 of 2", "the lock is released"} {
		if !strings.Contains(journal, want) {
			t.Errorf("the journal does not say %q:\n%s", want, journal)
		}
	}
}

// closed checks the status of a pod that a graceful shutdown ended.
func (b *bench) closed(t *testing.T, name string) {
	t.Helper()
	p := b.pod(t, name)
	const message = "Pod was terminated in response to imminent node shutdown."
	if s := p.Status; s.Phase != v1.PodFailed || s.Reason != "Terminated" || s.Message != message {
		t.Errorf("%s: %s %s %q", name, s.Phase, s.Reason, s.Message)
	}
	for _, c := range p.Status.Conditions {
		if c.Type == v1.DisruptionTarget {
			if c.Status != v1.ConditionTrue || c.Reason != v1.PodReasonTerminationByKubelet || c.Message != message {
				t.Errorf("%s: %+v", name, c)
			}
			return
		}
	}
	t.Errorf("%s has no condition DisruptionTarget", name)
}

// remembers checks the state file and the metrics after the reboot.
func (b *bench) remembers(t *testing.T) {
	t.Helper()
	text := b.Run(t, "cat /var/lib/kubelet/graceful_node_shutdown_state")
	var s struct{ StartTime, EndTime time.Time }
	if err := json.Unmarshal([]byte(text), &s); err != nil || s.StartTime.IsZero() || s.EndTime.Sub(s.StartTime) < 30*time.Second {
		t.Errorf("the state file has %s, %v", text, err)
	}
	for name, at := range map[string]time.Time{"start": s.StartTime, "end": s.EndTime} {
		b.Says(t, curl+"/metrics | grep ^kubelet_graceful_shutdown_"+name+"_time_seconds", fmt.Sprintf("kubelet_graceful_shutdown_%s_time_seconds %s", name, strconv.FormatFloat(float64(at.Unix()), 'g', -1, 64)))
	}
}
