package model

import (
	"fmt"
	"testing"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/internal/tape"
	"github.com/kubeloupe/kubeloupe/trace"
)

// BenchmarkApply folds starts of ever new pods; an operation is one record.
func BenchmarkApply(b *testing.B) {
	var recs []trace.Record
	for i := range 500 {
		tp := tape.New()
		pod := trace.Pod{Name: fmt.Sprint(i)}
		started(tp, pod, time.Duration(i)*ms, ms)
		ready(tp, pod, time.Duration(i+2)*ms, 2*ms)
		tp.Point(time.Duration(i+3)*ms, pod, 0, &trace.Milestone{Name: "gone"})
		recs = append(recs, tp.Records()...)
	}
	m := New(Options{})
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		m.Apply(&recs[i%len(recs)])
	}
}

// BenchmarkFrame asks what a frame of the overview asks, with 30 pods.
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
