package attachvm

import (
	"fmt"
	"strings"
	"testing"
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
	eventually(t, "the kubelet is connected to the proxy", func() string {
		out, err := b.vm.Run(t.Context(), "kubeloupe proxy status")
		if err != nil || strings.Contains(out, "connections  0") || !strings.Contains(out, "leads to the proxy") {
			return fmt.Sprint(err, " ", out)
		}
		return ""
	})
}

// TestProxy installs the proxy, kills it in each way, reboots the node with it, and removes it: the node is unharmed throughout.
func TestProxy(t *testing.T) {
	b := setup(t)
	check := b.unharmed(t, "beside")
	before := b.run(t, touched)
	if out, err := b.vm.Run(t.Context(), "kubeloupe proxy install </dev/null"); err == nil || !strings.Contains(err.Error(), "nothing was changed") {
		t.Fatalf("it does not ask: %s, %v", out, err)
	}
	if now := b.run(t, touched); now != before {
		t.Errorf("files were\n%s\nand are\n%s", before, now)
	}
	t.Log(b.run(t, "kubeloupe proxy install --yes"))
	b.through(t)
	t.Log(b.run(t, "kubeloupe proxy status; ls -l /run/kubeloupe; grep -i endpoint /var/lib/kubelet/config.yaml"))
	check()

	t.Run("start", func(t *testing.T) {
		b.create(t, "relayed")
		b.runs(t, "relayed")
		out := b.says(t, "kubeloupe trace default/relayed --socket /run/kubeloupe/kubeloupe.sock", "start")
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
			b.run(t, "systemctl restart kubelet")
			b.through(t)
			b.run(t, kill)
			b.says(t, "kubeloupe proxy status", "leads to the proxy") // again
			after := "after-" + name
			b.create(t, after)
			b.runs(t, after)
			check()
		})
		t.Run("kill "+name+" in RunPodSandbox", func(t *testing.T) {
			b.run(t, "systemctl restart kubelet")
			b.through(t)
			b.run(t, "rm -f /run/in-call; "+slow)
			defer b.run(t, fast)
			within := "within-" + name
			b.createOf(t, pod, within)
			b.says(t, "ls /run/in-call", "/run/in-call")
			b.run(t, kill)
			b.runs(t, within)
			t.Log(b.run(t, "kubeloupe proxy status; journalctl -q -u kubeloupe-proxy --since=-1min -o short-precise; journalctl -q -u kubelet --since=-1min | grep '"+within+"' | grep ' E' || true"))
			check()
		})
	}
	t.Run("bypass", func(t *testing.T) {
		b.run(t, "kubeloupe proxy bypass --runtime /var/run/containerd/containerd.sock --endpoint /run/kubeloupe/containerd.sock")
		b.says(t, "kubeloupe proxy status", "leads to the runtime")
		b.run(t, "systemctl restart kubelet")
		b.create(t, "bypassed")
		b.runs(t, "bypassed")
		b.says(t, "kubeloupe proxy status", "connections  0")
		check()
		b.run(t, "systemctl restart kubeloupe-proxy kubelet")
		b.through(t)
	})
	t.Run("reboot", func(t *testing.T) {
		if err := b.vm.Reboot(t.Context()); err != nil {
			t.Fatal(err)
		}
		// Where the proxy takes too long to start, the kubelet uses the runtime until it restarts.
		b.says(t, "kubeloupe proxy status", "leads to the proxy")
		t.Log(b.run(t, "kubeloupe proxy status; systemd-analyze critical-chain kubelet.service | head -20; journalctl -q -b -o short-precise -u kubeloupe-proxy; "+starts))
		if err := b.ready(t.Context()); err != nil {
			t.Fatal(err)
		}
		b.create(t, "rebooted")
		b.runs(t, "rebooted")
	})
	check = b.unharmed(t, "steady-again")
	started := b.run(t, starts)
	t.Log(b.run(t, "kubeloupe proxy uninstall --yes"))
	if now := b.run(t, starts); now == started {
		t.Error("the kubelet was not started again")
	}
	b.create(t, "afterwards")
	b.runs(t, "afterwards")
	check()
	if now := b.run(t, touched); now != before {
		t.Errorf("files were\n%s\nand are\n%s", before, now)
	}
	if left := b.run(t, "find /run/kubeloupe -mindepth 1 -not -name '*.lock'; systemctl list-units --all --no-legend 'kubeloupe-proxy*'"); left != "" {
		t.Errorf("left: %s", left)
	}
}
