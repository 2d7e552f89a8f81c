package attachvm

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/kubeloupe/kubeloupe/inspect/attach/discover"
	vmbench "github.com/kubeloupe/kubeloupe/test/vm/bench"
)

// TestCheck sees that the unit, its journal, its settings and its runtime are found.
func TestCheck(t *testing.T) {
	b := setup(t)
	t.Log(b.Run(t, "kubeloupe attach --check"))
	var f discover.Found
	if err := json.Unmarshal([]byte(b.Run(t, "kubeloupe attach --check -o json")), &f); err != nil {
		t.Fatal(err)
	}
	switch {
	case f.Process.Unit != "kubelet.service" || f.Log.Kind != discover.LogJournal || f.Log.Unit != "kubelet.service":
		t.Errorf("found the kubelet %+v with the log %+v", f.Process, f.Log)
	case f.Config.RootDir != "/var/lib/kubelet" || f.Config.CgroupDriver != "systemd" || f.Config.Verbosity != 2:
		t.Errorf("found the configuration %+v", f.Config)
	case f.Runtime.Process == nil || f.Runtime.Process.Unit != "containerd.service" || f.Runtime.Log.Kind != discover.LogJournal:
		t.Errorf("found the runtime %+v", f.Runtime)
	case f.Rights == nil || f.PodsAPI == "":
		t.Errorf("found the rights %+v and PodsAPI %q", f.Rights, f.PodsAPI)
	}
}

// TestStart follows the start of a pod by the journal, at V2 and at V4.
func TestStart(t *testing.T) {
	b := setup(t)
	for name, c := range map[string]struct {
		args string
		want []string
	}{
		"v2": {"", []string{"sandbox", "create web", "start", "web"}},
		"v4": {"--raise-verbosity 4 --for 10m", []string{"sandbox", "create web", "start", "web", "volumes"}},
	} {
		t.Run(name, func(t *testing.T) {
			b.attach(t, c.args)
			b.CreateOf(t, pod, name)
			t.Log(b.shown(t, name, c.want...))
			b.Runs(t, name)
			t.Log(b.Run(t, "kubeloupe why default/"+name))
			b.Run(t, "systemctl stop kl-attach")
		})
	}
}

// TestRestarts restarts journald, the kubelet and containerd under attach, which continues, and shows the pods that start then.
func TestRestarts(t *testing.T) {
	b := setup(t)
	check := b.Unharmed(t, "steady")
	b.attach(t, "")
	for _, unit := range []string{"systemd-journald", "kubelet", "containerd"} {
		t.Run(unit, func(t *testing.T) {
			name := "after-" + strings.TrimPrefix(unit, "systemd-")
			b.Run(t, "systemctl restart "+unit)
			b.Create(t, name)
			b.Runs(t, name)
			b.shown(t, name, "sandbox", "create web", "start")
			check()
		})
	}
	t.Log(b.Run(t, "grep -h 'attach: ' /run/kl-attach.json; cat /run/kl-attach.err"))
	b.Run(t, "systemctl is-active kl-attach")
}

// fifth waits until the kubelet writes what only V5 has, each second, or until it writes it no more.
func (b *bench) fifth(t *testing.T, want bool) {
	t.Helper()
	vmbench.Eventually(t, fmt.Sprintf("lines of V5: %v", want), func() string {
		n, err := b.VM.Run(t.Context(), "sleep 10; journalctl -u kubelet -q --since=-10s | grep -c 'GenericPLEG: Relisting'")
		if (n != "0") == want && n != "" {
			return ""
		}
		return fmt.Sprint(n, " of them ", err)
	})
}

// traces are what raising the verbosity might leave.
const traces = "systemctl list-units --all --no-legend 'kubeloupe*'; ls /run/systemd/transient | grep kubeloupe; find / -xdev -newer /run/kl-before -name '*kubeloupe*' -not -path '/var/log/journal/*' -not -path '/proc/*'; true"

// TestRaised raises the verbosity, and ends attach in each way: it is put back, and nothing is left.
func TestRaised(t *testing.T) {
	b := setup(t)
	for name, c := range map[string]struct {
		time, end string
	}{
		"its time":            {"60s", ""},
		"stopped":             {"10m", "systemctl stop kl-attach"},
		"killed":              {"10m", "systemctl kill -s KILL kl-attach"},
		"killed with helpers": {"10m", "pkill -KILL kubeloupe"},
	} {
		t.Run(name, func(t *testing.T) {
			b.Run(t, "sleep 1; touch /run/kl-before; sleep 1")
			b.attach(t, "--raise-verbosity 5 --for "+c.time)
			if name == "its time" {
				b.Says(t, "cat /run/kl-attach.json", "the verbosity was put back to 2")
			} else {
				b.fifth(t, true)
				t.Log(b.Run(t, "systemctl list-timers --no-legend 'kubeloupe*'"))
				b.Run(t, c.end)
			}
			b.fifth(t, false)
			b.Run(t, "systemctl stop kl-attach 2>/dev/null; rm -f /run/kl-attach.*")
			vmbench.Eventually(t, "nothing is left", func() string { return b.Run(t, traces) })
		})
	}
}
