package session_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/internal/tape"
	"github.com/kubeloupe/kubeloupe/inspect/session"
	"github.com/kubeloupe/kubeloupe/trace"
)

// starts returns the records of n pods that start one after the other.
func starts(n int) []trace.Record {
	tp := tape.New()
	for i := range n {
		live(tp, trace.Pod{Namespace: "shop", Name: fmt.Sprint("web-", i), UID: fmt.Sprint(i)}, time.Duration(i)*100*ms)
		tp.Point(time.Duration(i)*100*ms, trace.Pod{}, 0, &trace.Loop{N: uint64(i)})
	}
	return tp.Records()
}

func BenchmarkFold(b *testing.B) {
	recs := starts(1000)
	b.ReportAllocs()
	for b.Loop() {
		s := session.New(session.Options{})
		for i := range recs {
			s.Apply(&recs[i])
		}
	}
	b.ReportMetric(float64(len(recs)*b.N)/b.Elapsed().Seconds(), "records/s")
}

func BenchmarkCase(b *testing.B) {
	s := session.New(session.Options{})
	for _, r := range starts(10_000) {
		s.Apply(&r)
	}
	l := s.Runs()[5000]
	for b.Loop() {
		s.Case(l, time.Time{})
	}
}
