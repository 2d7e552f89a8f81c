package podruntime

import (
	"runtime"

	"github.com/kubeloupe/kubeloupe/agent/semaphore"
)

// Slots returns the number of pods for which the runtime works at the same time, at first, and the limits within which it adapts
// to the machine and the load. A configured number is fixed: then there are no limits. Otherwise it begins with one and a half
// per CPU: on two CPUs, three at a time gave the best median and the earliest end of a burst of 30 starts. See agent/semaphore
// and test/bench.
func Slots(configured int) (first int, adapt semaphore.Bounds) {
	if configured > 0 {
		return configured, semaphore.Bounds{}
	}
	return slotsFor(runtime.NumCPU())
}

// slotsFor has the limits: at least two, so that one call that hangs is not alone, and four per CPU.
func slotsFor(cpus int) (first int, adapt semaphore.Bounds) {
	return max(2, 3*cpus/2), semaphore.Bounds{Min: 2, Max: max(4, 4*cpus)}
}
