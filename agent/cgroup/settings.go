package cgroup

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/kubeloupe/kubeloupe/agent/qos"
)

// limits are the limits of one cgroup. Zero fields are not changed.
type limits struct {
	qos.Resources
	// pids is the maximum number of processes.
	pids int64
	// pageSizes are the huge page sizes to limit: to 0, unless Resources has a limit.
	pageSizes []string
}

// setting is one value of one file, for the hierarchy that has the controller.
type setting struct {
	controller, file, value string
	// optional files do not exist in every kernel.
	optional bool
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
	if memory, ok := l.memory(); ok && v2 {
		add("memory", "memory.max", memory)
	} else if ok {
		add("memory", "memory.limit_in_bytes", memory)
	}
	if l.pids > 0 {
		add("pids", "pids.max", l.pids)
	}
	end := "limit_in_bytes"
	if v2 {
		end = "max"
	}
	for _, size := range l.pageSizes {
		// Usage and, if the kernel has it, reservation.
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
	for bytes, limit := range l.HugePages {
		if qos.PageSize(bytes) == size {
			return limit
		}
	}
	return 0
}

// enable returns the text for cgroup.subtree_control, so that children can be limited.
func enable(available []string) string {
	text := ""
	for _, c := range []string{"cpu", "cpuset", "hugetlb", "io", "memory", "pids"} {
		if slices.Contains(available, c) {
			text += " +" + c
		}
	}
	return text
}
