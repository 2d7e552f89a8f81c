package semaphore

import (
	"fmt"
	"testing"
)

func machines() []int { return []int{2, 4, 8, 16, 32, 64} }

// On each machine (the largest are the benchmark's: they take minutes), the width converges to one whose bursts are nearly as fast as with the best fixed width, and stays there.
func TestWidthConverges(t *testing.T) {
	for name, calls := range map[string][]call{"starts": startCalls(), "ends": endCalls()} {
		for _, cpus := range machines()[:4] {
			for _, noise := range []float64{0, .2} {
				t.Run(fmt.Sprintf("%s, %d CPUs, noise %v", name, cpus, noise), func(t *testing.T) {
					pods := 20 * cpus
					best, want := bestFixed(cpus, pods, calls, noise)
					for seed := range uint64(2) {
						s := settled(cpus, 60, calls, noise, seed)
						home, adopted := s.width.home, len(s.sizes)
						if _, got := fixed(cpus, home, pods, calls, noise); got > 1.1*want {
							t.Errorf("seed %d: width %d ends a burst in %.2f s, the best, %d, in %.2f s", seed, home, got, best, want)
						}
						for range 40 {
							s.burst(max(60, 8*cpus), calls, nil)
						}
						if n := len(s.sizes) - adopted; n > 8 {
							t.Errorf("seed %d: %d changes in 40 bursts after it converged: %v", seed, n, s.sizes[adopted:])
						}
					}
				})
			}
		}
	}
}
