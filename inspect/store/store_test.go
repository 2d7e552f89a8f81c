package store

import (
	"fmt"
	"testing"

	"github.com/kubeloupe/kubeloupe/trace"
)

// TestTracesAndStopsAreBounded: a recording may have any number of calls, each with its own trace, and stops of the
// agent.
func TestTracesAndStopsAreBounded(t *testing.T) {
	const perLife = 256
	s := New(Policy{Runs: 20_000, First: 8, Newest: 8, Node: 16, Open: 16, Traces: 1 << 18})
	recs := make([]trace.Record, 0, perLife+1)
	for i := range 2000 { // half a million traces
		pod := trace.Pod{Namespace: "shop", Name: fmt.Sprint("web-", i), UID: fmt.Sprint(i)}
		recs = recs[:0]
		for j := range perLife {
			recs = append(recs, trace.Record{
				Seq: 1, Time: int64(i), Edge: trace.EdgePoint, Pod: pod, Trace: trace.TraceID{Hi: 1, Lo: uint64(i*perLife + j)}, Event: &trace.CRICall{Method: "m"},
			})
		}
		recs = append(recs, trace.Record{Seq: 1, Time: int64(i), Event: &trace.Agent{State: trace.AgentStopping}})
		for i := range recs {
			s.Apply(&recs[i])
		}
	}
	for range 200_000 {
		s.Apply(&trace.Record{Seq: 1, Time: 5000, Event: &trace.Agent{State: trace.AgentStopping}})
	}
	traces, stops := len(s.byTrace), len(s.stops)
	if traces > 1<<18 || stops > 1<<16 {
		t.Errorf("%d traces and %d stops are kept", traces, stops)
	}
}
