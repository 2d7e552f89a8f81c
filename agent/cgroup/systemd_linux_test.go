package cgroup

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/opencontainers/cgroups"

	"github.com/kubeloupe/kubeloupe/agent/qos"
)

func TestResourcesForSystemd(t *testing.T) {
	l := limits{
		Resources: qos.Resources{
			CPUShares: 512, CPUQuota: new(int64(50000)), CPUPeriod: new(int64(100000)), Memory: new(int64(64 << 20)),
			HugePages: map[int64]int64{2 << 20: 4 << 20},
		},
		pids: 100, pageSizes: []string{"2MB", "1GB"}, cpus: "0-1", unified: map[string]string{"memory.low": "5"},
	}
	want := &cgroups.Resources{
		CpuWeight: 20, CpuQuota: 50000, CpuPeriod: 100000, Memory: 64 << 20, PidsLimit: new(int64(100)),
		HugetlbLimit: []*cgroups.HugepageLimit{{Pagesize: "2MB", Limit: 4 << 20}, {Pagesize: "1GB"}},
		CpusetCpus:   "0-1", Unified: map[string]string{"memory.low": "5"},
		SkipDevices: true, SkipFreezeOnSet: true,
	}
	if diff := cmp.Diff(want, l.resources(true)); diff != "" {
		t.Errorf("v2 (-want +got):\n%s", diff)
	}
	want.CpuWeight, want.CpuShares, want.Unified = 0, 512, nil
	if diff := cmp.Diff(want, l.resources(false)); diff != "" {
		t.Errorf("v1 (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(&cgroups.Resources{SkipDevices: true, SkipFreezeOnSet: true}, limits{}.resources(true)); diff != "" {
		t.Errorf("nothing (-want +got):\n%s", diff)
	}
}

// The library reports an error for limits without a controller.
func TestPossible(t *testing.T) {
	l := limits{pids: 1, cpus: "0", pageSizes: []string{"2MB"}, unlimitedPages: true}
	few := &Manager{tree: []hierarchy{{controllers: []string{"cpu", "memory"}}}}
	if got := few.possible(l); got.pids != 0 || got.cpus != "" || got.pageSizes != nil {
		t.Errorf("without controllers: %+v", got)
	}
	all := &Manager{tree: []hierarchy{{controllers: []string{"cpu", "memory", "cpuset", "pids", "hugetlb"}}}}
	want := []*cgroups.HugepageLimit{{Pagesize: "2MB", Limit: 1 << 62}}
	if diff := cmp.Diff(want, all.possible(l).resources(true).HugetlbLimit); diff != "" {
		t.Errorf("huge pages (-want +got):\n%s", diff)
	}
}
