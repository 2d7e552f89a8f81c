package otlp

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kubeloupe/kubeloupe/inspect/otlp/plugins"
	"github.com/kubeloupe/kubeloupe/trace"
)

func callRecord(t trace.TraceID, id trace.SpanID, pod trace.Pod) trace.Record {
	return trace.Record{Trace: t, Span: id, Pod: pod, Edge: trace.EdgeBegin, Event: &trace.CRICall{}}
}

// TestPodsShareATrace: each span gets the pod of the call above it, though children come first.
func TestPodsShareATrace(t *testing.T) {
	id := trace.TraceID{Lo: 1}
	db := trace.Pod{Name: "db"}
	tr := newTree()
	tr.follow([]trace.Record{callRecord(id, 1, web), callRecord(id, 2, db)})
	var got []trace.Pod
	var order []trace.SpanID
	for _, s := range []span{
		{trace: id, id: 12, parent: 11},
		{trace: id, id: 11, parent: 10},
		{trace: id, id: 11, parent: 10},
		{trace: id, id: 21, parent: 20},
		{trace: id, id: 20, parent: 2},
		{trace: id, id: 10, parent: 1},
		{trace: id, id: 13, parent: 11},
		{trace: id, id: 30, parent: 31},
	} {
		ready, _ := tr.add(s)
		for _, r := range ready {
			got, order = append(got, r.pod), append(order, r.id)
		}
	}
	if diff := cmp.Diff([]trace.SpanID{20, 21, 10, 11, 12, 13}, order); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]trace.Pod{db, db, web, web, web, web}, got); diff != "" {
		t.Errorf("pods (-want +got):\n%s", diff)
	}
	if len(tr.held) != 1 {
		t.Errorf("%d spans wait", len(tr.held))
	}
}

// TestBounds: nothing grows beyond its limit, and what is forgotten is not ours any more.
func TestBounds(t *testing.T) {
	tr := newTree()
	for i := range maxCalls + 100 {
		tr.follow([]trace.Record{callRecord(trace.TraceID{Lo: uint64(i + 1)}, trace.SpanID(i+1), web)})
	}
	if len(tr.traces) != maxCalls || len(tr.calls.m) != maxCalls {
		t.Errorf("%d traces, %d calls", len(tr.traces), len(tr.calls.m))
	}
	if _, v := tr.add(span{trace: trace.TraceID{Lo: 1}, id: 5}); v != foreign {
		t.Errorf("a span of a forgotten call is %v", v)
	}
	last := trace.TraceID{Lo: maxCalls + 100}
	for i := range maxPublished + 100 {
		tr.add(span{trace: last, id: trace.SpanID(i + 1)})
	}
	tr.follow([]trace.Record{callRecord(last, 1<<40, trace.Pod{Name: "db"})})
	for i := range maxHeld + 100 {
		tr.add(span{trace: last, id: trace.SpanID(1<<41 + i), parent: 1 << 50})
	}
	if len(tr.told.m) != maxPublished || len(tr.held) != maxHeld || tr.lost != 100 {
		t.Errorf("%d told, %d held, %d lost", len(tr.told.m), len(tr.held), tr.lost)
	}
}

// TestPlugins: a plugin's run goes below the pod's last call that has such plugins run.
func TestPlugins(t *testing.T) {
	b := start(t)
	first := b.call(trace.Span{}, web)
	trace.End(b.bus, first, trace.CRICall{Method: "RunPodSandbox"})
	again := b.call(first, web)
	stop := trace.Begin(b.bus, trace.ForPod(trace.Span{}, web), trace.CRICall{Method: "StopPodSandbox"})
	b.call(trace.Span{}, trace.Pod{Name: "db"})
	at := time.Unix(100, 5)
	b.ran(plugins.Exec{Plugin: "host-local", Command: "ADD", IfName: "eth0", Pod: web, ID: 11, Parent: 10, Start: at, Dur: 1})
	b.ran(plugins.Exec{Plugin: "none", Command: "VERSION", Pod: web, ID: 12, Start: at})
	b.ran(plugins.Exec{Plugin: "none", Command: "ADD", Pod: trace.Pod{Name: "other"}, ID: 13, Start: at})
	b.ran(plugins.Exec{Plugin: "none", Command: "ADD", ID: 14, Start: at})
	b.ran(plugins.Exec{Plugin: "bridge", Command: "ADD", IfName: "eth0", Sandbox: "abc", Pod: web, ID: 10, Start: at, Dur: 2})
	b.ran(plugins.Exec{Plugin: "bridge", Command: "DEL", Pod: web, ID: 20, Start: at})
	recs := b.next(3)
	type place struct {
		t      trace.TraceID
		id, up trace.SpanID
		pod    trace.Pod
	}
	var got []place
	for _, r := range recs {
		got = append(got, place{r.Trace, r.Span, r.Parent, r.Pod})
	}
	want := []place{{again.Trace, 11, 10, web}, {again.Trace, 10, again.ID, web}, {stop.Trace, 20, stop.ID, web}}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(place{})); diff != "" {
		t.Errorf("placed (-want +got):\n%s", diff)
	}
	event := &trace.RuntimeSpan{
		Name: "cni.plugin.bridge", Service: "kubeloupe", Start: at.UnixNano(), Dur: 2,
		Attrs: []trace.KV{{K: "cni.command", V: "ADD"}, {K: "cni.ifname", V: "eth0"}, {K: "sandbox.id", V: "abc"}},
	}
	if diff := cmp.Diff(trace.Event(event), recs[1].Event); diff != "" {
		t.Errorf("event (-want +got):\n%s", diff)
	}
}

// TestNoPlugins: where plugins cannot be watched the receiver says so and goes on.
func TestNoPlugins(t *testing.T) {
	bus := trace.NewBus(0)
	cursor := bus.Subscribe(trace.FromOldest)
	defer cursor.Close()
	r, err := New(Config{CNIBinDirs: []string{t.TempDir() + "/none"}, Bus: bus})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	recs, _, err := cursor.Next(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	if e, ok := recs[0].Event.(*trace.Log); !ok || !strings.HasPrefix(e.Message, "runs of CNI plugins are not told: ") {
		t.Errorf("%+v", recs[0].Event)
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if _, err := New(Config{CNIBinDirs: []string{"x"}}); err == nil {
		t.Error("a relative directory is taken")
	}
}
