package allocatable

import (
	"fmt"
	"strconv"
	"strings"
)

// maxCPUs is more than the number of CPUs of any kernel.
const maxCPUs = 1 << 16

// parseCPUs returns the CPUs in a list in the kernel's format, such as 0-3,8.
func parseCPUs(text string) (map[int]bool, error) {
	out := map[int]bool{}
	for part := range strings.SplitSeq(strings.TrimSpace(text), ",") {
		first, last, ranged := strings.Cut(part, "-")
		if !ranged {
			last = first
		}
		lo, err := strconv.Atoi(first)
		hi, err2 := strconv.Atoi(last)
		if err != nil || err2 != nil || lo < 0 || hi < lo || hi >= maxCPUs {
			return nil, fmt.Errorf("%q is not a list of CPUs such as 0-3,8", text)
		}
		for cpu := lo; cpu <= hi; cpu++ {
			out[cpu] = true
		}
	}
	return out, nil
}

// reservedCPUs returns the number of CPUs in reservedSystemCPUs, which must be online. online "" is unknown.
//
// Upstream: cmd/kubelet/app/server.go, getReservedCPUs.
func reservedCPUs(text, online string) (int, error) {
	reserved, err := parseCPUs(text)
	if err != nil {
		return 0, fmt.Errorf("reservedSystemCPUs: %w", err)
	}
	if online == "" {
		return len(reserved), nil
	}
	all, err := parseCPUs(online)
	if err != nil {
		return 0, fmt.Errorf("CPUs that are online: %w", err)
	}
	for cpu := range reserved {
		if !all[cpu] {
			return 0, fmt.Errorf("reservedSystemCPUs: CPU %d of %s is not online; online are %s", cpu, text, online)
		}
	}
	return len(reserved), nil
}
