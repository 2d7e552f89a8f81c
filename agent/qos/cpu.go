package qos

import "time"

const (
	// MinShares is the kernel's minimum of cpu.shares.
	MinShares = 2
	// MaxShares is the kernel's maximum of cpu.shares.
	MaxShares = 262144
	// DefaultPeriod is the default CFS period.
	DefaultPeriod = 100 * time.Millisecond

	minQuota = int64(time.Millisecond / time.Microsecond)
)

// Shares converts thousandths of a CPU to cpu.shares: 1024 per CPU, at least 2.
//
// Upstream: pkg/kubelet/cm/helpers_linux.go, MilliCPUToShares.
func Shares(milliCPU int64) int64 {
	return min(max(milliCPU*1024/1000, MinShares), MaxShares)
}

// Milli converts cpu.shares to thousandths of a CPU, rounded up.
//
// Upstream: pkg/kubelet/cm/helpers_linux.go, SharesToMilliCPU.
func Milli(shares int64) int64 {
	if shares < MinShares {
		return 0
	}
	return (shares*1000 + 1023) / 1024
}

// Quota converts thousandths of a CPU to microseconds of CPU time per period, at least 1 ms.
// 0 means no limit and gives 0.
//
// Upstream: pkg/kubelet/cm/helpers_linux.go, MilliCPUToQuota.
func Quota(milliCPU int64, period time.Duration) int64 {
	if milliCPU == 0 {
		return 0
	}
	return max(milliCPU*period.Microseconds()/1000, minQuota)
}

// Weight converts cpu.shares [2, 262144] to cgroup v2's cpu.weight [1, 10000]. 0 gives 0: unset.
//
// Upstream: pkg/kubelet/cm/cgroup_manager_linux.go, getCPUWeight.
func Weight(shares int64) int64 {
	if shares == 0 {
		return 0
	}
	return 1 + (min(max(shares, MinShares), MaxShares)-MinShares)*9999/(MaxShares-MinShares)
}
