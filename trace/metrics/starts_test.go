package metrics

import (
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/kubeloupe/kubeloupe/trace"
)

// TestStarts scrapes what was explained as OpenMetrics, in which exemplars are.
func TestStarts(t *testing.T) {
	s, reg := newSink(t)
	s.Expect("ready", "failed")
	s.Start(Start{
		Outcome: "ready", Took: 6 * time.Second, Trace: trace.TraceID{Hi: 1, Lo: 2},
		Phases: []Part{{"sandbox", 300 * ms}, {"image", 4 * time.Second}}, Waits: []Part{{"queue", time.Second}}, Causes: []Part{{"KL02", 4 * time.Second}},
	})
	s.Start(Start{Outcome: "ready", Took: 200 * ms, Phases: []Part{{"sandbox", 150 * ms}}})
	s.Apply(&trace.Record{Event: &trace.SpanExport{Sent: 40, Dropped: 3, Queued: 9}})
	s.Apply(&trace.Record{Event: &trace.SpanExport{Sent: 45, Dropped: 3}})

	req := httptest.NewRequestWithContext(t.Context(), "GET", "/metrics", nil)
	req.Header.Set("Accept", "application/openmetrics-text;version=1.0.0")
	w := httptest.NewRecorder()
	promhttp.HandlerFor(reg, promhttp.HandlerOpts{EnableOpenMetrics: true}).ServeHTTP(w, req)
	got := w.Body.String()
	const at = ` # {trace_id="00000000000000010000000000000002"} `
	for _, want := range []string{
		`kubeloupe_pod_starts_total{outcome="ready"} 2.0` + at + "1.0",
		`kubeloupe_pod_starts_total{outcome="failed"} 0.0` + "\n",
		`kubeloupe_pod_start_seconds_bucket{outcome="ready",le="0.5"} 1` + "\n",
		`kubeloupe_pod_start_seconds_bucket{outcome="ready",le="30.0"} 2` + at + "6.0",
		`kubeloupe_pod_start_phase_seconds_bucket{phase="image",le="5.0"} 1` + at + "4.0",
		`kubeloupe_pod_start_phase_seconds_count{phase="sandbox"} 2`,
		`kubeloupe_pod_start_wait_seconds_bucket{kind="queue",le="1.0"} 1` + at + "1.0",
		`kubeloupe_pod_start_cause_seconds_sum{cause="KL02"} 4.0`,
		`kubeloupe_pod_start_causes_total{cause="KL02"} 1.0` + at + "1.0",
		`kubeloupe_exported_spans_total{result="sent"} 45.0`, `kubeloupe_exported_spans_total{result="dropped"} 3.0`, `kubeloupe_exported_spans_total{result="refused"} 0.0`, "kubeloupe_export_queue_spans 0.0",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, grep(got, "kubeloupe_"))
		}
	}
}

func grep(text, what string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, what) {
			b.WriteString(line)
		}
	}
	return b.String()
}

// TestStartsAreNative: a scrape as protobuf has native histograms, with fine buckets and exemplars.
func TestStartsAreNative(t *testing.T) {
	s, reg := newSink(t)
	for i := range 100 {
		s.Start(Start{Outcome: "ready", Took: time.Duration(i+1) * 37 * ms, Trace: trace.TraceID{Lo: uint64(i + 1)}})
	}
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() != "kubeloupe_pod_start_seconds" {
			continue
		}
		h := f.GetMetric()[0].GetHistogram()
		if len(h.GetPositiveDelta()) < 30 || len(h.GetPositiveDelta()) > 110 || len(h.GetExemplars()) == 0 {
			t.Errorf("%d native buckets, %d exemplars", len(h.GetPositiveDelta()), len(h.GetExemplars()))
		}
		return
	}
	t.Error("no kubeloupe_pod_start_seconds")
}

// TestStartsAreFew: whatever is said, the number of series is limited.
func TestStartsAreFew(t *testing.T) {
	s, reg := newSink(t)
	for i := range 1000 {
		name := fmt.Sprint("x", i)
		s.Start(Start{Outcome: name, Phases: []Part{{name, 1}}, Waits: []Part{{name, 1}}, Causes: []Part{{name, 1}}})
	}
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, f := range families {
		if strings.HasPrefix(f.GetName(), "kubeloupe_pod_start") {
			n++
			if len(f.GetMetric()) != maxValues+1 {
				t.Errorf("%s: %d label values, want %d", f.GetName(), len(f.GetMetric()), maxValues+1)
			}
		}
	}
	if n != 6 {
		t.Errorf("%d metrics, want 6", n)
	}
}
