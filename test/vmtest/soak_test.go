package vmtest

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	vmbench "github.com/kubeloupe/kubeloupe/test/vm/bench"
)

// soakRounds is how often pods come and go. make soak has thousands of pods, on the host, where a pod does not take seconds.
const soakRounds = 5

// counted are scripts that print a number each, and how much it may grow: what belongs to pods not at all.
func counted() map[string]struct {
	script string
	more   int
} {
	return map[string]struct {
		script string
		more   int
	}{
		"sandboxes and containers": {"ctr -n k8s.io containers ls -q | wc -l", 0},
		"cgroups of pods":          {"find " + mount + "/kubepods.slice -type d | wc -l", 0},
		"slices of systemd":        {"systemctl list-units --all --plain --no-legend 'kubepods*' 'cri-containerd*' | wc -l", 0},
		"mounts":                   {"grep -c . /proc/self/mountinfo", 0},
		"network namespaces":       {"ls /run/netns 2>/dev/null | wc -l", 0},
		"shims":                    {"pgrep -c containerd-shim; true", 0},
		"directories of pods":      {"ls /var/lib/kubelet/pods | wc -l", 0},
		"directories of logs":      {"ls /var/log/pods | wc -l", 0},
		"links to logs":            {"ls /var/log/containers | wc -l", 0},
		"files of kubeloupe":       {"ls /proc/$(" + pidOf + ")/fd | wc -l", 6},
		"threads of kubeloupe":     {"ls /proc/$(" + pidOf + ")/task | wc -l", 6},
		"MiB of kubeloupe":         {"awk '/VmRSS/ {print int($2/1024)}' /proc/$(" + pidOf + ")/status", 8},
	}
}

// TestSoak has pods come and go, with the systemd driver and cgroup v2: nothing may be left of them, nor may kubeloupe grow. The first round
// is before the first count, because it makes what stays, such as the slices of the QoS classes.
func TestSoak(t *testing.T) {
	b := setup(t)
	b.soakRound(t, 0)
	first := b.count(t)
	for i := range soakRounds {
		b.soakRound(t, i+1)
	}
	t.Logf("%-26s %6s %6s", "", "first", "last")
	limits := counted()
	var last map[string]int
	// Removing follows the API object at a distance: the last containers and logs go by garbage collection.
	vmbench.Eventually(t, "nothing is left of the pods", func() string {
		last = b.count(t)
		var grown []string
		for name, n := range last {
			if n > first[name]+limits[name].more {
				grown = append(grown, fmt.Sprintf("%s: %d, then %d", name, first[name], n))
			}
		}
		slices.Sort(grown)
		return strings.Join(grown, "; ")
	})
	for _, name := range slices.Sorted(maps.Keys(last)) {
		t.Logf("%-26s %6d %6d", name, first[name], last[name])
	}
}

// soakRound starts a pod of each kind, deletes them at once, and waits until the API server has none of them.
func (b *bench) soakRound(t *testing.T, round int) {
	t.Helper()
	var names []string
	manifests := map[string]string{}
	for kind, m := range kinds() {
		name := fmt.Sprintf("soak-%s-%d", kind, round)
		names = append(names, name)
		manifests[name] = m
	}
	b.start(t, manifests)
	if out, err := b.Kubectl(t.Context(), append([]string{"delete", "pod", "--timeout", "5m"}, names...)...); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

// count runs the scripts on the node, all at once.
func (b *bench) count(t *testing.T) map[string]int {
	t.Helper()
	names := slices.Sorted(maps.Keys(counted()))
	var script strings.Builder
	for _, n := range names {
		script.WriteString(counted()[n].script + "\n")
	}
	fields := strings.Fields(b.Run(t, script.String()))
	if len(fields) != len(names) {
		t.Fatalf("%d numbers for %d scripts: %v", len(fields), len(names), fields)
	}
	out := map[string]int{}
	for i, f := range fields {
		n, err := strconv.Atoi(f)
		if err != nil {
			t.Fatalf("%s: %v", names[i], err)
		}
		out[names[i]] = n
	}
	return out
}
