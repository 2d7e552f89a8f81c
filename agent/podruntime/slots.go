package podruntime

import "runtime"

// Slots is how many pods the runtime works for at once: configured, or where that is 0, one and a half per CPU. That was measured on two
// CPUs, where three at a time give the best median and the best end of a burst of 30 starts. See agent/semaphore and test/bench.
func Slots(configured int) int {
	if configured > 0 {
		return configured
	}
	return max(2, 3*runtime.NumCPU()/2)
}
