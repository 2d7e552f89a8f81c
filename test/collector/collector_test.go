package collector

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/export"
	"github.com/kubeloupe/kubeloupe/inspect/ship"
	"github.com/kubeloupe/kubeloupe/inspect/spanfile"
	"github.com/kubeloupe/kubeloupe/inspect/waterfall"
	"github.com/kubeloupe/kubeloupe/trace"
)

func newCollector(t *testing.T) *Collector {
	t.Helper()
	if testing.Short() {
		t.Skip("-short: no Collector is built")
	}
	c, err := New(t.Context(), t.TempDir(), os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// start starts it; it ends with the test, or when end is called.
func start(t *testing.T, c *Collector) (end func()) {
	t.Helper()
	if err := c.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	end = func() {
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(end)
	return end
}

// shipped runs a Shipper that sends everything, while do publishes. Then the Shipper ends, while meanwhile is called.
func shipped(t *testing.T, c *Collector, flush time.Duration, do func(bus *trace.Bus), meanwhile func()) trace.SpanExport {
	t.Helper()
	client, err := ship.Dial(t.Context(), c.Addr, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close(context.Background())
	bus := trace.NewBus(1024)
	s := ship.New(ship.Config{Bus: bus, Node: "n1", Version: "test", Endpoint: c.Addr, Uploader: client, PerMillion: 1_000_000, Flush: flush})
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

// publish publishes the start of a pod, and returns its trace.
func publish(bus *trace.Bus, name string) trace.TraceID {
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
func drawn(t *testing.T, c *Collector, id trace.TraceID) string {
	t.Helper()
	f, err := os.Open(c.File)
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
	end := start(t, c)
	var web, late trace.TraceID
	told := shipped(t, c, time.Minute, func(bus *trace.Bus) { web = publish(bus, "web") }, func() {})
	if told.Sent == 0 || told.Dropped+told.Refused > 0 {
		t.Errorf("while it is there: %+v", told)
	}
	end() // it writes what it has
	for _, want := range []string{"shop/web", "RunPodSandbox", "create   web", "start    web"} {
		if got := drawn(t, c, web); !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}

	told = shipped(t, c, 3*time.Second, func(bus *trace.Bus) { publish(bus, "lost") }, func() {})
	if told.Sent > 0 || told.Dropped == 0 || told.State != trace.ExportEnded || !strings.Contains(told.Err, "Unavailable") {
		t.Errorf("while it is away: %+v", told)
	}

	told = shipped(t, c, time.Minute, func(bus *trace.Bus) { late = publish(bus, "late") }, func() {
		time.Sleep(time.Second)
		end = start(t, c)
	})
	if told.Sent == 0 || told.Dropped+told.Refused > 0 {
		t.Errorf("when it comes back: %+v", told)
	}
	end()
	if got := drawn(t, c, late); !strings.Contains(got, "shop/late") {
		t.Errorf("drawn:\n%s", got)
	}
}
