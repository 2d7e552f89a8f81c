//go:build unix

package selfstats

import (
	"runtime"
	"syscall"
	"time"
)

// ownCPU is how long the agent has been on processors.
func ownCPU() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// ownRSS is the most memory that the agent has had: without /proc, nothing tells what it has now.
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
