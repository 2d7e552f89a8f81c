package ship

import (
	"fmt"
	"testing"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/cause"
	"github.com/kubeloupe/kubeloupe/inspect/internal/tape"
	"github.com/kubeloupe/kubeloupe/inspect/session"
	"github.com/kubeloupe/kubeloupe/trace"
)

const starts = 200

// burst returns the records of so many starts at once.
func burst() []trace.Record {
	tp := tape.New()
	const ms = time.Millisecond
	for i := range starts {
		tp.Start(tape.Start{
			Pod: trace.Pod{Namespace: "shop", Name: fmt.Sprint("web-", i), UID: fmt.Sprint(i)}, At: time.Duration(i) * 30 * ms, Image: "web:1",
			Queue: 500 * ms, Sandbox: 300 * ms, Volumes: 70 * ms, Pull: 900 * ms, Create: 40 * ms, Run: 90 * ms, Probe: 200 * ms,
		})
	}
	return tp.Records()
}

// BenchmarkStart explains one of two hundred starts that overlap, and makes its spans.
func BenchmarkStart(b *testing.B) {
	s := session.New(session.Options{})
	recs := burst()
	for i := range recs {
		s.Apply(&recs[i])
	}
	l := s.Runs()[starts/2]
	var p parcel
	for b.Loop() {
		c := s.Case(l, time.Time{})
		is := outline(c, 0)
		t := start(c, &is)
		spans, n := t.Spans(maxTree)
		p = parcelOf(spans, n, false)
	}
	b.ReportMetric(float64(p.n), "spans")
	b.ReportMetric(float64(p.bytes), "bytes")
}

// BenchmarkOutline outlines it, as of starts that are not sent.
func BenchmarkOutline(b *testing.B) {
	s := session.New(session.Options{})
	recs := burst()
	for i := range recs {
		s.Apply(&recs[i])
	}
	l := s.Runs()[starts/2]
	for b.Loop() {
		own := &cause.Case{Pod: l.Pod, Records: l.Records()}
		own.Waterfall, _ = l.WaterfallOf(own.Records, time.Time{})
		outline(own, 0)
	}
}

// BenchmarkApply takes in the records of two hundred starts.
func BenchmarkApply(b *testing.B) {
	recs := burst()
	for b.Loop() {
		s := New(Config{})
		s.apply(recs, 0)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(recs)), "ns/record")
}
