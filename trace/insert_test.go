package trace_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
)

// TestInsert checks that a record of an observer keeps all its fields, is cut as usual, and evicts as usual.
func TestInsert(t *testing.T) {
	b := trace.NewBusOf(4, 0)
	cur := b.Subscribe(trace.FromOldest)
	defer cur.Close()
	e := &trace.Log{Message: strings.Repeat("x", 1<<20)}
	in := trace.Record{
		Seq: 77, Time: 5, Edge: trace.EdgeEnd, Dur: 3, Observer: trace.ObserverKubeletLog, Precision: trace.PrecisionOf(time.Second),
		Span: 9, Parent: 8, Pod: trace.Pod{Namespace: "a", Name: "b", UID: "c"}, Event: e,
	}
	b.Insert(&in)
	trace.Point(b, trace.Span{}, trace.Log{Message: "own"})
	b.Insert(&trace.Record{})
	recs, lost, err := cur.Next(context.Background(), make([]trace.Record, 0, 8))
	if err != nil || lost != 0 || len(recs) != 2 {
		t.Fatalf("got %d records, %d lost, %v", len(recs), lost, err)
	}
	got := recs[0]
	log, _ := got.Event.(*trace.Log)
	if log == nil || len(log.Message) > 8<<10 || len(e.Message) != 1<<20 {
		t.Errorf("the event was not cut, or the caller's was: %d, %d", len(log.Message), len(e.Message))
	}
	got.Event, in.Event, in.Seq = nil, nil, 1
	if got != in {
		t.Errorf("got %+v, want %+v", got, in)
	}
	in.Event = e
	for range 9 {
		b.Insert(&in)
	}
	if recs, lost = cur.Poll(make([]trace.Record, 0, 8)); len(recs) != 4 || lost != 5 || recs[3].Seq != 11 {
		t.Errorf("got %d records, %d lost", len(recs), lost)
	}
}
