package vmtest

import (
	"encoding/json"
	"fmt"
	"path"
	"strconv"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	vmbench "github.com/kubeloupe/kubeloupe/test/vm/bench"
	"github.com/kubeloupe/kubeloupe/test/vm/node"
)

// TestNoSwap has a node with swap, whose pods may not use it unless the configuration says so.
func TestNoSwap(t *testing.T) {
	b := setup(t)
	if out := b.Run(t, "swapon --show=NAME --noheadings"); out != "/dev/vdb" {
		t.Fatalf("the node's swap is %q", out)
	}
	b.start(t, map[string]string{
		"swap-limited": spec("", "resources: {requests: {memory: 16Mi}, limits: {memory: 64Mi}}"),
		"swap-open":    spec("", "resources: {requests: {memory: 16Mi}}"),
		"swap-none":    spec("", ""),
	})
	for _, name := range []string{"swap-limited", "swap-open", "swap-none"} {
		b.has(t, scope(t, b.pod(t, name), "web"), map[string]string{"memory.swap.max": "0"})
	}
}

// curl reads from kubeloupe's port as the API server would.
const curl = "curl -sSk --cert /etc/kubernetes/pki/apiserver-kubelet-client.crt --key /etc/kubernetes/pki/apiserver-kubelet-client.key https://127.0.0.1:10250"

// TestPSI reads the pressure of the node, of a pod and of its container from /stats/summary, as the kernel has it.
func TestPSI(t *testing.T) {
	b := setup(t)
	b.Create(t, "pressed")
	b.Runs(t, "pressed")
	type psi struct {
		Full, Some *struct {
			Total *uint64
			Avg10 *float64
		}
	}
	type usage struct{ PSI *psi }
	type measured struct{ CPU, Memory, IO *usage }
	var s struct {
		Node measured
		Pods []struct {
			PodRef struct{ Name string }
			measured
			Containers []measured
		}
	}
	text := b.Run(t, curl+"/stats/summary")
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	has := func(what string, m measured) {
		t.Helper()
		for name, u := range map[string]*usage{"cpu": m.CPU, "memory": m.Memory, "io": m.IO} {
			if u == nil || u.PSI == nil || u.PSI.Some == nil || u.PSI.Some.Total == nil || u.PSI.Some.Avg10 == nil || u.PSI.Full == nil {
				t.Errorf("%s has no pressure of %s", what, name)
			}
		}
	}
	has("the node", s.Node)
	found := false
	for _, p := range s.Pods {
		if p.PodRef.Name != "pressed" {
			continue
		}
		found = true
		has("the pod", p.measured)
		for _, c := range p.Containers {
			has("the container", c)
		}
	}
	if !found {
		t.Error("the summary does not have the pod")
	}
	if s.Node.CPU != nil && s.Node.CPU.PSI != nil && s.Node.CPU.PSI.Some != nil && s.Node.CPU.PSI.Some.Total != nil && *s.Node.CPU.PSI.Some.Total == 0 {
		t.Error("a node with two emulated processors was never short of them")
	}
}

// TestDisagreement has a configuration with the driver cgroupfs where the runtime's is systemd: the runtime's is used, and kubeloupe says so.
func TestDisagreement(t *testing.T) {
	b := setup(t)
	b.Create(t, "agreed")
	b.Runs(t, "agreed")
	check := b.stays(t, "agreed")
	const set = "sed -i 's/^cgroupDriver: .*/cgroupDriver: %s/' /var/lib/kubelet/config.yaml && systemctl restart kubeloupe"
	before := b.Run(t, pidOf)
	b.Run(t, strings.Replace(set, "%s", "cgroupfs", 1))
	b.later(t, strings.Replace(set, "%s", "systemd", 1))
	b.restarted(t, before)
	b.start(t, map[string]string{"disagreed": spec("", "resources: {limits: {cpu: 100m, memory: 32Mi}}")})
	b.has(t, slice(b.pod(t, "disagreed")), map[string]string{"memory.max": "33554432"})
	if out := b.Run(t, "ls -d /sys/fs/cgroup/kubepods 2>&1; true"); !strings.Contains(out, "No such file") {
		t.Errorf("there is a tree of the other driver: %s", out)
	}
	check(t)
	log := b.Run(t, "journalctl -q -u kubeloupe _PID=$("+pidOf+") | grep -i cgroup; true")
	t.Log(log)
	if !strings.Contains(log, "cgroupDriver") || !strings.Contains(log, "cgroupfs") || !strings.Contains(log, "systemd") {
		t.Error("the log does not say that the runtime's driver is used in place of the configured one")
	}
}

// TestCgroupfs changes the driver of the runtime and of kubeloupe: pods run again, with the limits in the other tree.
func TestCgroupfs(t *testing.T) {
	b := setup(t)
	b.start(t, map[string]string{"driven": spec("", "resources: {limits: {cpu: 100m, memory: 32Mi}}")})
	p := b.pod(t, "driven")
	old := id(t, p, "web")
	b.Run(t, "cgroup-driver cgroupfs")
	b.later(t, "cgroup-driver systemd")
	b.made(t, node.Kubeloupe)
	b.anew(t, "driven", old)
	p = b.pod(t, "driven")
	if p.Status.QOSClass != v1.PodQOSGuaranteed {
		t.Fatalf("its class is %s", p.Status.QOSClass)
	}
	dir := "kubepods/pod" + string(p.UID)
	limits := map[string]string{"cpu.max": "10000 100000", "memory.max": "33554432"}
	b.has(t, dir, limits)
	b.has(t, dir+"/"+id(t, p, "web"), limits)
	if out := b.Run(t, "wc -l < /sys/fs/cgroup/"+dir+"/"+id(t, p, "web")+"/cgroup.procs"); out != "1" {
		t.Errorf("the container's cgroup has %s processes", out)
	}
}

// TestLimitedSwap lets pods use swap: a container of a Burstable pod gets the share that its request has of the node's memory and uses it
// when its memory is reclaimed, the others get none.
func TestLimitedSwap(t *testing.T) {
	b := setup(t)
	const set = "sed -i 's/^memorySwap: .*/memorySwap: {%s}/' /var/lib/kubelet/config.yaml && systemctl restart kubeloupe"
	before := b.Run(t, pidOf)
	b.later(t, strings.Replace(set, "%s", "", 1))
	b.Run(t, strings.Replace(set, "%s", "swapBehavior: LimitedSwap", 1))
	b.restarted(t, before)
	const fills = `command: [sh, -c, "(head -c 16m /dev/zero; sleep 36000) | tail -c 16m"]` // tail holds them
	pod := func(resources string) string {
		return strings.Replace(spec("", resources), `command: [sleep, "36000"]`, fills, 1)
	}
	b.start(t, map[string]string{
		"swapping":     pod("resources: {requests: {memory: 512Mi}, limits: {memory: 768Mi}}"),
		"swap-as-much": pod("resources: {requests: {cpu: 10m, memory: 64Mi}, limits: {memory: 64Mi}}"),
		"swap-sure":    pod("resources: {limits: {cpu: 100m, memory: 64Mi}}"),
		"swap-best":    pod(""),
	})
	var memory, swap int64
	if _, err := fmt.Sscan(b.Run(t, "awk '/^MemTotal|^SwapTotal/ {print $2 * 1024}' /proc/meminfo"), &memory, &swap); err != nil {
		t.Fatal(err)
	}
	share := int64(512<<20) * swap / memory / 4096 * 4096 // the kernel counts pages
	for name, want := range map[string]int64{"swapping": share, "swap-as-much": 0, "swap-sure": 0, "swap-best": 0} {
		cgroup := scope(t, b.pod(t, name), "web")
		b.has(t, cgroup, map[string]string{"memory.swap.max": strconv.FormatInt(want, 10)})
		vmbench.Eventually(t, name+" has its memory", func() string {
			return b.Run(t, "awk '$1 == \"anon\" && $2 < 12582912 {print}' "+path.Join(mount, cgroup, "memory.stat"))
		})
		b.Run(t, "echo 8M > "+path.Join(mount, cgroup, "memory.reclaim")+"; true") // it is an error where there is no swap
		used := b.Run(t, "cat "+path.Join(mount, cgroup, "memory.swap.current"))
		if t.Logf("%s: at most %d, uses %s", name, want, used); (used == "0") != (want == 0) {
			t.Errorf("%s uses %s bytes of swap, of %d", name, used, want)
		}
	}
}
