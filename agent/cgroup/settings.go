package cgroup

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/kubeloupe/kubeloupe/agent/qos"
)

// anyPages is the limit of huge pages of the tiers, in bytes: upstream's value for no limit.
const anyPages = 1 << 62

// limits are the limits of one cgroup. Zero fields are not changed.
type limits struct {
	qos.Resources
	// pids is the maximum number of processes.
	pids int64
	// cpus are the CPUs that may be used, in the kernel's format.
	cpus string
	// pageSizes are the huge page sizes to limit: to 0, unless Resources has a limit.
	pageSizes []string
	// unlimitedPages lifts the limits of pageSizes.
	unlimitedPages bool
	// unified are files of cgroup v2 with their values.
	unified map[string]string
}

// setting is one value of one file, for the hierarchy that has the controller.
type setting struct {
	controller, file, value string
	// optional files do not exist in every kernel.
	optional bool
	// lenient values may be refused by the kernel: then the parent's apply.
	lenient bool
}

// settings returns the limits as files.
//
// Upstream: pkg/kubelet/cm/cgroup_manager_linux.go, toResources; opencontainers/cgroups fs and fs2.
func (l limits) settings(v2 bool) []setting {
	var out []setting
	add := func(controller, file string, value any) {
		out = append(out, setting{controller: controller, file: file, value: fmt.Sprint(value)})
	}
	if l.CPUShares > 0 && v2 {
		add("cpu", "cpu.weight", qos.Weight(l.CPUShares))
	} else if l.CPUShares > 0 {
		add("cpu", "cpu.shares", l.CPUShares)
	}
	if quota, period, ok := l.quota(); ok && v2 {
		text := "max"
		if quota > 0 {
			text = strconv.FormatInt(quota, 10)
		}
		add("cpu", "cpu.max", fmt.Sprintf("%s %d", text, period))
	} else if ok {
		add("cpu", "cpu.cfs_period_us", period)
		add("cpu", "cpu.cfs_quota_us", quota)
	}
	if l.cpus != "" {
		// On v1 a cgroup has at most its parent's CPUs, which it has already.
		out = append(out, setting{controller: "cpuset", file: "cpuset.cpus", value: l.cpus, lenient: !v2})
	}
	if memory, ok := l.memory(); ok && v2 {
		add("memory", "memory.max", memory)
	} else if ok {
		add("memory", "memory.limit_in_bytes", memory)
	}
	if l.pids > 0 {
		add("pids", "pids.max", l.pids)
	}
	out = append(out, l.pages(v2)...)
	if v2 {
		for _, file := range slices.Sorted(maps.Keys(l.unified)) {
			add("memory", file, l.unified[file])
		}
	}
	return out
}

// pages returns the limits of huge pages: of their usage and, if the kernel has it, of their reservation.
func (l limits) pages(v2 bool) []setting {
	end := "limit_in_bytes"
	if v2 {
		end = "max"
	}
	var out []setting
	for _, size := range l.pageSizes {
		for _, file := range []string{"hugetlb." + size + "." + end, "hugetlb." + size + ".rsvd." + end} {
			out = append(out, setting{controller: "hugetlb", file: file, value: fmt.Sprint(l.hugePages(size)), optional: true})
		}
	}
	return out
}

func (l limits) quota() (quota, period int64, ok bool) {
	if l.CPUQuota == nil || l.CPUPeriod == nil || *l.CPUQuota == 0 {
		return 0, 0, false
	}
	return *l.CPUQuota, *l.CPUPeriod, true
}

func (l limits) memory() (int64, bool) {
	if l.Memory == nil || *l.Memory <= 0 {
		return 0, false
	}
	return *l.Memory, true
}

func (l limits) hugePages(size string) int64 {
	if l.unlimitedPages {
		return anyPages
	}
	for bytes, limit := range l.HugePages {
		if qos.PageSize(bytes) == size {
			return limit
		}
	}
	return 0
}
