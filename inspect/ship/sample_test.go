package ship

import (
	"testing"

	"github.com/kubeloupe/kubeloupe/trace"
)

func TestSampled(t *testing.T) {
	for rate, want := range map[int32][2]int{-1: {0, 0}, 0: {0, 0}, 1_000_000: {10_000, 10_000}, 100_000: {800, 1200}} {
		n := 0
		for range 10_000 {
			if sampled(trace.NewTraceID(), rate) {
				n++
			}
		}
		if n < want[0] || n > want[1] {
			t.Errorf("%d of a million: %d of 10,000, want %d to %d", rate, n, want[0], want[1])
		}
	}
	// As go.opentelemetry.io/otel/sdk/trace.TraceIDRatioBased(0.5) decides.
	for id, want := range map[trace.TraceID]bool{{Lo: 0x7ffffffffffffff0}: true, {Lo: 0x8000000000000001}: false, {Hi: 1 << 63, Lo: 1}: true} {
		if got := sampled(id, 500_000); got != want {
			t.Errorf("%s: %t", id, got)
		}
	}
}
