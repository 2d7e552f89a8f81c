package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/cause"
	"github.com/kubeloupe/kubeloupe/inspect/ship"
	"github.com/kubeloupe/kubeloupe/trace"
)

// TestMetricsPort scrapes what attach knows of starts, and sends what is no scrape.
func TestMetricsPort(t *testing.T) {
	p, err := newMetricsPort(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- p.run(ctx) }()
	bus := trace.NewBus(64)
	var reads sync.WaitGroup
	reads.Go(func() { p.sink.run(ctx, bus) })
	defer reads.Wait()
	defer cancel()
	for p.sink.from.Load() == nil { // it does not read yet
		time.Sleep(time.Millisecond)
	}
	trace.Point(bus, trace.Span{}, trace.SpanExport{Sent: 7}) // right before the request
	p.sink.explained(ship.Start{
		Outcome: "ready", Took: 6 * time.Second, Sent: true, Trace: trace.TraceID{Hi: 1, Lo: 2}, Phases: []ship.Part{{Name: "image", Dur: 5 * time.Second}},
		Waits: []ship.Part{{Name: "queue", Dur: time.Second}}, Causes: []cause.Finding{{ID: "KL02", Cost: 4 * time.Second}},
	})
	p.sink.explained(ship.Start{Outcome: "ready", Took: time.Second, Trace: trace.TraceID{Hi: 3}}) // its spans are not sent
	ask := func(method, path, accept string) (int, string) {
		req, err := http.NewRequestWithContext(t.Context(), method, "http://"+p.listen.Addr().String()+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Accept", accept)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
		if err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, string(body)
	}
	code, body := ask("GET", "/metrics", "application/openmetrics-text;version=1.0.0")
	for _, want := range []string{
		`kubeloupe_pod_starts_total{outcome="ready"} 2.0 # {trace_id="00000000000000010000000000000002"}`,
		`kubeloupe_pod_start_cause_seconds_count{cause="KL02"} 1`, `kubeloupe_pod_start_wait_seconds_sum{kind="queue"} 1.0`,
		`kubeloupe_exported_spans_total{result="sent"} 7.0`,
	} {
		if code != http.StatusOK || !strings.Contains(body, want) {
			t.Errorf("status %d, no %s in\n%s", code, want, body)
		}
	}
	for line := range strings.Lines(body) {
		if !strings.HasPrefix(line, "#") && !strings.HasPrefix(line, "kubeloupe_") || strings.Contains(line, "00000000000000030000000000000000") {
			t.Errorf("it has the line %s", line)
		}
	}
	if _, body := ask("GET", "/metrics", ""); strings.Contains(body, "trace_id") {
		t.Error("exemplars in the older format, which has none")
	}
	for _, c := range []struct {
		method, path string
		want         int
	}{{"POST", "/metrics", http.StatusMethodNotAllowed}, {"GET", "/debug/pprof/", http.StatusNotFound}} {
		if code, _ := ask(c.method, c.path, ""); code != c.want {
			t.Errorf("%s %s: status %d, want %d", c.method, c.path, code, c.want)
		}
	}
	conn, err := net.Dial("tcp", p.listen.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	go fmt.Fprintf(conn, "GET /metrics HTTP/1.1\r\nHost: x\r\nX: %s\r\n\r\n", strings.Repeat("x", 1<<20))
	if line, err := bufio.NewReader(conn).ReadString('\n'); err == nil && !strings.Contains(line, "431") {
		t.Errorf("large headers: %s", line)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
