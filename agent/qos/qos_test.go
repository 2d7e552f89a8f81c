package qos_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeloupe/kubeloupe/agent/qos"
)

// res parses "cpu=1 memory=1Gi" as requests and limits.
func res(requests, limits string) v1.ResourceRequirements {
	return v1.ResourceRequirements{Requests: list(requests), Limits: list(limits)}
}

func list(text string) v1.ResourceList {
	out := v1.ResourceList{}
	for rest := text; rest != ""; {
		var item string
		item, rest, _ = cut(rest, ' ')
		name, value, _ := cut(item, '=')
		out[v1.ResourceName(name)] = resource.MustParse(value)
	}
	return out
}

func cut(s string, sep byte) (before, after string, found bool) {
	for i := range len(s) {
		if s[i] == sep {
			return s[:i], s[i+1:], true
		}
	}
	return s, "", false
}

func podOf(containers ...v1.ResourceRequirements) *v1.Pod {
	pod := &v1.Pod{}
	for i, r := range containers {
		pod.Spec.Containers = append(pod.Spec.Containers, v1.Container{Name: string(rune('a' + i)), Resources: r})
	}
	return pod
}

func edit(pod *v1.Pod, f func(*v1.Pod)) *v1.Pod {
	f(pod)
	return pod
}

var (
	none       = res("", "")
	guaranteed = res("cpu=1 memory=1Gi", "cpu=1 memory=1Gi")
	burstable  = res("cpu=250m memory=1Gi", "")
)

func TestClass(t *testing.T) {
	for _, tc := range []struct {
		name string
		pod  *v1.Pod
		want v1.PodQOSClass
	}{
		{"nothing set", podOf(none), v1.PodQOSBestEffort},
		{"no containers", podOf(), v1.PodQOSBestEffort},
		{"explicit zero", podOf(res("cpu=0 memory=0", "")), v1.PodQOSBestEffort},
		{"equal", podOf(guaranteed, guaranteed), v1.PodQOSGuaranteed},
		{"request only", podOf(burstable), v1.PodQOSBurstable},
		{"cpu only, equal", podOf(res("cpu=1", "cpu=1")), v1.PodQOSBurstable},
		{"one without", podOf(guaranteed, none), v1.PodQOSBurstable},
		{"only other resources", podOf(res("ephemeral-storage=1Gi", "ephemeral-storage=1Gi")), v1.PodQOSBestEffort},
		{"init counts", edit(podOf(guaranteed), func(p *v1.Pod) {
			p.Spec.InitContainers = []v1.Container{{Resources: none}}
		}), v1.PodQOSBurstable},
		{"pod level decides", edit(podOf(none), func(p *v1.Pod) { p.Spec.Resources = &guaranteed }), v1.PodQOSGuaranteed},
		{"pod level empty is ignored", edit(podOf(burstable), func(p *v1.Pod) {
			p.Spec.Resources = &v1.ResourceRequirements{}
		}), v1.PodQOSBurstable},
		{"recorded class wins", edit(podOf(none), func(p *v1.Pod) { p.Status.QOSClass = v1.PodQOSGuaranteed }), v1.PodQOSGuaranteed},
	} {
		if got := qos.Class(tc.pod); got != tc.want {
			t.Errorf("%s: %s, want %s", tc.name, got, tc.want)
		}
	}
}

func TestOOMScoreAdj(t *testing.T) {
	const node = 10 << 30
	always := v1.ContainerRestartPolicyAlways
	sidecar := edit(podOf(res("memory=4Gi", ""), res("memory=2Gi", "")), func(p *v1.Pod) {
		p.Spec.InitContainers = []v1.Container{{Name: "side", RestartPolicy: &always, Resources: res("memory=100Mi", "")}}
	})
	podLevel := edit(podOf(res("memory=1Gi", ""), none), func(p *v1.Pod) {
		p.Spec.Resources = &v1.ResourceRequirements{Requests: list("memory=5Gi")}
	})
	critical := func(annotations map[string]string, priority int32) *v1.Pod {
		return edit(podOf(none), func(p *v1.Pod) {
			p.Spec.PriorityClassName, p.Spec.Priority = "system-node-critical", &priority
			p.ObjectMeta = metav1.ObjectMeta{Annotations: annotations}
		})
	}
	for _, tc := range []struct {
		name string
		pod  *v1.Pod
		c    *v1.Container
		node int64
		want int
	}{
		{"guaranteed", podOf(guaranteed), nil, node, -997},
		{"best effort", podOf(none), nil, node, 1000},
		{"burstable, a tenth", podOf(burstable), nil, node, 900},
		{"burstable, nothing", podOf(none, burstable), nil, node, 999},
		{"burstable, tiny", podOf(res("memory=1Ki", "")), nil, node, 999},
		{"burstable, more than all", podOf(res("memory=20Gi", "")), nil, node, 3},
		{"burstable, capacity unknown", podOf(burstable), nil, 0, 999},
		{"sidecar as the smallest", sidecar, &sidecar.Spec.InitContainers[0], node, 800},
		{"beside a sidecar", sidecar, &sidecar.Spec.Containers[0], node, 600},
		{"pod level shared out", podLevel, nil, node, 700},
		{"pod level, own request none", podLevel, &podLevel.Spec.Containers[1], node, 800},
		{"node critical by priority", critical(nil, 2_000_001_000), nil, node, -997},
		{"node critical, static", critical(map[string]string{"kubernetes.io/config.source": "file"}, 0), nil, node, -997},
		{"node critical, mirror", critical(map[string]string{"kubernetes.io/config.mirror": "x"}, 0), nil, node, -997},
		{"class name alone", critical(map[string]string{"kubernetes.io/config.source": "api"}, 0), nil, node, 1000},
	} {
		c := tc.c
		if c == nil {
			c = &tc.pod.Spec.Containers[0]
		}
		if got := qos.OOMScoreAdj(tc.pod, qos.WithoutClaims, c, tc.node); got != tc.want {
			t.Errorf("%s: %d, want %d", tc.name, got, tc.want)
		}
	}
}

func TestConversions(t *testing.T) {
	for milli, want := range map[int64]int64{0: 2, 1: 2, 100: 102, 1000: 1024, 1500: 1536, 1_000_000: 262144} {
		if got := qos.Shares(milli); got != want {
			t.Errorf("Shares(%d) = %d, want %d", milli, got, want)
		}
	}
	for milli, want := range map[int64]int64{0: 0, 1: 1000, 10: 1000, 20: 2000, 1500: 150000} {
		if got := qos.Quota(milli, qos.DefaultPeriod); got != want {
			t.Errorf("Quota(%d) = %d, want %d", milli, got, want)
		}
	}
	if got := qos.Quota(1000, 5*time.Millisecond); got != 5000 {
		t.Errorf("Quota with a 5 ms period = %d, want 5000", got)
	}
	for shares, want := range map[int64]int64{0: 0, 2: 1, 1024: 39, 262144: 10000, 1 << 40: 10000} {
		if got := qos.Weight(shares); got != want {
			t.Errorf("Weight(%d) = %d, want %d", shares, got, want)
		}
	}
	for size, want := range map[int64]string{2 << 20: "2MB", 1 << 30: "1GB", 64 << 10: "64KB", 0: "0B"} {
		if got := qos.PageSize(size); got != want {
			t.Errorf("PageSize(%d) = %s, want %s", size, got, want)
		}
	}
}

func TestPodResources(t *testing.T) {
	i := func(n int64) *int64 { return &n }
	always := v1.ContainerRestartPolicyAlways
	limited := res("cpu=100m memory=100Mi", "cpu=200m memory=200Mi")
	sums := edit(podOf(limited, limited), func(p *v1.Pod) {
		p.Spec.InitContainers = []v1.Container{
			{Name: "side", RestartPolicy: &always, Resources: limited},
			{Name: "init", Resources: res("cpu=2 memory=50Mi", "cpu=2 memory=50Mi")},
		}
		p.Spec.Overhead = list("cpu=50m memory=10Mi")
	})
	for _, tc := range []struct {
		name    string
		pod     *v1.Pod
		noQuota bool
		want    qos.Resources
	}{
		{name: "best effort", pod: podOf(none), want: qos.Resources{CPUShares: 2}},
		{name: "guaranteed", pod: podOf(guaranteed), want: qos.Resources{
			CPUShares: 1024, CPUQuota: i(100000), CPUPeriod: i(100000), Memory: i(1 << 30),
		}},
		{name: "guaranteed without quota", pod: podOf(guaranteed), noQuota: true, want: qos.Resources{
			CPUShares: 1024, CPUQuota: i(-1), CPUPeriod: i(100000), Memory: i(1 << 30),
		}},
		{name: "burstable without limits", pod: podOf(burstable), want: qos.Resources{CPUShares: 256}},
		{name: "one container unlimited", pod: podOf(limited, res("", "memory=1Mi")), want: qos.Resources{
			CPUShares: 102, Memory: i(201 << 20),
		}},
		// The init container with the sidecar before it (2.1 CPU) needs more than the rest; plus overhead.
		{name: "sidecar, init and overhead", pod: sums, want: qos.Resources{
			CPUShares: 2201, CPUQuota: i(225000), CPUPeriod: i(100000), Memory: i(610 << 20),
		}},
		{name: "pod level", pod: edit(podOf(none), func(p *v1.Pod) {
			r := res("cpu=500m", "cpu=1 memory=64Mi")
			p.Spec.Resources = &r
		}), want: qos.Resources{CPUShares: 512, CPUQuota: i(100000), CPUPeriod: i(100000), Memory: i(64 << 20)}},
		{name: "huge pages", pod: podOf(res("cpu=1 hugepages-2Mi=4Mi hugepages-1Gi=1Gi", "hugepages-2Mi=4Mi hugepages-1Gi=1Gi")), want: qos.Resources{
			CPUShares: 1024, HugePages: map[int64]int64{2 << 20: 4 << 20, 1 << 30: 1 << 30},
		}},
	} {
		if tc.want.HugePages == nil {
			tc.want.HugePages = map[int64]int64{}
		}
		got := qos.PodResources(tc.pod, qos.WithoutClaims, !tc.noQuota, qos.DefaultPeriod)
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.name, diff)
		}
	}
	if got := qos.BurstableShares([]*v1.Pod{podOf(burstable), podOf(guaranteed), podOf(none), podOf(burstable)}, qos.WithoutClaims); got != 512 {
		t.Errorf("burstable tier = %d shares, want 512", got)
	}
}
