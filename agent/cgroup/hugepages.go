package cgroup

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/kubeloupe/kubeloupe/agent/qos"
)

// HugePageSizes returns the huge page sizes of the kernel whose sysfs is mounted at sys (usually /sys), for example 2MB. None if there
// are no huge pages.
//
// Upstream: opencontainers/cgroups, HugePageSizes.
func HugePageSizes(sys string) []string {
	dirs, err := filepath.Glob(filepath.Join(sys, "kernel/mm/hugepages/hugepages-*kB"))
	if err != nil || len(dirs) == 0 {
		return nil
	}
	var out []string
	for _, dir := range dirs {
		if info, err := os.Stat(dir); err != nil || !info.IsDir() {
			continue
		}
		text := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(dir), "hugepages-"), "kB")
		if kb, err := strconv.ParseInt(text, 10, 64); err == nil {
			out = append(out, qos.PageSize(kb*1024))
		}
	}
	slices.Sort(out)
	return out
}
