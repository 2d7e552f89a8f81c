package criconfig_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/agent/criconfig"
	"github.com/kubeloupe/kubeloupe/agent/qos"
	"github.com/kubeloupe/kubeloupe/agent/qos/qostest"
)

// What a container's claims have adds to limits that it sets itself, and to no request; huge pages are limited to what there is. The sandbox
// has the sums.
func TestResourcesWithClaims(t *testing.T) {
	off := criconfig.Node{CFSQuota: true, HugePageSizes: []string{"2MB"}, MemoryCapacity: 8 << 30}
	on := off
	on.Claims = qos.WithClaims
	const claim = "cpu=1 memory=64Mi hugepages-2Mi=4Mi"
	kinds := map[string]*v1.Pod{}
	for _, k := range qostest.Kinds() {
		kinds[k.Name] = k.Pod
	}
	for _, tc := range []struct {
		kind, container, sandbox, without string
	}{
		{
			"guaranteed", "shares=512 quota=150000/100000 memory=134217728 2MB=4194304",
			"shares=1536 quota=150000/100000 memory=134217728", "shares=512 quota=50000/100000 memory=67108864 2MB=0",
		},
		{
			"guaranteed with huge pages", "shares=512 quota=150000/100000 memory=134217728 2MB=8388608",
			"shares=1536 quota=150000/100000 memory=134217728", "shares=512 quota=50000/100000 memory=67108864 2MB=4194304",
		},
		{
			"burstable, requests only", "shares=256 quota=0/100000 memory=0 2MB=4194304",
			"shares=1280 quota=0/100000 memory=0", "shares=256 quota=0/100000 memory=0 2MB=0",
		},
		{
			"best effort", "shares=2 quota=0/100000 memory=0 2MB=4194304",
			"shares=1024 quota=0/100000 memory=0", "shares=2 quota=0/100000 memory=0 2MB=0",
		},
		{
			"pod-level, guaranteed", "shares=512 quota=50000/100000 memory=67108864 2MB=4194304",
			"shares=512 quota=50000/100000 memory=67108864", "shares=512 quota=50000/100000 memory=67108864 2MB=0",
		},
		{
			"pod-level huge pages", "shares=512 quota=50000/100000 memory=67108864 2MB=4194304",
			"shares=256 quota=50000/100000 memory=67108864", "shares=512 quota=50000/100000 memory=67108864 2MB=4194304",
		},
	} {
		pod := qostest.Claim(kinds[tc.kind], claim, "a")
		spec := pod.Spec.DeepCopy()
		c := &pod.Spec.Containers[0]
		if diff := cmp.Diff(tc.container, line(criconfig.Resources(pod, c, on, false))); diff != "" {
			t.Errorf("%s: container (-want +got):\n%s", tc.kind, diff)
		}
		if diff := cmp.Diff(tc.without, line(criconfig.Resources(pod, c, off, false))); diff != "" {
			t.Errorf("%s: container with the gate off (-want +got):\n%s", tc.kind, diff)
		}
		cfg, err := criconfig.Sandbox(pod, on, criconfig.SandboxInput{})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tc.sandbox, line(cfg.Linux.Resources)); diff != "" {
			t.Errorf("%s: sandbox (-want +got):\n%s", tc.kind, diff)
		}
		if diff := cmp.Diff(spec, &pod.Spec); diff != "" {
			t.Errorf("%s: the pod's spec changed (-want +got):\n%s", tc.kind, diff)
		}
	}
}

// A claim of another container does not change this one's limits.
func TestResourcesOfOtherClaims(t *testing.T) {
	node := criconfig.Node{CFSQuota: true, Claims: qos.WithClaims, MemoryCapacity: 8 << 30}
	for _, k := range qostest.Kinds() {
		c := &k.Pod.Spec.Containers[0]
		want := line(criconfig.Resources(k.Pod, c, node, false))
		if got := line(criconfig.Resources(qostest.Claim(k.Pod, "cpu=1 memory=64Mi", "another"), c, node, false)); got != want {
			t.Errorf("%s: %s, want %s", k.Name, got, want)
		}
	}
}
