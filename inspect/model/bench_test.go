package model

import (
	"fmt"
	"testing"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/internal/tape"
	"github.com/kubeloupe/kubeloupe/trace"
)

// BenchmarkApply applies starts of new pods; an operation is one record.
func BenchmarkApply(b *testing.B) {
	var recs []trace.Record
	for i := range 500 {
		tp := tape.New()
		pod := trace.Pod{Name: fmt.Sprint(i)}
		started(tp, pod, time.Duration(i)*ms, ms)
		ready(tp, pod, time.Duration(i+2)*ms, 2*ms)
		tp.Point(time.Duration(i+3)*ms, pod, 0, &trace.Milestone{Name: trace.MilestoneGone})
		recs = append(recs, tp.Records()...)
	}
	m := New(Options{})
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		m.Apply(&recs[i%len(recs)])
	}
}

// BenchmarkFrame makes the queries of a frame of the overview, with 30 pods.
func BenchmarkFrame(b *testing.B) {
	tp := tape.New()
	for i := range 30 {
		pod := trace.Pod{Name: fmt.Sprint(i)}
		started(tp, pod, time.Duration(i)*ms, ms)
	}
	for range 5000 {
		tp.End(ms, tp.Begin(0, trace.Pod{}, 0, &trace.CRICall{Method: "ListContainers"}), nil)
	}
	m := modelOf(tp)
	b.ReportAllocs()
	for b.Loop() {
		m.Node()
		m.Counts()
		m.Pods()
		m.StartStats()
		m.Slowest(5)
		m.Methods(when(time.Second))
		m.Pressure()
	}
}

// BenchmarkManyPods has a separate pod for each record, which is a begin without an end.
func BenchmarkManyPods(b *testing.B) {
	m := New(Options{})
	var seq uint64
	for b.Loop() {
		seq++
		pod := trace.Pod{Namespace: "ns", Name: fmt.Sprint("p", seq), UID: fmt.Sprint(seq)}
		m.Apply(&trace.Record{Seq: seq, Time: int64(seq), Span: trace.SpanID(seq), Pod: pod, Edge: trace.EdgeBegin, Event: &trace.Wait{Note: pod.Name}})
	}
}

// BenchmarkFull applies small records of many pods when there is no more room.
func BenchmarkFull(b *testing.B) {
	m := New(Options{Bytes: 64 << 20})
	var seq uint64
	apply := func() {
		seq++
		pod := trace.Pod{Namespace: "ns", Name: fmt.Sprint("p", seq%4000), UID: fmt.Sprint(seq % 4000)}
		m.Apply(&trace.Record{Seq: seq, Time: int64(seq), Span: trace.SpanID(seq), Pod: pod, Event: &trace.ProbeAttempt{Probe: trace.ProbeLiveness, Result: trace.ProbeSuccess, Container: fmt.Sprint(seq / 4000 % 100)}})
	}
	for range 500000 {
		apply()
	}
	b.ResetTimer()
	for b.Loop() {
		apply()
	}
}
