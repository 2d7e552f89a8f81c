package qos_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/agent/qos"
	"github.com/kubeloupe/kubeloupe/agent/qos/qostest"
)

// What claims have adds to the requests of a pod's cgroup, and to limits that the spec has. The class stays.
func TestPodResourcesWithClaims(t *testing.T) {
	limited := res("cpu=100m memory=64Mi", "cpu=200m memory=128Mi")
	const none0 = int64(-2) // no limit is set
	for _, tc := range []struct {
		name                  string
		pod                   *v1.Pod
		shares, quota, memory int64
		pages                 int64 // of 2 MiB
		class                 v1.PodQOSClass
	}{
		{"best effort", qostest.Claim(podOf(none), "cpu=2 memory=1Gi", "a"), 2, none0, none0, 0, v1.PodQOSBestEffort},
		{"guaranteed", qostest.Claim(podOf(guaranteed), "cpu=1 memory=1Gi", "a"), 2048, 200000, 2 << 30, 0, v1.PodQOSGuaranteed},
		{"burstable without limits", qostest.Claim(podOf(res("cpu=500m", "")), "cpu=500m memory=1Gi", "a"), 1024, none0, none0, 0, v1.PodQOSBurstable},
		{"burstable, limits", qostest.Claim(podOf(limited), "cpu=100m memory=64Mi", "a"), 204, 30000, 192 << 20, 0, v1.PodQOSBurstable},
		{"only CPU is limited", qostest.Claim(podOf(res("cpu=100m", "cpu=100m")), "cpu=100m memory=64Mi", "a"), 204, 20000, none0, 0, v1.PodQOSBurstable},
		{"shared by two: once", qostest.Claim(podOf(limited, limited), "cpu=100m", "a", "b"), 307, 50000, 256 << 20, 0, v1.PodQOSBurstable},
		{"two claims", qostest.Claim(qostest.Claim(podOf(limited), "cpu=100m", "a"), "cpu=100m", "a"), 307, 40000, 128 << 20, 0, v1.PodQOSBurstable},
		{"overhead: once, and for each of two", qostest.Overhead(podOf(limited, limited), "cpu=100m", "memory=16Mi", "a", "b"), 307, 50000, 288 << 20, 0, v1.PodQOSBurstable},
		{"huge pages", qostest.Claim(podOf(limited), "hugepages-2Mi=4Mi", "a"), 102, 20000, 128 << 20, 4 << 20, v1.PodQOSBurstable},
		{"the pod level has the sum", qostest.Claim(edit(podOf(none), func(p *v1.Pod) {
			p.Spec.Resources = new(res("cpu=1 memory=128Mi", "cpu=2 memory=256Mi"))
		}), "cpu=500m memory=64Mi", "a"), 1024, 200000, 256 << 20, 0, v1.PodQOSBurstable},
	} {
		got := qos.PodResources(tc.pod, qos.WithClaims, true, qos.DefaultPeriod)
		is := func(p *int64) int64 {
			if p == nil {
				return none0
			}
			return *p
		}
		if got.CPUShares != tc.shares || is(got.CPUQuota) != tc.quota || is(got.Memory) != tc.memory || got.HugePages[2<<20] != tc.pages || qos.Class(tc.pod) != tc.class {
			t.Errorf("%s: shares %d, quota %d, memory %d, huge pages %v, class %s", tc.name, got.CPUShares, is(got.CPUQuota), is(got.Memory), got.HugePages, qos.Class(tc.pod))
		}
		bare := tc.pod.DeepCopy()
		bare.Status = v1.PodStatus{}
		off, without := qos.PodResources(tc.pod, qos.WithoutClaims, true, qos.DefaultPeriod), qos.PodResources(bare, qos.WithClaims, true, qos.DefaultPeriod)
		if diff := cmp.Diff(without, off); diff != "" {
			t.Errorf("%s: claims count with the gate off (-want +got):\n%s", tc.name, diff)
		}
	}
}

func TestOOMScoreAdjWithClaims(t *testing.T) {
	const node = 10 << 30
	always := v1.ContainerRestartPolicyAlways
	one, rest := res("memory=1Gi", ""), res("cpu=1", "")
	sidecar := edit(podOf(one), func(p *v1.Pod) {
		p.Spec.InitContainers = []v1.Container{{Name: "side", RestartPolicy: &always, Resources: res("memory=100Mi", "")}}
	})
	podLevel := edit(podOf(one, none), func(p *v1.Pod) { p.Spec.Resources = &v1.ResourceRequirements{Requests: list("memory=5Gi")} })
	for _, tc := range []struct {
		name      string
		pod       *v1.Pod
		container int // in the spec; -1 is the first init container
		want      int
	}{
		{"not its claim", qostest.Claim(podOf(one, rest), "memory=2Gi", "b"), 0, 900},
		{"its claim", qostest.Claim(podOf(one, rest), "memory=2Gi", "b"), 1, 800},
		{"in addition to a request", qostest.Claim(podOf(one), "memory=2Gi", "a"), 0, 700},
		{"CPU does not count", qostest.Claim(podOf(one), "cpu=2", "a"), 0, 900},
		{"shared by two", qostest.Claim(podOf(one, rest), "memory=2Gi", "a", "b"), 1, 900},
		{"overhead", qostest.Overhead(podOf(one, rest), "memory=2Gi", "memory=1Gi", "a", "b"), 1, 800},
		{"more than the node has", qostest.Claim(podOf(one), "memory=64Gi", "a"), 0, 3},
		{"best effort", qostest.Claim(podOf(none), "memory=2Gi", "a"), 0, 1000},
		{"guaranteed", qostest.Claim(podOf(guaranteed), "memory=2Gi", "a"), 0, -997},
		{"a sidecar is as the smallest container", qostest.Claim(sidecar, "memory=2Gi", "a"), -1, 700},
		// 5 GiB without the 1 GiB of the container and the 2 GiB of the claim, for two containers.
		{"rest of the pod level", qostest.Claim(podLevel, "memory=2Gi", "b"), 0, 800},
		{"rest of the pod level and a claim", qostest.Claim(podLevel, "memory=2Gi", "b"), 1, 700},
	} {
		c := &tc.pod.Spec.Containers[max(tc.container, 0)]
		if tc.container < 0 {
			c = &tc.pod.Spec.InitContainers[0]
		}
		if got := qos.OOMScoreAdj(tc.pod, qos.WithClaims, c, node); got != tc.want {
			t.Errorf("%s: %d, want %d", tc.name, got, tc.want)
		}
	}
	pod := qostest.Claim(podOf(one), "memory=2Gi", "a")
	if got := qos.OOMScoreAdj(pod, qos.WithoutClaims, &pod.Spec.Containers[0], node); got != 900 {
		t.Errorf("with the gate off: %d", got)
	}
}

// Memory of claims is protected with the pod's, and raises the limit from which memory.high is computed. memory.high of the pod is that of
// its spec, as upstream.
func TestMemoryPolicyWithClaims(t *testing.T) {
	type files = map[string]string
	half := &qos.MemoryPolicy{Tiered: true, Throttling: new(0.5), Claims: qos.WithClaims}
	for _, tc := range []struct {
		name           string
		pod            *v1.Pod
		pods, contains files
	}{
		{"guaranteed", podOf(guaranteed), files{"memory.min": "1140850688"}, files{"memory.min": "1073741824"}},
		{"burstable", podOf(res("memory=64Mi", "memory=128Mi")), files{"memory.low": "134217728"}, files{"memory.low": "67108864", "memory.high": "134217728"}},
		{"best effort", podOf(none), files{"memory.low": "67108864"}, files{"memory.min": "0", "memory.low": "0", "memory.high": "1073741824"}},
		{
			"pod level", edit(podOf(none), func(p *v1.Pod) { p.Spec.Resources = new(res("memory=64Mi", "memory=128Mi")) }),
			files{"memory.low": "67108864", "memory.high": "100663296"},
			files{"memory.min": "0", "memory.low": "0"},
		},
	} {
		pod := qostest.Claim(tc.pod, "memory=64Mi", "a")
		if diff := cmp.Diff(tc.pods, half.Pod(pod)); diff != "" {
			t.Errorf("%s: pod (-want +got):\n%s", tc.name, diff)
		}
		if diff := cmp.Diff(tc.contains, half.Container(pod, &pod.Spec.Containers[0], 2<<30)); diff != "" {
			t.Errorf("%s: container (-want +got):\n%s", tc.name, diff)
		}
	}
}
