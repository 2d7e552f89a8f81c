package agent

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// maxThermalThrottles limits the masked directories of CPUs: a kernel has at most as many CPUs.
const maxThermalThrottles = 8192

// thermalThrottles returns each CPU's directory with counters of the CPU's throttling, from which containers could learn
// about the work of others. They are in the order of the CPUs' numbers. sys is /sys.
//
// Upstream: pkg/securitycontext/util.go, defaultMaskedPaths.
func thermalThrottles(sys string) []string {
	const cpu = "devices/system/cpu/cpu"
	var ids []int
	dirs, _ := filepath.Glob(filepath.Join(sys, cpu+"[0-9]*", "thermal_throttle")) // the pattern is valid
	for _, dir := range dirs {
		id, err := strconv.Atoi(strings.TrimPrefix(filepath.Base(filepath.Dir(dir)), "cpu"))
		if err == nil && len(ids) < maxThermalThrottles {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	out := make([]string, 0, len(ids))
	for _, id := range ids {
		out = append(out, filepath.Join(sys, cpu+strconv.Itoa(id), "thermal_throttle"))
	}
	return out
}
