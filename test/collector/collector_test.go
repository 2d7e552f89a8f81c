package collector

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/export"
	"github.com/kubeloupe/kubeloupe/inspect/ship"
	"github.com/kubeloupe/kubeloupe/inspect/spanfile"
	"github.com/kubeloupe/kubeloupe/inspect/waterfall"
	"github.com/kubeloupe/kubeloupe/test/lab"
	"github.com/kubeloupe/kubeloupe/trace"
)

// otelcol is a Collector that can be started.
type otelcol struct {
	bin, addr, file string
}

func newCollector(t *testing.T) *otelcol {
	t.Helper()
	if testing.Short() {
		t.Skip("-short: no Collector is built")
	}
	bin, err := lab.BuildCollector(t.Context(), os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &otelcol{bin: bin, addr: l.Addr().String(), file: filepath.Join(t.TempDir(), "spans.json")}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return c
}

// start starts it; it ends with the test, or when end is called.
func (c *otelcol) start(t *testing.T) (end func()) {
	t.Helper()
	config := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(config, fmt.Appendf(nil, `
receivers: {otlp: {protocols: {grpc: {endpoint: %q}}}}
exporters: {file: {path: %q, append: true}}
service:
  telemetry: {metrics: {level: none}}
  pipelines: {traces: {receivers: [otlp], exporters: [file]}}
`, c.addr, c.file), 0o600); err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	cmd := exec.CommandContext(t.Context(), c.bin, "--config", "file:"+config)
	cmd.Stdout, cmd.Stderr = &log, &log
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 20 * time.Second
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := false
	end = func() {
		if !ended {
			ended = true
			_ = cmd.Cancel() // Wait says more
			if err := cmd.Wait(); err != nil {
				t.Errorf("the Collector: %v\n%s", err, log.String())
			}
		}
	}
	t.Cleanup(end)
	return end
}

// ship runs a Shipper that sends everything, while do publishes. Then the Shipper ends, while meanwhile is called.
func (c *otelcol) ship(t *testing.T, flush time.Duration, do func(bus *trace.Bus), meanwhile func()) trace.SpanExport {
	t.Helper()
	client, err := ship.Dial(t.Context(), c.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close(context.Background())
	bus := trace.NewBus(1024)
	s := ship.New(ship.Config{Bus: bus, Node: "n1", Version: "test", Endpoint: c.addr, Uploader: client, PerMillion: 1_000_000, Flush: flush})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	do(bus)
	cancel()
	meanwhile()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	cur := bus.Subscribe(trace.FromOldest)
	defer cur.Close()
	var last trace.SpanExport
	recs, _ := cur.Poll(make([]trace.Record, 0, 1024))
	for _, r := range recs {
		if e, ok := r.Event.(*trace.SpanExport); ok {
			last = *e
		}
	}
	return last
}

// start publishes the start of a pod, and returns its trace.
func start(bus *trace.Bus, name string) trace.TraceID {
	pod := trace.Pod{Namespace: "shop", Name: name, UID: name}
	root := trace.Span{Trace: trace.NewTraceID(), Pod: pod}
	trace.Point(bus, trace.Span{Pod: pod}, trace.Milestone{Name: trace.MilestoneSeen, Source: trace.SourceAPI})
	sync := trace.Begin(bus, root, trace.Sync{Why: trace.SyncCreate, N: 1})
	for _, step := range []struct {
		verb   trace.Verb
		id     string
		method string
	}{{trace.VerbSandbox, "sandbox", "RunPodSandbox"}, {trace.VerbCreate, "create web", "CreateContainer"}, {trace.VerbStart, "start web", "StartContainer"}} {
		act := trace.Begin(bus, sync, trace.Action{ID: step.id, Verb: step.verb, Container: "web"})
		call := trace.Begin(bus, act, trace.CRICall{Method: step.method})
		time.Sleep(20 * time.Millisecond)
		trace.End(bus, call, trace.CRICall{Method: step.method, Code: "OK"})
		trace.End(bus, act, trace.Action{ID: step.id, Verb: step.verb, Container: "web"})
	}
	trace.Point(bus, sync, trace.Milestone{Name: trace.MilestoneStarted, Since: 60 * time.Millisecond})
	trace.End(bus, sync, trace.Sync{Why: trace.SyncCreate, N: 1})
	trace.Point(bus, root, trace.Milestone{Name: trace.MilestoneReady, Since: 60 * time.Millisecond})
	return root.Trace
}

// drawn reads a trace from the Collector's file and draws it.
func (c *otelcol) drawn(t *testing.T, id trace.TraceID) string {
	t.Helper()
	f, err := os.Open(c.file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	recs, _, err := spanfile.Read(f, id)
	if err != nil {
		t.Fatal(err)
	}
	w, err := waterfall.Build(recs, recs[0].Pod)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if err := export.Text(&b, w, export.TextOptions{Width: 100, ASCII: true}); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestCollector sends starts while the Collector is there, while it is away, and when it comes back.
func TestCollector(t *testing.T) {
	c := newCollector(t)
	end := c.start(t)
	var web, late trace.TraceID
	told := c.ship(t, time.Minute, func(bus *trace.Bus) { web = start(bus, "web") }, func() {})
	if told.Sent == 0 || told.Dropped+told.Refused > 0 {
		t.Errorf("while it is there: %+v", told)
	}
	end() // it writes what it has
	for _, want := range []string{"shop/web", "RunPodSandbox", "create   web", "start    web"} {
		if got := c.drawn(t, web); !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}

	told = c.ship(t, 300*time.Millisecond, func(bus *trace.Bus) { start(bus, "lost") }, func() {})
	if told.Sent > 0 || told.Dropped == 0 || told.State != trace.ExportEnded || !strings.Contains(told.Err, "Unavailable") {
		t.Errorf("while it is away: %+v", told)
	}

	told = c.ship(t, time.Minute, func(bus *trace.Bus) { late = start(bus, "late") }, func() {
		time.Sleep(time.Second)
		end = c.start(t)
	})
	if told.Sent == 0 || told.Dropped+told.Refused > 0 {
		t.Errorf("when it comes back: %+v", told)
	}
	end()
	if got := c.drawn(t, late); !strings.Contains(got, "shop/late") {
		t.Errorf("drawn:\n%s", got)
	}
}
