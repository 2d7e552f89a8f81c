package cgroup

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/kubeloupe/kubeloupe/agent/qos"
)

// setting is one value of one file, for the hierarchy that has the controller.
type setting struct {
	controller, file, value string
	// optional files are not there on every kernel.
	optional bool
}

// podSettings spells a pod's resources as files.
//
// Upstream: pkg/kubelet/cm/cgroup_manager_linux.go, toResources; opencontainers/cgroups fs and fs2.
func podSettings(v2 bool, r qos.Resources, pids int64, pageSizes []string) []setting {
	out := limitSettings(v2, r.CPUShares, r.Memory, pids)
	if r.CPUQuota != nil && r.CPUPeriod != nil && *r.CPUQuota != 0 {
		out = append(out, quotaSettings(v2, *r.CPUQuota, *r.CPUPeriod)...)
	}
	for _, size := range pageSizes {
		out = append(out, hugePageSettings(v2, size, r.HugePages)...)
	}
	return out
}

// limitSettings leaves out what is nil or not positive.
func limitSettings(v2 bool, shares int64, memory *int64, pids int64) []setting {
	var out []setting
	if shares > 0 {
		out = append(out, sharesSetting(v2, shares))
	}
	if memory != nil && *memory > 0 {
		file := "memory.limit_in_bytes"
		if v2 {
			file = "memory.max"
		}
		out = append(out, setting{controller: "memory", file: file, value: strconv.FormatInt(*memory, 10)})
	}
	if pids > 0 {
		out = append(out, setting{controller: "pids", file: "pids.max", value: strconv.FormatInt(pids, 10)})
	}
	return out
}

func sharesSetting(v2 bool, shares int64) setting {
	if v2 {
		return setting{controller: "cpu", file: "cpu.weight", value: strconv.FormatInt(qos.Weight(shares), 10)}
	}
	return setting{controller: "cpu", file: "cpu.shares", value: strconv.FormatInt(shares, 10)}
}

func quotaSettings(v2 bool, quota, period int64) []setting {
	if v2 {
		text := "max"
		if quota > 0 {
			text = strconv.FormatInt(quota, 10)
		}
		return []setting{{controller: "cpu", file: "cpu.max", value: fmt.Sprintf("%s %d", text, period)}}
	}
	return []setting{
		{controller: "cpu", file: "cpu.cfs_period_us", value: strconv.FormatInt(period, 10)},
		{controller: "cpu", file: "cpu.cfs_quota_us", value: strconv.FormatInt(quota, 10)},
	}
}

// hugePageSettings limits use and, where the kernel has it, reservation.
func hugePageSettings(v2 bool, size string, limits map[int64]int64) []setting {
	var limit int64
	for bytes, l := range limits {
		if qos.PageSize(bytes) == size {
			limit = l
		}
	}
	end := "limit_in_bytes"
	if v2 {
		end = "max"
	}
	value := strconv.FormatInt(limit, 10)
	return []setting{
		{controller: "hugetlb", file: "hugetlb." + size + "." + end, value: value, optional: true},
		{controller: "hugetlb", file: "hugetlb." + size + ".rsvd." + end, value: value, optional: true},
	}
}

// enable is what cgroup.subtree_control is told so that children can be limited.
func enable(available []string) string {
	text := ""
	for _, c := range []string{"cpu", "cpuset", "hugetlb", "io", "memory", "pids"} {
		if slices.Contains(available, c) {
			text += " +" + c
		}
	}
	return text
}
