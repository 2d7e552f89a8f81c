package vmtest

import (
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
