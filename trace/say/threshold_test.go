package say

import (
	"testing"

	"github.com/kubeloupe/kubeloupe/trace"
)

// Each signal is told in its own unit.
func TestAmount(t *testing.T) {
	for _, c := range []struct {
		signal trace.Signal
		unit   trace.Unit
		want   string
	}{
		{trace.SignalMemory, trace.UnitBytes, "2.0 KiB"},
		{trace.SignalContainerFS, trace.UnitBytes, "2.0 KiB"},
		{trace.SignalPodLimit, trace.UnitBytes, "2.0 KiB"},
		{trace.SignalImageFSInodes, trace.UnitInodes, "2,048 inodes"},
		{trace.SignalPID, trace.UnitProcesses, "2,048 processes"},
	} {
		if got := Amount(c.signal, 2048); got != c.want || c.signal.Unit() != c.unit {
			t.Errorf("%s: %q, %s, want %q, %s", c.signal, got, c.signal.Unit(), c.want, c.unit)
		}
	}
}

func TestRanked(t *testing.T) {
	for want, p := range map[string]trace.RankedPod{
		"2.0 KiB, 1.0 KiB requested, Burstable, priority 7":             {Usage: 2048, Request: 1024, QoS: trace.QoSBurstable, Priority: 7},
		"usage unknown, BestEffort":                                     {Unknown: true, QoS: trace.QoSBestEffort},
		"0 B, Guaranteed, priority 2000000000, critical: never evicted": {QoS: trace.QoSGuaranteed, Priority: 2000000000, Spared: true},
	} {
		if got := Ranked(trace.SignalMemory, &p); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// A ranking without a shortage says who would be evicted first: the first that may be.
func TestEvictionForeseen(t *testing.T) {
	e := &trace.Eviction{
		Signal: trace.SignalNodeFS, Available: 5 << 30, Capacity: 40 << 30, Threshold: trace.Threshold{Kind: trace.ThresholdPressure, Percent: 10}, Outcome: trace.EvictionNear,
		Ranked: []trace.RankedPod{{Pod: "kube-system/dns", Spared: true}, {Pod: "shop/cart"}},
	}
	const want = "eviction: nodefs: 5.0 GiB free, near 10%; shop/cart would be evicted first"
	if got := Eviction(e); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
