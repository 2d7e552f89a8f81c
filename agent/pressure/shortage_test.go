package pressure

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kubeloupe/kubeloupe/trace"
)

func TestShortage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		changes := 0
		s := NewShortage(map[string]string{"memory.available": "100", "nodefs.available": "10%"}, 5*time.Minute, func() { changes++ }, nil)
		see := func(signal trace.Signal, free int64, short bool, total int) {
			t.Helper()
			s.Observe(signal, Usage{Used: 1000 - free, Capacity: 1000}, time.Now())
			if s.Short(signal) != short || changes != total {
				t.Errorf("%s with %d free: short %t after %d changes, want %t after %d", signal, free, s.Short(signal), changes, short, total)
			}
		}
		see(trace.SignalMemory, 100, false, 0)
		see(trace.SignalMemory, 99, true, 1)
		see(trace.SignalNodeFS, 101, false, 1)
		see(trace.SignalNodeFS, 99, true, 2)
		time.Sleep(4 * time.Minute)
		see(trace.SignalMemory, 500, true, 2) // it holds
		time.Sleep(2 * time.Minute)
		see(trace.SignalMemory, 500, false, 3)
		see(trace.SignalImageFS, 0, false, 3) // without a threshold
		for signal, want := range map[trace.Signal][]trace.Threshold{
			trace.SignalMemory: {{Kind: trace.ThresholdPressure, Bytes: 100}}, trace.SignalNodeFS: {{Kind: trace.ThresholdPressure, Percent: 10}}, trace.SignalImageFS: nil,
		} {
			if d := cmp.Diff(want, s.Thresholds(signal)); d != "" {
				t.Errorf("%s (-want +got)\n%s", signal, d)
			}
		}
	})
}
