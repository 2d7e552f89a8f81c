package semaphore

import (
	"fmt"
	"testing"
)

// BenchmarkWidth prints a burst's median and last start with the adapted width and with all pods at once, each divided by that with
// one and a half slots per CPU, and the adapted width. The machines are simulated: run it once.
//
//	go test ./agent/semaphore -run - -bench Width -benchtime 1x -v
func BenchmarkWidth(b *testing.B) {
	const noise = .2
	for _, cpus := range machines() {
		for name, calls := range map[string][]call{"start": startCalls(), "end": endCalls()} {
			size := settled(cpus, 40, calls, noise, 1).width.home
			for _, pods := range []int{10, 30, 60, 200} {
				b.Run(fmt.Sprintf("%s/cpus=%d/pods=%d", name, cpus, pods), func(b *testing.B) {
					for b.Loop() {
						median, last := fixed(cpus, startOf(cpus), pods, calls, noise)
						m, l := fixed(cpus, size, pods, calls, noise)
						allM, allL := fixed(cpus, 0, pods, calls, noise)
						b.ReportMetric(0, "ns/op")
						b.ReportMetric(float64(size), "slots")
						b.ReportMetric(m/median, "median")
						b.ReportMetric(l/last, "last")
						b.ReportMetric(allM/median, "all-median")
						b.ReportMetric(allL/last, "all-last")
					}
				})
			}
		}
	}
}
