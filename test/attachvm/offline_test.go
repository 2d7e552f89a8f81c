package attachvm

import (
	"strings"
	"testing"
)

// TestOffline reads what operators send each other, made on the node itself, after a restart of the kubelet.
func TestOffline(t *testing.T) {
	b := setup(t)
	b.Create(t, "sent")
	b.Runs(t, "sent")
	b.Run(t, "systemctl restart kubelet")
	// The new kubelet knows the pod. Of its containers, which run as before, it writes a line only if its PLEG looks later than that.
	b.Says(t, "journalctl -q -b _PID=$(systemctl show -p MainPID --value kubelet) | grep 'SyncLoop ADD'", "default/sent")
	b.Run(t, "sleep 3; mkdir -p /run/sent && cd /run/sent && sos=sosreport-vm/sos_commands && mkdir -p $sos/kubernetes $sos/containerd $sos/logs && "+
		"journalctl -b -q -o export -u kubelet -u containerd > export && journalctl -b -q -o json --all > json && journalctl -b -q -o short-iso > short-iso && "+
		"journalctl -b --no-pager -u kubelet > $sos/kubernetes/journalctl_--no-pager_--unit_kubelet && journalctl -b --no-pager -u containerd > $sos/containerd/journalctl_--no-pager_--unit_containerd && "+
		"journalctl -b --no-pager > $sos/logs/journalctl_--no-pager_--boot && ls -laR .")
	defer b.Run(t, "rm -rf /run/sent")
	for _, from := range []string{"export", "json", "short-iso", "sosreport-vm"} {
		t.Run(from, func(t *testing.T) {
			out := b.Run(t, "cd /run/sent && kubeloupe why --all --from "+from)
			t.Log(out)
			for _, want := range []string{"default/sent", "kubelet log V", "container runtime log"} {
				if !strings.Contains(out, want) {
					t.Errorf("it does not say %q", want)
				}
			}
			if n := strings.Count(out, "default/sent "); n != 1 {
				t.Errorf("it names the pod %d times", n)
			}
			if one := b.Run(t, "cd /run/sent && kubeloupe trace default/sent --from "+from); !strings.Contains(one, "sandbox") || !strings.Contains(one, "create web") {
				t.Errorf("the start is\n%s", one)
			}
		})
	}
}
