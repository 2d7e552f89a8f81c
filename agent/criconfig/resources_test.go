package criconfig_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/kubeloupe/kubeloupe/agent/criconfig"
	"github.com/kubeloupe/kubeloupe/agent/qos"
	"github.com/kubeloupe/kubeloupe/agent/qos/qostest"
)

// line returns resources as the files that the runtime sets from them.
func line(r *runtimeapi.LinuxContainerResources) string {
	out := fmt.Sprintf("shares=%d quota=%d/%d memory=%d", r.CpuShares, r.CpuQuota, r.CpuPeriod, r.MemoryLimitInBytes)
	for _, h := range r.HugepageLimits {
		out += fmt.Sprintf(" %s=%d", h.PageSize, h.Limit)
	}
	if r.MemorySwapLimitInBytes != 0 {
		out += fmt.Sprintf(" memsw=%d", r.MemorySwapLimitInBytes)
	}
	return strings.TrimSpace(out + " " + files(r))
}

func files(r *runtimeapi.LinuxContainerResources) string {
	var out []string
	for _, file := range slices.Sorted(maps.Keys(r.Unified)) {
		out = append(out, strings.TrimPrefix(file, "memory.")+"="+r.Unified[file])
	}
	return strings.Join(out, " ")
}

// The resources of the first container of each kind of pod on cgroup v2 with the defaults, on v1, and what LimitedSwap
// and memory QoS add, by the rules of upstream's generateLinuxContainerResources. The node has 8 GiB of memory, of which
// 6 GiB are for pods, and 4 GiB of swap.
func TestResourcesOfKinds(t *testing.T) {
	const defaults = " low=0 min=0 oom.group=1 swap.max=0"
	v2 := criconfig.Node{
		CFSQuota: true, HugePageSizes: []string{"2MB"}, MemoryCapacity: 8 << 30, PodMemory: 6 << 30,
		CgroupV2: true, MemoryQoS: &qos.MemoryPolicy{}, Swap: criconfig.Swap{Accounting: true, Capacity: 4 << 30},
	}
	v1node, swap, tiered := v2, v2, v2
	v1node.CgroupV2 = false
	swap.Swap.Limited = true
	tiered.MemoryQoS = &qos.MemoryPolicy{Tiered: true, Throttling: new(0.5)}
	want := []struct {
		name, base  string // of v2 and v1
		memsw       int64  // of v1
		limitedSwap string
		tiered      string // memory QoS
	}{
		{"guaranteed", "shares=512 quota=50000/100000 memory=67108864 2MB=0", 64 << 20, "0", "min=67108864"},
		{"guaranteed with huge pages", "shares=512 quota=50000/100000 memory=67108864 2MB=4194304", 64 << 20, "0", "min=67108864"},
		// 64 MiB of 8 GiB, of 4 GiB; halfway from 64 MiB to 6 GiB.
		{"burstable, requests only", "shares=256 quota=0/100000 memory=0 2MB=0", 0, "33554432", "high=3254779904 low=67108864"},
		{"burstable, limits", "shares=256 quota=50000/100000 memory=134217728 2MB=0", 128 << 20, "33554432", "high=100663296 low=67108864"},
		{"burstable, one container without limits", "shares=256 quota=50000/100000 memory=134217728 2MB=0", 128 << 20, "33554432", "high=100663296 low=67108864"},
		{"burstable, limits without requests", "shares=256 quota=25000/100000 memory=134217728 2MB=0", 128 << 20, "0", "high=67108864 low=0 min=0"},
		{"best effort", "shares=2 quota=0/100000 memory=0 2MB=0", 0, "0", "high=3221225472 low=0 min=0"},
		{"pod-level, burstable", "shares=512 quota=50000/100000 memory=134217728 2MB=0", 128 << 20, "0", "low=0 min=0"},
		{"pod-level, guaranteed", "shares=512 quota=50000/100000 memory=67108864 2MB=0", 64 << 20, "0", "low=0 min=0"},
		{"pod-level huge pages", "shares=512 quota=50000/100000 memory=67108864 2MB=4194304", 64 << 20, "0", "low=0 min=0"},
		{"sidecar, init container and overhead", "shares=256 quota=50000/100000 memory=134217728 2MB=0", 128 << 20, "33554432", "high=100663296 low=67108864"},
		{"critical, burstable", "shares=256 quota=50000/100000 memory=134217728 2MB=0", 128 << 20, "0", "high=100663296 low=67108864"},
	}
	for i, kind := range qostest.Kinds() {
		w, c := want[i], &kind.Pod.Spec.Containers[0]
		memsw := ""
		if w.memsw > 0 {
			memsw = fmt.Sprintf(" memsw=%d", w.memsw)
		}
		resources := func(n criconfig.Node) *runtimeapi.LinuxContainerResources {
			return criconfig.Resources(kind.Pod, c, n, false)
		}
		for _, x := range []struct{ name, got, want string }{
			{"name", kind.Name, w.name},
			{"v2", line(resources(v2)), w.base + defaults},
			{"v1", line(resources(v1node)), w.base + memsw},
			{"LimitedSwap", files(resources(swap)), "low=0 min=0 oom.group=1 swap.max=" + w.limitedSwap},
			{"memory QoS", files(resources(tiered)), w.tiered + " oom.group=1 swap.max=0"},
		} {
			if diff := cmp.Diff(x.want, x.got); diff != "" {
				t.Errorf("%s: %s (-want +got):\n%s", kind.Name, x.name, diff)
			}
		}
	}
}

// What settings of the node change.
func TestResourcesByNode(t *testing.T) {
	pod := qostest.Kinds()[3].Pod
	for _, c := range []struct {
		name string
		node criconfig.Node
		want string
	}{
		{"the gate MemoryQoS is off", criconfig.Node{CgroupV2: true}, "high=max oom.group=1"},
		{"singleProcessOOMKill", criconfig.Node{CgroupV2: true, SingleProcessOOMKill: true, MemoryQoS: &qos.MemoryPolicy{}}, "low=0 min=0"},
		{"swap is not counted", criconfig.Node{CgroupV2: true, MemoryQoS: &qos.MemoryPolicy{}, Swap: criconfig.Swap{Limited: true}}, "low=0 min=0 oom.group=1"},
		{"v1", criconfig.Node{MemoryQoS: &qos.MemoryPolicy{Tiered: true}, Swap: criconfig.Swap{Limited: true}}, ""},
	} {
		if diff := cmp.Diff(c.want, files(criconfig.Resources(pod, &pod.Spec.Containers[0], c.node, false))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

func TestSandboxKillsAllProcesses(t *testing.T) {
	pod := qostest.Kinds()[10].Pod
	for _, single := range []bool{false, true} {
		cfg, err := criconfig.Sandbox(pod, criconfig.Node{CgroupV2: true, SingleProcessOOMKill: single, MemoryQoS: &qos.MemoryPolicy{Tiered: true}}, criconfig.SandboxInput{})
		if err != nil {
			t.Fatal(err)
		}
		want := "oom.group=1"
		if single {
			want = ""
		}
		if got := files(cfg.Linux.Resources); got != want {
			t.Errorf("sum: %q, want %q", got, want)
		}
		if got := files(cfg.Linux.Overhead); got != want {
			t.Errorf("overhead: %q, want %q", got, want)
		}
	}
}

// A resize tells the runtime the limits of the pod's cgroup without the overhead, which is apart; -1 means no limit.
func TestSandboxUpdate(t *testing.T) {
	protected := quantities("memory", "16Mi")
	for _, c := range []struct {
		name     string
		overhead v1.ResourceList
		limits   qos.Resources
		want     *runtimeapi.UpdatePodSandboxResourcesRequest
	}{
		{
			"limits", nil,
			qos.Resources{CPUShares: 512, CPUQuota: new(int64(50_000)), CPUPeriod: new(int64(100_000)), Memory: new(int64(64 << 20))},
			&runtimeapi.UpdatePodSandboxResourcesRequest{
				Resources: &runtimeapi.LinuxContainerResources{CpuShares: 512, CpuPeriod: 100_000, CpuQuota: 50_000, MemoryLimitInBytes: 64 << 20},
				Overhead:  &runtimeapi.LinuxContainerResources{},
			},
		},
		{
			"overhead", quantities("cpu", "50m", "memory", "16Mi"),
			qos.Resources{CPUShares: 563, CPUQuota: new(int64(55_000)), CPUPeriod: new(int64(100_000)), Memory: new(int64(80 << 20))},
			&runtimeapi.UpdatePodSandboxResourcesRequest{
				Resources: &runtimeapi.LinuxContainerResources{CpuShares: 512, CpuPeriod: 100_000, CpuQuota: 50_000, MemoryLimitInBytes: 64 << 20},
				Overhead:  &runtimeapi.LinuxContainerResources{CpuShares: 51, CpuPeriod: 100_000, CpuQuota: 5_000, MemoryLimitInBytes: 16 << 20},
			},
		},
		{
			"no limits", quantities("memory", "16Mi"),
			qos.Resources{CPUShares: 2, CPUQuota: new(int64(-1))},
			&runtimeapi.UpdatePodSandboxResourcesRequest{
				Resources: &runtimeapi.LinuxContainerResources{CpuShares: 2, CpuPeriod: 100_000, CpuQuota: -1, MemoryLimitInBytes: -1},
				Overhead:  &runtimeapi.LinuxContainerResources{CpuShares: 2, CpuPeriod: 100_000, MemoryLimitInBytes: 16 << 20},
			},
		},
	} {
		pod := &v1.Pod{Spec: v1.PodSpec{Overhead: c.overhead, Containers: []v1.Container{{Resources: v1.ResourceRequirements{Requests: protected}}}}}
		c.want.PodSandboxId = "sb"
		diffProto(t, c.name, c.want, criconfig.SandboxUpdate(pod, "sb", c.limits, criconfig.Node{CFSQuota: true}))
		got := criconfig.SandboxUpdate(pod, "sb", c.limits, criconfig.Node{CgroupV2: true, MemoryQoS: &qos.MemoryPolicy{Tiered: true}})
		want := "low=16777216"
		if c.overhead != nil {
			want = "low=33554432"
		}
		if diff := cmp.Diff(want, files(got.GetResources())); diff != "" {
			t.Errorf("%s, with the gate MemoryQoS (-want +got):\n%s", c.name, diff)
		}
	}
}
