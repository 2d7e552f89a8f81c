package backlog_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/backlog"
	"github.com/kubeloupe/kubeloupe/inspect/internal/tape"
	"github.com/kubeloupe/kubeloupe/trace"
)

func TestBodiesAreLeftOut(t *testing.T) {
	tp := tape.New()
	pod := trace.Pod{Namespace: "shop", Name: "web", UID: "1"}
	call := &trace.CRICall{Method: "RunPodSandbox", Request: trace.BodyOf(raw(`{"a":1}`), 7)}
	tp.Begin(0, pod, 0, call)
	k := backlog.New(backlog.Options{})
	k.Apply(tp.Records(), 0)
	b, err := k.Backlog(t.Context(), 1)
	if err != nil || len(b.Records) != 1 || b.Seq != 1 {
		t.Fatalf("%+v, %v", b, err)
	}
	if e, ok := b.Records[0].Event.(*trace.CRICall); !ok || !e.Request.IsZero() {
		t.Errorf("kept %+v", b.Records[0].Event)
	}
	if call.Request.IsZero() {
		t.Error("what the caller has was changed")
	}
}

// TestGonePodsAreDropped: also if lists still mention them.
func TestGonePodsAreDropped(t *testing.T) {
	tp := tape.New()
	pod := trace.Pod{Namespace: "shop", Name: "web", UID: "1"}
	tp.Point(0, pod, 0, &trace.Milestone{Name: trace.MilestoneSeen})
	tp.Point(0, pod, 0, &trace.NodeEvent{Reason: "Pulled"})
	tp.Point(time.Second, pod, 0, &trace.Milestone{Name: trace.MilestoneGone})
	tp.Point(14*time.Minute, trace.Pod{}, 0, &trace.Log{Message: "soon"})
	tp.Point(17*time.Minute, trace.Pod{}, 0, &trace.Log{Message: "late"})
	recs := tp.Records()
	k := backlog.New(backlog.Options{})
	k.Apply(recs[:4], 0)
	if b, err := k.Backlog(t.Context(), 0); err != nil || len(b.Records) != 4 {
		t.Fatalf("soon after: %+v, %v", b.Records, err)
	}
	k.Apply(recs[4:], 0)
	b, err := k.Backlog(t.Context(), 0)
	if err != nil || len(b.Records) != 2 {
		t.Fatalf("later: %+v, %v", b.Records, err)
	}
	for _, r := range b.Records {
		if !r.Pod.IsZero() {
			t.Errorf("a record of %s is left: %T", r.Pod, r.Event)
		}
	}
}

// TestExportIsState: log lines do not displace how sending spans does, nor that it failed.
func TestExportIsState(t *testing.T) {
	tp := tape.New()
	tp.Point(0, trace.Pod{}, 0, &trace.SpanExport{State: trace.ExportFailing, Err: "Unavailable", Dropped: 7})
	tp.Point(0, trace.Pod{}, 0, &trace.SpanExport{State: trace.ExportSending, Sent: 9, Dropped: 7})
	for i := range 1000 {
		tp.Point(time.Millisecond, trace.Pod{}, 0, &trace.Log{Level: trace.LevelInfo, Message: fmt.Sprint(i)})
	}
	k := backlog.New(backlog.Options{})
	k.Apply(tp.Records(), 0)
	b, err := k.Backlog(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	var got []trace.ExportState
	for _, r := range b.Records {
		if e, ok := r.Event.(*trace.SpanExport); ok {
			got = append(got, e.State)
		}
	}
	if !slices.Equal(got, []trace.ExportState{trace.ExportFailing, trace.ExportSending}) {
		t.Errorf("kept %q", got)
	}
}

func TestBacklogWaitsForTheRecord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tp := tape.New()
		for i := range 3 {
			tp.Point(0, trace.Pod{}, 0, &trace.Log{Message: fmt.Sprint(i)})
		}
		recs := tp.Records()
		k := backlog.New(backlog.Options{})
		k.Apply(recs[:2], 0)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := k.Backlog(ctx, 3); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("before it came: %v", err)
		}
		go func() {
			time.Sleep(time.Second)
			k.Apply(recs[2:], 7)
		}()
		b, err := k.Backlog(t.Context(), 3)
		if err != nil || b.Seq != 3 || len(b.Holes) != 1 || b.Holes[0] != (backlog.Hole{After: 2, Lost: 7}) {
			t.Errorf("afterwards: %+v, %v", b, err)
		}
	})
}

// TestAlarmsStay: other lines do not displace an error.
func TestAlarmsStay(t *testing.T) {
	tp := tape.New()
	tp.Point(0, trace.Pod{}, 0, &trace.Log{Level: trace.LevelError, Message: "it failed"})
	for i := range 1000 {
		tp.Point(0, trace.Pod{}, 0, &trace.Log{Level: trace.LevelInfo, Message: fmt.Sprint(i)})
	}
	k := backlog.New(backlog.Options{})
	k.Apply(tp.Records(), 0)
	b, err := k.Backlog(t.Context(), 1001)
	if err != nil || len(b.Records) != 201 {
		t.Fatalf("%d records, %v", len(b.Records), err)
	}
	if l, ok := b.Records[0].Event.(*trace.Log); !ok || l.Message != "it failed" {
		t.Errorf("the first record is %+v", b.Records[0].Event)
	}
}

// TestRun reads a bus until it is stopped.
func TestRun(t *testing.T) {
	bus := trace.NewBus(64)
	k := backlog.New(backlog.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	cursor := bus.Subscribe(trace.FromOldest)
	defer cursor.Close()
	done := make(chan error, 1)
	go func() { done <- k.Run(ctx, cursor) }()
	trace.Point(bus, trace.Span{}, trace.Log{Message: "hello"})
	if b, err := k.Backlog(t.Context(), bus.Seq()); err != nil || len(b.Records) != 1 {
		t.Errorf("%+v, %v", b, err)
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// TestMemoryIsBounded plays many pods, each with a long start, none of which goes away.
func TestMemoryIsBounded(t *testing.T) {
	opt := backlog.Options{Pods: 20, PerRun: 50, Node: 10, Calls: 10, Loops: 5, Decisions: 5, Lines: 5, Open: 100}
	k := backlog.New(opt)
	for i := range 200 {
		tp := tape.New()
		pod := trace.Pod{Name: fmt.Sprint(i), UID: fmt.Sprint(i)}
		tp.Point(0, pod, 0, &trace.Milestone{Name: trace.MilestoneSeen})
		for j := range 100 {
			tp.Point(0, pod, 0, &trace.NodeEvent{Reason: fmt.Sprint(j)})
			tp.End(0, tp.Begin(0, pod, 0, &trace.CRICall{Method: "Status"}), nil)
			tp.Begin(0, pod, 0, &trace.Wait{For: trace.WaitLock})
			tp.Point(0, pod, 0, &trace.Decision{By: "x"})
			tp.Begin(0, trace.Pod{}, 0, &trace.Loop{N: 1})
		}
		k.Apply(tp.Records(), 0)
	}
	b, err := k.Backlog(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	// records that explain runs (the first ones, the newest with their begins), the rest of the pods, rings with begins
	// and ends, iterations with their effects, open operations
	most := 20*(2*25+2*26) + 20*10 + 10*2 + 10*2 + 5*2 + 5*2 + 5 + 100
	if len(b.Records) > most {
		t.Errorf("%d records are kept, want at most %d", len(b.Records), most)
	}
}

func BenchmarkApply(b *testing.B) {
	recs := recorded(b, "session")
	k := backlog.New(backlog.Options{})
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		at := i % len(recs)
		k.Apply(recs[at:at+1], 0)
	}
}

// BenchmarkBacklog keeps 110 pods with complete starts, and reports the memory per kept record.
func BenchmarkBacklog(b *testing.B) {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	k := backlog.New(backlog.Options{})
	for i := range 110 {
		tp := tape.New()
		pod := trace.Pod{Namespace: "shop", Name: fmt.Sprint(i), UID: fmt.Sprint(i)}
		tp.Point(0, pod, 0, &trace.Milestone{Name: trace.MilestoneSeen})
		for j := range 50 {
			tp.End(time.Second, tp.Begin(0, pod, 0, &trace.Action{ID: fmt.Sprint("create ", j), Verb: trace.VerbCreate}), &trace.Action{ID: "create"})
		}
		tp.Point(0, pod, 0, &trace.Milestone{Name: trace.MilestoneReady})
		recs := tp.Records()
		for j := range recs {
			recs[j].Seq += uint64(i * 1000)
		}
		k.Apply(recs, 0)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	var n int
	for b.Loop() {
		got, err := k.Backlog(b.Context(), 0)
		if err != nil {
			b.Fatal(err)
		}
		n = len(got.Records)
	}
	b.ReportMetric(float64(n), "records")
	b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/float64(n), "B/record")
}

// TestUsages: the agent's usage during a pod's start is kept as long as the pod, also if much idle time follows.
func TestUsages(t *testing.T) {
	k := backlog.New(backlog.Options{})
	at := func(seq int, interval time.Duration) trace.Record {
		return trace.Record{Seq: uint64(seq), Time: int64(seq) * int64(time.Minute), Event: &trace.Usage{Interval: interval}}
	}
	pod := trace.Pod{Namespace: "shop", Name: "web", UID: "1"}
	k.Apply([]trace.Record{
		{Seq: 1, Time: 15 * int64(time.Minute), Pod: pod, Event: &trace.Milestone{Name: trace.MilestoneSeen}},
		{Seq: 2, Time: 15*int64(time.Minute) + 1, Pod: pod, Event: &trace.Milestone{Name: trace.MilestoneReady}},
	}, 0)
	for i := range 50 {
		k.Apply([]trace.Record{at(i+3, 10*time.Second)}, 0)
	}
	b, err := k.Backlog(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	var seqs []uint64
	for _, r := range b.Records {
		seqs = append(seqs, r.Seq)
	}
	// The pod's, those of the ten minutes before it and of the last ten minutes, and the latest.
	want := []uint64{1, 2, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}
	for seq := uint64(52 - 10); seq <= 52; seq++ {
		want = append(want, seq)
	}
	if !slices.Equal(seqs, want) {
		t.Errorf("kept are %d, want %d", seqs, want)
	}
}

// TestLongUsages: figures about the time of a start, or of a start that is not over, are kept whatever their interval is.
func TestLongUsages(t *testing.T) {
	for name, ready := range map[string]bool{"over": true, "open": false} {
		t.Run(name, func(t *testing.T) {
			k := backlog.New(backlog.Options{})
			pod := trace.Pod{Namespace: "shop", Name: "web", UID: "1"}
			at := func(n int) int64 { return int64(n) * int64(time.Minute) }
			recs := []trace.Record{{Seq: 1, Time: at(60), Pod: pod, Event: &trace.Milestone{Name: trace.MilestoneSeen}}}
			if ready {
				recs = append(recs, trace.Record{Seq: 2, Time: at(61), Pod: pod, Event: &trace.Milestone{Name: trace.MilestoneReady}})
			}
			recs = append(recs,
				trace.Record{Seq: 3, Time: at(65), Event: &trace.Usage{Interval: 10 * time.Minute}}, // overlaps the start
				trace.Record{Seq: 4, Time: at(69), Event: &trace.Usage{Interval: 4 * time.Minute}})  // does not
			for n := 70; n < 200; n++ {
				recs = append(recs, trace.Record{Seq: uint64(n), Time: at(n), Event: &trace.Usage{Interval: time.Minute}})
			}
			k.Apply(recs, 0)
			b, err := k.Backlog(t.Context(), 0)
			if err != nil {
				t.Fatal(err)
			}
			kept := map[uint64]bool{}
			for _, r := range b.Records {
				kept[r.Seq] = true
			}
			if !kept[3] || kept[4] == ready || kept[100] == ready {
				t.Errorf("kept: the overlapping one %t, one after it %t, a late one %t", kept[3], kept[4], kept[100])
			}
		})
	}
}

// TestStepsOfTheClock: a reader that attaches after a step of the wall clock sees the step, and that it does not make a
// start longer.
func TestStepsOfTheClock(t *testing.T) {
	k := backlog.New(backlog.Options{})
	k.Apply([]trace.Record{
		{Seq: 1, Time: 1, Event: &trace.ClockStepped{Step: time.Hour, Jump: time.Hour}},
		{Seq: 2, Time: 2, Event: &trace.ClockStepped{Step: -time.Hour, Ahead: time.Hour}},
	}, 0)
	b, err := k.Backlog(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	if len(b.Records) != 2 {
		t.Errorf("kept are %+v, want both", b.Records)
	}
}
