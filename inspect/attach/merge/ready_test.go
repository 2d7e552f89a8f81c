package merge_test

import (
	"slices"
	"testing"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
)

// TestReadyOnce has three observers know to a second that a pod is ready, whose start the runtime knows exactly: it is ready once, at its start.
func TestReadyOnce(t *testing.T) {
	const ms = time.Millisecond
	started, ready := &trace.Milestone{Name: trace.MilestoneStarted}, &trace.Milestone{Name: trace.MilestoneReady}
	of := func(by trace.Observer, all ...told) (out []trace.Record) {
		for _, o := range all {
			out = append(out, o.record(by))
		}
		return out
	}
	recs, _ := merged(
		of(trace.ObserverKubeletLog, told{0, trace.EdgePoint, 1, 0, 0, web, 0, &trace.Milestone{Name: trace.MilestoneSeen}},
			told{900 * ms, trace.EdgePoint, 2, 0, 0, web, time.Second, started}, told{900 * ms, trace.EdgePoint, 3, 0, 0, web, time.Second, ready}),
		of(trace.ObserverRuntimeLog, told{200 * ms, trace.EdgePoint, 1, 0, 0, web, 0, started}),
		of(trace.ObserverKubeletAPI, told{905 * ms, trace.EdgePoint, 1, 0, 0, web, time.Second, started}, told{905 * ms, trace.EdgePoint, 2, 0, 0, web, time.Second, ready}),
		of(trace.ObserverAPIServer, told{910 * ms, trace.EdgePoint, 1, 0, 0, web, time.Second, started}, told{910 * ms, trace.EdgePoint, 2, 0, 0, web, time.Second, ready}),
	)
	var at []time.Duration
	for i := range recs {
		if e, ok := recs[i].Event.(*trace.Milestone); ok && e.Name == trace.MilestoneReady {
			at = append(at, time.Duration(recs[i].Time)-time.Hour)
		}
	}
	if want := []time.Duration{200 * ms}; !slices.Equal(at, want) {
		t.Errorf("ready at %v, want %v", at, want)
	}
}
