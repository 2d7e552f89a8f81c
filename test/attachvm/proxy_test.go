package attachvm

import (
	"fmt"
	"strings"
	"testing"

	vmbench "github.com/kubeloupe/kubeloupe/test/vm/bench"
)

const (
	// touched are the files that the proxy's installation may change, with their contents and permissions.
	touched = "find /etc/systemd /etc/tmpfiles.d /etc/kubernetes /var/lib/kubelet/*.yaml /var/lib/kubelet/*.env /usr/lib/tmpfiles.d -type f -o -type l | sort | xargs -n1 sh -c 'stat -c \"%n %a %U %s\" $0; sha256sum < $0'"
	// starts counts how often the kubelet was started.
	starts = "journalctl -q -b _PID=1 UNIT=kubelet.service | grep -c 'Started kubelet'"
	// slow has a plugin of CNI wait, within RunPodSandbox.
	slow = `cd /opt/cni/bin && mv host-local host-local.real && printf '#!/bin/sh\n[ "$CNI_COMMAND" = ADD ] && touch /run/in-call && sleep 8\nexec /opt/cni/bin/host-local.real\n' > host-local && chmod 755 host-local`
	fast = `cd /opt/cni/bin && test -e host-local.real && mv host-local.real host-local; true`
)

// through waits until the kubelet is connected to the proxy.
func (b *bench) through(t *testing.T) {
	t.Helper()
	vmbench.Eventually(t, "the kubelet is connected to the proxy", func() string {
		out, err := b.VM.Run(t.Context(), "kubeloupe proxy status")
		if err != nil || strings.Contains(out, "connections  0") || !strings.Contains(out, "leads to the proxy") {
			return fmt.Sprint(err, " ", out)
		}
		return ""
	})
}

// TestProxy installs the proxy, kills it in each way, reboots the node with it, and removes it: the node is unharmed throughout.
func TestProxy(t *testing.T) {
	b := setup(t)
	check := b.Unharmed(t, "beside")
	before := b.Run(t, touched)
	if out, err := b.VM.Run(t.Context(), "kubeloupe proxy install </dev/null"); err == nil || !strings.Contains(err.Error(), "nothing was changed") {
		t.Fatalf("it does not ask: %s, %v", out, err)
	}
	if now := b.Run(t, touched); now != before {
		t.Errorf("files were\n%s\nand are\n%s", before, now)
	}
	t.Log(b.Run(t, "kubeloupe proxy install --yes"))
	b.through(t)
	t.Log(b.Run(t, "kubeloupe proxy status; ls -l /run/kubeloupe; grep -i endpoint /var/lib/kubelet/config.yaml"))
	check()

	t.Run("start", func(t *testing.T) {
		b.Create(t, "relayed")
		b.Runs(t, "relayed")
		out := b.Says(t, "kubeloupe trace default/relayed --socket /run/kubeloupe/kubeloupe.sock", "start")
		t.Log(out)
		if !strings.Contains(out, "sandbox") {
			t.Error("it shows no sandbox")
		}
		check()
	})
	for name, kill := range map[string]string{
		"relay": "pkill -KILL -f -n 'kubeloupe proxy --runtime'",
		"guard": "kill -KILL $(systemctl show -p MainPID --value kubeloupe-proxy)",
		"both":  "systemctl kill -s KILL kubeloupe-proxy",
	} {
		t.Run("kill "+name, func(t *testing.T) {
			b.Run(t, "systemctl restart kubelet")
			b.through(t)
			b.Run(t, kill)
			b.Says(t, "kubeloupe proxy status", "leads to the proxy") // again
			after := "after-" + name
			b.Create(t, after)
			b.Runs(t, after)
			check()
		})
		t.Run("kill "+name+" in RunPodSandbox", func(t *testing.T) {
			b.Run(t, "systemctl restart kubelet")
			b.through(t)
			b.Run(t, "rm -f /run/in-call; "+slow)
			defer b.Run(t, fast)
			within := "within-" + name
			b.CreateOf(t, pod, within)
			b.Says(t, "ls /run/in-call", "/run/in-call")
			b.Run(t, kill)
			b.Runs(t, within)
			t.Log(b.Run(t, "kubeloupe proxy status; journalctl -q -u kubeloupe-proxy --since=-1min -o short-precise; journalctl -q -u kubelet --since=-1min | grep '"+within+"' | grep ' E' || true"))
			check()
		})
	}
	t.Run("bypass", func(t *testing.T) {
		b.Run(t, "kubeloupe proxy bypass --runtime /var/run/containerd/containerd.sock --endpoint /run/kubeloupe/containerd.sock")
		b.Says(t, "kubeloupe proxy status", "leads to the runtime")
		b.Run(t, "systemctl restart kubelet")
		b.Create(t, "bypassed")
		b.Runs(t, "bypassed")
		b.Says(t, "kubeloupe proxy status", "connections  0")
		check()
		b.Run(t, "systemctl restart kubeloupe-proxy kubelet")
		b.through(t)
	})
	t.Run("reboot", func(t *testing.T) {
		if err := b.VM.Reboot(t.Context()); err != nil {
			t.Fatal(err)
		}
		// Where the proxy takes too long to start, the kubelet uses the runtime until it restarts.
		b.Says(t, "kubeloupe proxy status", "leads to the proxy")
		t.Log(b.Run(t, "kubeloupe proxy status; systemd-analyze critical-chain kubelet.service | head -20; journalctl -q -b -o short-precise -u kubeloupe-proxy; "+starts))
		if err := b.Ready(t.Context()); err != nil {
			t.Fatal(err)
		}
		b.Create(t, "rebooted")
		b.Runs(t, "rebooted")
	})
	check = b.Unharmed(t, "steady-again")
	started := b.Run(t, starts)
	t.Log(b.Run(t, "kubeloupe proxy uninstall --yes"))
	if now := b.Run(t, starts); now == started {
		t.Error("the kubelet was not started again")
	}
	b.Create(t, "afterwards")
	b.Runs(t, "afterwards")
	check()
	if now := b.Run(t, touched); now != before {
		t.Errorf("files were\n%s\nand are\n%s", before, now)
	}
	if left := b.Run(t, "find /run/kubeloupe -mindepth 1 -not -name '*.lock'; systemctl list-units --all --no-legend 'kubeloupe-proxy*'"); left != "" {
		t.Errorf("left: %s", left)
	}
}
