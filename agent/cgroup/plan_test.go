package cgroup

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeloupe/kubeloupe/agent/qos"
	"github.com/kubeloupe/kubeloupe/agent/qos/qostest"
)

// lines returns the files that limits write, without the reservations of huge pages, which have the same value.
func lines(l limits, v2 bool) string {
	var out []string
	for _, s := range l.settings(v2) {
		if !strings.Contains(s.file, ".rsvd.") {
			out = append(out, s.file+"="+s.value)
		}
	}
	return strings.Join(out, " ")
}

// The files of each kind of pod on cgroup v2 and v1, with the defaults and with memory QoS, by the rules of upstream's
// ResourceConfigForPod.
func TestPlanPod(t *testing.T) {
	plain := Config{CFSQuota: true, CFSPeriod: 100 * time.Millisecond, PodPidsLimit: 1000, HugePageSizes: []string{"2MB"}, MemoryQoS: &qos.MemoryPolicy{}}
	tiered := plain
	tiered.MemoryQoS = &qos.MemoryPolicy{Tiered: true, Throttling: new(0.5)}
	const end = " pids.max=1000 hugetlb.2MB.max=0"
	want := []struct{ name, v2, qos, v1 string }{
		{
			"guaranteed", "cpu.weight=20 cpu.max=50000 100000 memory.max=67108864" + end, " memory.min=67108864",
			"cpu.shares=512 cpu.cfs_period_us=100000 cpu.cfs_quota_us=50000 memory.limit_in_bytes=67108864",
		},
		{
			"guaranteed with huge pages", "cpu.weight=20 cpu.max=50000 100000 memory.max=67108864 pids.max=1000 hugetlb.2MB.max=4194304", " memory.min=67108864",
			"cpu.shares=512 cpu.cfs_period_us=100000 cpu.cfs_quota_us=50000 memory.limit_in_bytes=67108864",
		},
		{"burstable, requests only", "cpu.weight=10" + end, " memory.low=67108864", "cpu.shares=256"},
		{
			"burstable, limits", "cpu.weight=10 cpu.max=50000 100000 memory.max=134217728" + end, " memory.low=67108864",
			"cpu.shares=256 cpu.cfs_period_us=100000 cpu.cfs_quota_us=50000 memory.limit_in_bytes=134217728",
		},
		{"burstable, one container without limits", "cpu.weight=10" + end, " memory.low=67108864", "cpu.shares=256"},
		{
			"burstable, limits without requests", "cpu.weight=10 cpu.max=25000 100000 memory.max=134217728" + end, "",
			"cpu.shares=256 cpu.cfs_period_us=100000 cpu.cfs_quota_us=25000 memory.limit_in_bytes=134217728",
		},
		{"best effort", "cpu.weight=1" + end, "", "cpu.shares=2"},
		{
			"pod-level, burstable", "cpu.weight=10 cpu.max=50000 100000 memory.max=134217728" + end, " memory.high=100663296 memory.low=67108864",
			"cpu.shares=256 cpu.cfs_period_us=100000 cpu.cfs_quota_us=50000 memory.limit_in_bytes=134217728",
		},
		{
			"pod-level, guaranteed", "cpu.weight=20 cpu.max=50000 100000 memory.max=67108864" + end, " memory.min=67108864",
			"cpu.shares=512 cpu.cfs_period_us=100000 cpu.cfs_quota_us=50000 memory.limit_in_bytes=67108864",
		},
		{
			"pod-level huge pages", "cpu.weight=10 cpu.max=50000 100000 memory.max=67108864 pids.max=1000 hugetlb.2MB.max=4194304", " memory.low=67108864",
			"cpu.shares=256 cpu.cfs_period_us=100000 cpu.cfs_quota_us=50000 memory.limit_in_bytes=67108864",
		},
		{
			// 250m and 500m of CPU and 100m of overhead; 64 MiB twice and 16 MiB.
			"sidecar, init container and overhead", "cpu.weight=34 cpu.max=110000 100000 memory.max=218103808" + end, " memory.low=150994944",
			"cpu.shares=870 cpu.cfs_period_us=100000 cpu.cfs_quota_us=110000 memory.limit_in_bytes=218103808",
		},
		{
			"critical, burstable", "cpu.weight=10 cpu.max=50000 100000 memory.max=134217728" + end, " memory.low=67108864",
			"cpu.shares=256 cpu.cfs_period_us=100000 cpu.cfs_quota_us=50000 memory.limit_in_bytes=134217728",
		},
	}
	for i, kind := range qostest.Kinds() {
		w := want[i]
		pages := "0"
		if strings.Contains(w.v2, "hugetlb.2MB.max=4194304") {
			pages = "4194304"
		}
		for _, c := range []struct {
			name, got, want string
		}{
			{"name", kind.Name, w.name},
			{"v2", lines(plain.planPod(kind.Pod), true), w.v2},
			{"v2 with memory QoS", lines(tiered.planPod(kind.Pod), true), w.v2 + w.qos},
			{"v1", lines(tiered.planPod(kind.Pod), false), w.v1 + " pids.max=1000 hugetlb.2MB.limit_in_bytes=" + pages},
		} {
			if diff := cmp.Diff(c.want, c.got); diff != "" {
				t.Errorf("%s: %s (-want +got):\n%s", kind.Name, c.name, diff)
			}
		}
	}
	unlimited := plain
	unlimited.CFSQuota = false
	if got := lines(unlimited.planPod(qostest.Kinds()[0].Pod), true); !strings.Contains(got, "cpu.max=max 100000") {
		t.Errorf("without CFS quota: %s", got)
	}
	for own, want := range map[bool]string{true: "cpu.max=max 100000", false: "cpu.max=50000 100000"} {
		pinned := plain
		pinned.OwnCPUs = func(types.UID) bool { return own }
		if got := lines(pinned.planPod(qostest.Kinds()[0].Pod), true); !strings.Contains(got, want) {
			t.Errorf("CPUs of its own %t: %s, want %s", own, got, want)
		}
	}
}

func TestPlanTiers(t *testing.T) {
	var pods []*v1.Pod
	for _, kind := range qostest.Kinds()[:5] { // two Guaranteed and three Burstable pods, each with 64 MiB
		pods = append(pods, kind.Pod)
	}
	// Half a CPU and 64 MiB by claims for one pod of each class: they count only with the gate.
	for _, i := range []int{0, 2} {
		pods[i] = qostest.Claim(pods[i], "cpu=500m memory=64Mi", "a")
	}
	base := Config{Node: Limits{MilliCPU: 2000, Memory: 1 << 30, Pids: 5000}, CPUs: "0-1", HugePageSizes: []string{"2MB"}}
	const free = " hugetlb.2MB.max=4611686018427387904"
	for _, c := range []struct {
		name string
		edit func(*Config)
		v1   bool
		want [3]string
	}{
		{"gate off", func(*Config) {}, false, [3]string{
			"cpu.weight=79 cpuset.cpus=0-1 memory.max=1073741824 pids.max=5000" + free + " memory.low=0 memory.min=0",
			"cpu.weight=30" + free + " memory.low=0", "cpu.weight=1" + free,
		}},
		{"policy None", func(c *Config) { c.MemoryQoS = &qos.MemoryPolicy{Throttling: new(0.5)} }, false, [3]string{
			"cpu.weight=79 cpuset.cpus=0-1 memory.max=1073741824 pids.max=5000" + free + " memory.low=0 memory.min=0",
			"cpu.weight=30" + free + " memory.low=0", "cpu.weight=1" + free,
		}},
		{"TieredReservation", func(c *Config) { c.MemoryQoS = &qos.MemoryPolicy{Tiered: true} }, false, [3]string{
			"cpu.weight=79 cpuset.cpus=0-1 memory.max=1073741824 pids.max=5000" + free + " memory.low=201326592 memory.min=335544320",
			"cpu.weight=30" + free + " memory.low=201326592", "cpu.weight=1" + free,
		}},
		{"claims", func(c *Config) { c.Claims, c.MemoryQoS = qos.WithClaims, &qos.MemoryPolicy{Tiered: true} }, false, [3]string{
			"cpu.weight=79 cpuset.cpus=0-1 memory.max=1073741824 pids.max=5000" + free + " memory.low=268435456 memory.min=469762048",
			"cpu.weight=49" + free + " memory.low=268435456", "cpu.weight=1" + free,
		}},
		{"qosReserved", func(c *Config) { c.Allocatable, c.QOSReserved = 1<<30, new(int64(50)) }, false, [3]string{
			"cpu.weight=79 cpuset.cpus=0-1 memory.max=1073741824 pids.max=5000" + free + " memory.low=0 memory.min=0",
			"cpu.weight=30 memory.max=1006632960" + free + " memory.low=0", "cpu.weight=1 memory.max=905969664" + free,
		}},
		{"v1", func(c *Config) { c.MemoryQoS = &qos.MemoryPolicy{Tiered: true} }, true, [3]string{
			"cpu.shares=2048 cpuset.cpus=0-1 memory.limit_in_bytes=1073741824 pids.max=5000 hugetlb.2MB.limit_in_bytes=4611686018427387904",
			"cpu.shares=768 hugetlb.2MB.limit_in_bytes=4611686018427387904", "cpu.shares=2 hugetlb.2MB.limit_in_bytes=4611686018427387904",
		}},
	} {
		cfg := base
		c.edit(&cfg)
		for i, l := range cfg.planTiers(demandOf(pods, cfg.Claims)) {
			if diff := cmp.Diff(c.want[i], lines(l, !c.v1)); diff != "" {
				t.Errorf("%s: %v (-want +got):\n%s", c.name, tiers()[i], diff)
			}
		}
	}
}

func TestPlanReserved(t *testing.T) {
	cfg := Config{CPUs: "0-1", HugePageSizes: []string{"2MB"}, MemoryQoS: &qos.MemoryPolicy{}}
	r := Reserved{Limits: Limits{MilliCPU: 500, Memory: 1 << 28, Pids: 1000}}
	if diff := cmp.Diff("cpu.weight=20 cpuset.cpus=0-1 memory.max=268435456 pids.max=1000 hugetlb.2MB.max=0 memory.min=268435456", lines(cfg.planReserved(r), true)); diff != "" {
		t.Errorf("all (-want +got):\n%s", diff)
	}
	r.Compressible = true
	if diff := cmp.Diff("cpu.weight=20 cpuset.cpus=0-1 hugetlb.2MB.max=0", lines(cfg.planReserved(r), true)); diff != "" {
		t.Errorf("compressible (-want +got):\n%s", diff)
	}
	r.Compressible, cfg.MemoryQoS = false, nil
	if diff := cmp.Diff("cpu.shares=512 cpuset.cpus=0-1 memory.limit_in_bytes=268435456 pids.max=1000 hugetlb.2MB.limit_in_bytes=0", lines(cfg.planReserved(r), false)); diff != "" {
		t.Errorf("v1 (-want +got):\n%s", diff)
	}
}

// memory.high of the new limits is below the use until the containers have the new limits.
func TestPlanResize(t *testing.T) {
	cfg := Config{CFSPeriod: time.Second, MemoryQoS: &qos.MemoryPolicy{Throttling: new(0.5)}}
	pod := qostest.Kinds()[7].Pod
	if got := lines(cfg.planResize(pod, qos.Resources{Memory: new(int64(1 << 30))}), true); got != "memory.max=1073741824" {
		t.Errorf("before the containers: %s", got)
	}
	if got := lines(cfg.planResize(pod, qos.Resources{Memory: new(int64(128 << 20))}), true); got != "memory.max=134217728 memory.high=100663296" {
		t.Errorf("after the containers: %s", got)
	}
}
