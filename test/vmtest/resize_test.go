package vmtest

import (
	"fmt"
	"testing"

	vmbench "github.com/kubeloupe/kubeloupe/test/vm/bench"
)

// TestResize changes the limits of a container that runs: the kernel has them, in the pod's cgroup too, and the container is the same.
func TestResize(t *testing.T) {
	b := setup(t)
	b.start(t, map[string]string{"resized": spec("", "resources: {limits: {cpu: 100m, memory: 32Mi}}")})
	check := b.stays(t, "resized")
	for _, c := range []struct{ cpu, memory, quota, bytes string }{
		{"300m", "64Mi", "30000 100000", "67108864"}, // up
		{"200m", "48Mi", "20000 100000", "50331648"}, // down
	} {
		patch := `{"spec":{"containers":[{"name":"web","resources":{"requests":{"cpu":"` + c.cpu + `","memory":"` + c.memory + `"},"limits":{"cpu":"` + c.cpu + `","memory":"` + c.memory + `"}}}]}}`
		if out, err := b.Kubectl(t.Context(), "patch", "pod", "resized", "--subresource", "resize", "-p", patch); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		p := b.pod(t, "resized")
		for _, dir := range []string{scope(t, p, "web"), slice(p)} {
			b.Says(t, "cat "+mount+"/"+dir+"/cpu.max", c.quota)
			b.Says(t, "cat "+mount+"/"+dir+"/memory.max", c.bytes)
		}
		vmbench.Eventually(t, "the status has the limits", func() string {
			s := b.pod(t, "resized").Status.ContainerStatuses[0].Resources
			if s == nil || s.Limits.Cpu().String() != c.cpu || s.Limits.Memory().String() != c.memory {
				return "not yet"
			}
			return ""
		})
		check(t)
	}
}

// TestResizeExclusive changes what a container has for itself while it runs: CPUs and memory of the managers, with the gates of KEP-5554.
func TestResizeExclusive(t *testing.T) {
	b := setup(t)
	const (
		config = "/var/lib/kubelet/config.yaml"
		anew   = "systemctl stop kubeloupe && rm -f /var/lib/kubelet/cpu_manager_state /var/lib/kubelet/memory_manager_state && %s && systemctl start kubeloupe"
		static = `
cpuManagerPolicy: static
memoryManagerPolicy: Static
reservedSystemCPUs: "0"
reservedMemory: [{numaNode: 0, limits: {memory: 100Mi}}]
featureGates: {InPlacePodVerticalScalingExclusiveCPUs: true, InPlacePodVerticalScalingExclusiveMemory: true}
`
	)
	before := b.Run(t, pidOf)
	b.Run(t, "cp "+config+" /root/config.before")
	b.later(t, fmt.Sprintf(anew, "mv /root/config.before "+config))
	b.Run(t, fmt.Sprintf(anew, "cat >> "+config+" <<'END'"+static+"END\ntrue"))
	b.restarted(t, before)

	b.start(t, map[string]string{
		"exclusive": spec("", `resources: {limits: {cpu: "1", memory: 64Mi}}`),
		"shares":    spec("", ""),
	})
	check := b.stays(t, "exclusive", "shares")
	cpus := func(pod string) string { return mount + "/" + scope(t, b.pod(t, pod), "web") + "/cpuset.cpus" }
	reads := func(file, line string) {
		t.Helper()
		b.Says(t, "grep -xF "+line+" "+file, line)
	}
	first := b.Run(t, "cat "+cpus("exclusive"))
	if first != "1" && first != "2" {
		t.Fatalf("the container has the CPUs %q, want 1 or 2: 0 is reserved", first)
	}
	others := map[string]string{"1": "0,2", "2": "0-1"}[first]
	reads(cpus("shares"), others)

	resize := func(cpu, memory string) {
		t.Helper()
		patch := `{"spec":{"containers":[{"name":"web","resources":{"requests":{"cpu":"` + cpu + `","memory":"` + memory + `"},"limits":{"cpu":"` + cpu + `","memory":"` + memory + `"}}}]}}`
		if out, err := b.Kubectl(t.Context(), "patch", "pod", "exclusive", "--subresource", "resize", "-p", patch); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	has := func(own, rest, bytes string) {
		t.Helper()
		reads(cpus("exclusive"), own)
		reads(cpus("shares"), rest)
		reads(mount+"/"+scope(t, b.pod(t, "exclusive"), "web")+"/memory.max", bytes)
		b.Says(t, `grep -o '"size":`+bytes+`' /var/lib/kubelet/memory_manager_state`, `"size":`+bytes)
		check(t)
	}
	resize("2", "96Mi")
	has("1-2", "0", "100663296")

	before = b.Run(t, pidOf)
	b.Run(t, "systemctl kill -s KILL kubeloupe")
	b.restarted(t, before)
	has("1-2", "0", "100663296")

	resize("500m", "96Mi") // of the shared CPUs
	vmbench.Eventually(t, "the resize is infeasible", func() string {
		out, err := b.Kubectl(t.Context(), "get", "pod", "exclusive", "-o", `jsonpath={.status.conditions[?(@.type=="PodResizePending")].reason}`)
		if err != nil || out != "Infeasible" {
			return fmt.Sprint(out, err)
		}
		return ""
	})
	has("1-2", "0", "100663296")

	resize("1", "64Mi")
	has(first, others, "67108864")
}
