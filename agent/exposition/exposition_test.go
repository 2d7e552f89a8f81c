package exposition_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"

	"github.com/kubeloupe/kubeloupe/agent/exposition"
)

// page has a counter with hostile labels, a metric without samples, and a gauge.
func page() *exposition.Page {
	var p exposition.Page
	p.Counter("seen_total", "What was seen.\nAll of it.")
	p.Sample(0.25, time.UnixMilli(1500), "image", "a\"b\\c\nd", "name", "gpj.\u202exe\x1b[31m")
	p.Sample(1e21, time.Time{}, "image", "", "name", "é")
	p.Gauge("nothing", "Left out.")
	p.Gauge("cores", "How many.")
	p.Sample(4, time.Time{})
	return &p
}

func TestText(t *testing.T) {
	w := httptest.NewRecorder()
	r := httptest.NewRequest(http.MethodGet, "/metrics", nil)
	r.Header.Set("Accept", "*/*") // as curl sends
	page().Answer(w, r)
	want := `# HELP seen_total What was seen.\nAll of it.
# TYPE seen_total counter
seen_total{image="a\"b\\c\nd",name="gpj.\\u202exe\\u001b[31m"} 0.25 1500
seen_total{image="",name="é"} 1e+21
# HELP cores How many.
# TYPE cores gauge
cores 4
`
	if diff := cmp.Diff(want, w.Body.String()); diff != "" {
		t.Errorf("text (-want +got):\n%s", diff)
	}
	if got := w.Header().Get("Content-Type"); !strings.HasPrefix(got, "text/plain; version=0.0.4; charset=utf-8") {
		t.Errorf("content type %q, want text", got)
	}
}

// Samples that share labels have them after their own, and do not change them.
func TestSharedLabels(t *testing.T) {
	var p exposition.Page
	of := exposition.LabelsOf("id", "/a", "name", "x\u202ey")
	p.Counter("seen_total", "What was seen.")
	p.SampleOf(1, time.UnixMilli(1500), of, "device", "sda")
	p.SampleOf(2, time.Time{}, of)
	p.SampleOf(3, time.Time{}, of, "device", "sdb")
	w := httptest.NewRecorder()
	p.Answer(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	want := `# HELP seen_total What was seen.
# TYPE seen_total counter
seen_total{device="sda",id="/a",name="x\\u202ey"} 1 1500
seen_total{id="/a",name="x\\u202ey"} 2
seen_total{device="sdb",id="/a",name="x\\u202ey"} 3
`
	if diff := cmp.Diff(want, w.Body.String()); diff != "" {
		t.Errorf("text (-want +got):\n%s", diff)
	}
}

func TestDurations(t *testing.T) {
	var p exposition.Page
	var d exposition.Durations
	for _, took := range []time.Duration{10 * time.Millisecond, 11 * time.Millisecond, time.Minute} {
		d.Add(took)
	}
	p.Histogram("nothing_seconds", "Left out.")
	p.Histogram("took_seconds", "How long.")
	p.Durations(d, "status", "hit")
	w := httptest.NewRecorder()
	p.Answer(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	want := "# HELP took_seconds How long.\n# TYPE took_seconds histogram\n"
	for _, bucket := range []string{"0.005 0", "0.01 1", "0.025 2", "0.05 2", "0.1 2", "0.25 2", "0.5 2", "1 2", "2.5 2", "5 2", "10 2", "+Inf 3"} {
		bound, n, _ := strings.Cut(bucket, " ")
		want += `took_seconds_bucket{status="hit",le="` + bound + `"} ` + n + "\n"
	}
	want += "took_seconds_sum{status=\"hit\"} 60.021\ntook_seconds_count{status=\"hit\"} 3\n"
	if diff := cmp.Diff(want, w.Body.String()); diff != "" {
		t.Errorf("text (-want +got):\n%s", diff)
	}
}

func TestProtobuf(t *testing.T) {
	w := httptest.NewRecorder()
	r := httptest.NewRequest(http.MethodGet, "/metrics", nil)
	r.Header.Set("Accept", "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited;q=0.6,text/plain;version=0.0.4;q=0.4")
	page().Answer(w, r)
	decode := expfmt.NewDecoder(w.Body, expfmt.ResponseFormat(w.Header()))
	var got []string
	for {
		var f dto.MetricFamily
		err := decode.Decode(&f)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, f.GetName())
	}
	if diff := cmp.Diff([]string{"seen_total", "cores"}, got); diff != "" {
		t.Errorf("families (-want +got):\n%s", diff)
	}
}
