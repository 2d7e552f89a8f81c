package qos_test

import (
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/agent/qos"
)

func TestMemoryPolicy(t *testing.T) {
	type files = map[string]string
	const mi = 1 << 20
	text := func(n int64) string { return strconv.FormatInt(n, 10) }
	half := &qos.MemoryPolicy{Tiered: true, Throttling: new(0.5)}
	podLevel := func(requests, limits string) func(*v1.Pod) {
		return func(p *v1.Pod) { p.Spec.Resources = new(res(requests, limits)) }
	}
	unset := files{"memory.min": "0", "memory.low": "0"}
	for _, tc := range []struct {
		name           string
		policy         *qos.MemoryPolicy
		pod            *v1.Pod
		pods, contains files // of the pod's cgroup and of its first container's
	}{
		{"gate off", nil, podOf(guaranteed), nil, files{"memory.high": "max"}},
		{"defaults", &qos.MemoryPolicy{}, podOf(res("memory=64Mi", "memory=128Mi")), files{}, unset},
		{"guaranteed", half, podOf(guaranteed), files{"memory.min": text(1024 * mi)}, files{"memory.min": text(1024 * mi)}},
		{"burstable", half, podOf(res("memory=64Mi", "memory=128Mi")), files{"memory.low": text(64 * mi)}, files{"memory.low": text(64 * mi), "memory.high": text(96 * mi)}},
		{"no limit: the node's memory", half, podOf(res("memory=64Mi", "")), files{"memory.low": text(64 * mi)}, files{"memory.low": text(64 * mi), "memory.high": text(1056 * mi)}},
		{"no request", half, podOf(res("cpu=1", "memory=64Mi")), files{}, files{"memory.min": "0", "memory.low": "0", "memory.high": text(32 * mi)}},
		{"best effort", half, podOf(none), files{}, files{"memory.min": "0", "memory.low": "0", "memory.high": text(1024 * mi)}},
		{"best effort, not tiered", &qos.MemoryPolicy{Throttling: new(1.0)}, podOf(none), files{}, files{"memory.min": "0", "memory.low": "0", "memory.high": text(2048 * mi)}},
		{"request above the node's memory", half, podOf(res("memory=3Gi", "")), files{"memory.low": text(3072 * mi)}, files{"memory.low": text(3072 * mi)}},
		{"less than a page above the request", half, podOf(res("memory=64Mi", "memory=67108865")), files{"memory.low": text(64 * mi)}, files{"memory.low": text(64 * mi)}},
		{"request equal to the limit, in a burstable pod", half, podOf(res("memory=64Mi", "memory=64Mi")), files{"memory.low": text(64 * mi)}, files{"memory.low": text(64 * mi)}},
		{
			"pod-level limit", half, edit(podOf(res("memory=16Mi", "")), podLevel("memory=64Mi", "memory=128Mi")),
			files{"memory.low": text(64 * mi), "memory.high": text(96 * mi)},
			files{"memory.low": text(16 * mi)},
		},
		{
			"pod-level limit and the container's", half, edit(podOf(res("memory=16Mi", "memory=32Mi")), podLevel("memory=64Mi", "memory=128Mi")),
			files{"memory.low": text(64 * mi), "memory.high": text(96 * mi)},
			files{"memory.low": text(16 * mi), "memory.high": text(24 * mi)},
		},
		{
			"pod-level guaranteed", half, edit(podOf(none), podLevel("cpu=1 memory=64Mi", "cpu=1 memory=64Mi")),
			files{"memory.min": text(64 * mi)},
			unset,
		},
		{
			"pod-level request only", half, edit(podOf(none), podLevel("memory=64Mi", "")),
			files{"memory.low": text(64 * mi)},
			files{"memory.min": "0", "memory.low": "0", "memory.high": text(1024 * mi)},
		},
	} {
		if diff := cmp.Diff(tc.pods, tc.policy.Pod(tc.pod)); diff != "" {
			t.Errorf("%s: pod (-want +got):\n%s", tc.name, diff)
		}
		if diff := cmp.Diff(tc.contains, tc.policy.Container(tc.pod, &tc.pod.Spec.Containers[0], 2048*mi)); diff != "" {
			t.Errorf("%s: container (-want +got):\n%s", tc.name, diff)
		}
	}
	pod := podOf(none)
	if diff := cmp.Diff(unset, half.Container(pod, &pod.Spec.Containers[0], 0)); diff != "" {
		t.Errorf("the node's memory is unknown (-want +got):\n%s", diff)
	}
	g, b := qos.MemoryRequests([]*v1.Pod{podOf(guaranteed), podOf(none), podOf(res("memory=64Mi", "")), podOf(res("memory=1Mi", "memory=2Mi"))}, qos.WithoutClaims)
	if g != 1024*mi || b != 65*mi {
		t.Errorf("requests %d and %d", g, b)
	}
}

func TestSwapLimit(t *testing.T) {
	const gi = 1 << 30
	critical := func(p *v1.Pod) { p.Spec.Priority = new(int32(2_000_000_000)) }
	for _, tc := range []struct {
		name         string
		pod          *v1.Pod
		memory, swap int64
		want         int64
	}{
		{"a quarter of the memory", podOf(res("memory=1Gi", "memory=2Gi")), 4 * gi, 2 * gi, gi / 2},
		{"without a limit", podOf(res("memory=1Gi", "")), 4 * gi, 2 * gi, gi / 2},
		{"rounded down", podOf(res("memory=1Gi", "")), 3 * gi, 1000, 333},
		{"the node has no swap", podOf(res("memory=1Gi", "")), 4 * gi, 0, 0},
		{"guaranteed", podOf(guaranteed), 4 * gi, 2 * gi, 0},
		{"best effort", podOf(none), 4 * gi, 2 * gi, 0},
		{"burstable by CPU only", podOf(res("cpu=1", "")), 4 * gi, 2 * gi, 0},
		{"as much as the limit", podOf(res("memory=1Gi", "memory=1Gi")), 4 * gi, 2 * gi, 0},
		{"critical", edit(podOf(res("memory=1Gi", "")), critical), 4 * gi, 2 * gi, 0},
		{"more than the node has", podOf(res("memory=5Gi", "")), 4 * gi, 2 * gi, 0},
		{"unknown memory", podOf(res("memory=1Gi", "")), 0, 2 * gi, 0},
	} {
		if got := qos.SwapLimit(tc.pod, &tc.pod.Spec.Containers[0], tc.memory, tc.swap); got != tc.want {
			t.Errorf("%s: %d, want %d", tc.name, got, tc.want)
		}
	}
}
