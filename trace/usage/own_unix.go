//go:build unix

package usage

import (
	"runtime"
	"syscall"
	"time"
)

// ownCPU returns the agent's CPU time.
func ownCPU() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// ownRSS returns the agent's maximum memory: without /proc, the current one is not available.
func ownRSS() int64 {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	if runtime.GOOS == "darwin" || runtime.GOOS == "ios" {
		return int64(u.Maxrss) //nolint:unconvert // 32 bits on some
	}
	return int64(u.Maxrss) << 10 //nolint:unconvert // 32 bits on some
}
