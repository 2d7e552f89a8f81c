package otlp

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubeloupe/kubeloupe/trace"
)

func callRecord(t trace.TraceID, id trace.SpanID, pod trace.Pod) trace.Record {
	return trace.Record{Trace: t, Span: id, Pod: pod, Edge: trace.EdgeBegin, Event: &trace.CRICall{}}
}

// TestPodsShareATrace: each span gets the pod of the call above it, though children come first.
func TestPodsShareATrace(t *testing.T) {
	id := trace.TraceID{Lo: 1}
	db := trace.Pod{Name: "db"}
	tr := newTree()
	tr.follow([]trace.Record{callRecord(id, 1, web), callRecord(id, 2, db)})
	var got []trace.Pod
	var order []trace.SpanID
	for _, s := range []span{
		{trace: id, id: 12, parent: 11},
		{trace: id, id: 11, parent: 10},
		{trace: id, id: 11, parent: 10},
		{trace: id, id: 21, parent: 20},
		{trace: id, id: 20, parent: 2},
		{trace: id, id: 10, parent: 1},
		{trace: id, id: 13, parent: 11},
		{trace: id, id: 30, parent: 31},
	} {
		ready, _ := tr.add(s)
		for _, r := range ready {
			got, order = append(got, r.pod), append(order, r.id)
		}
	}
	if diff := cmp.Diff([]trace.SpanID{20, 21, 10, 11, 12, 13}, order); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]trace.Pod{db, db, web, web, web, web}, got); diff != "" {
		t.Errorf("pods (-want +got):\n%s", diff)
	}
	if len(tr.held) != 1 {
		t.Errorf("%d spans wait", len(tr.held))
	}
}

// TestBounds: nothing grows beyond its limit, and what is forgotten is not ours any more.
func TestBounds(t *testing.T) {
	tr := newTree()
	for i := range maxCalls + 100 {
		tr.follow([]trace.Record{callRecord(trace.TraceID{Lo: uint64(i + 1)}, trace.SpanID(i+1), web)})
	}
	if len(tr.traces) != maxCalls || len(tr.calls.m) != maxCalls {
		t.Errorf("%d traces, %d calls", len(tr.traces), len(tr.calls.m))
	}
	if _, v := tr.add(span{trace: trace.TraceID{Lo: 1}, id: 5}); v != foreign {
		t.Errorf("a span of a forgotten call is %v", v)
	}
	last := trace.TraceID{Lo: maxCalls + 100}
	for i := range maxPublished + 100 {
		tr.add(span{trace: last, id: trace.SpanID(i + 1)})
	}
	tr.follow([]trace.Record{callRecord(last, 1<<40, trace.Pod{Name: "db"})})
	for i := range maxHeld + 100 {
		tr.add(span{trace: last, id: trace.SpanID(1<<41 + i), parent: 1 << 50})
	}
	if len(tr.told.m) != maxPublished || len(tr.held) != maxHeld || tr.lost != 100 {
		t.Errorf("%d told, %d held, %d lost", len(tr.told.m), len(tr.held), tr.lost)
	}
}
