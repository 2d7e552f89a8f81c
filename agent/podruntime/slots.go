package podruntime

import "runtime"

// Slots is the number of pods for which the runtime works at the same time: the configured number, or if that is 0, one and a half
// per CPU. On two CPUs, three at a time gave the best median and the earliest end of a burst of 30 starts. See agent/semaphore and
// test/bench.
func Slots(configured int) int {
	if configured > 0 {
		return configured
	}
	return max(2, 3*runtime.NumCPU()/2)
}
