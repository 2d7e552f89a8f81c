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
		ready, _, _ := tr.add(s)
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
	if w := tr.waiting; w.n != 1 || len(w.below) != 1 || len(w.ids) != 1 || len(w.of) != 1 || len(w.order) != 1 || w.bytes == 0 {
		t.Errorf("what waits: %+v", w)
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
	if _, v, _ := tr.add(span{trace: trace.TraceID{Lo: 1}, id: 5}); v != foreign {
		t.Errorf("a span of a forgotten call is %v", v)
	}
	last := uint64(maxCalls + 100)
	for i := range maxPublished + 100 {
		of := last - uint64(i/maxCallSpans)
		tr.add(span{trace: trace.TraceID{Lo: of}, id: trace.SpanID(1<<40 + i), parent: trace.SpanID(of)})
	}
	if _, v, _ := tr.add(span{trace: trace.TraceID{Lo: last}, id: 1 << 50, parent: trace.SpanID(last)}); v != tooMany {
		t.Errorf("one span more than a call may have is %v", v)
	}
	for i := range 2 * maxHeld {
		of := last - uint64(i%8)
		tr.add(span{trace: trace.TraceID{Lo: of}, id: trace.SpanID(1<<41 + i), parent: trace.SpanID(1<<50 + i)})
	}
	if w := tr.waiting; len(tr.told.m) != maxPublished || w.n != maxHeld || len(w.ids) != maxHeld || len(w.order) != maxHeld || w.lost != maxHeld {
		t.Errorf("%d told, %d held, %d lost", len(tr.told.m), w.n, w.lost)
	}
	for i := range maxHeld {
		tr.add(span{trace: trace.TraceID{Lo: last}, id: trace.SpanID(1<<42 + i), parent: 1<<51 + 1, event: trace.RuntimeSpan{Err: strings.Repeat("x", 8<<10)}})
	}
	if w := tr.waiting; w.bytes > maxHeldBytes || w.of[trace.TraceID{Lo: last}] > maxCallSpans {
		t.Errorf("%d bytes wait, %d spans of one trace", w.bytes, w.of[trace.TraceID{Lo: last}])
	}
	for i := range maxCalls {
		tr.follow([]trace.Record{callRecord(trace.TraceID{Lo: 1 << 60, Hi: uint64(i)}, trace.SpanID(1<<60+i), web)})
	}
	if w := tr.waiting; w.n != 0 || w.bytes != 0 || len(w.below)+len(w.ids)+len(w.of)+len(w.order) != 0 {
		t.Errorf("of calls that are forgotten, there still wait %d spans in %d bytes", w.n, w.bytes)
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
	at := time.Now()
	b.ran(plugins.Exec{Plugin: "host-local", Command: "ADD", IfName: "eth0", Pod: web, ID: 11, Parent: 10, Start: at, Dur: 1})
	b.ran(plugins.Exec{Plugin: "none", Command: "VERSION", Pod: web, ID: 12, Start: at})
	b.ran(plugins.Exec{Plugin: "none", Command: "ADD", Pod: trace.Pod{Name: "other"}, ID: 13, Start: at})
	b.ran(plugins.Exec{Plugin: "none", Command: "ADD", ID: 14, Start: at})
	b.ran(plugins.Exec{Plugin: "early", Command: "ADD", Pod: web, ID: 15, Start: at.Add(-time.Minute)})
	b.ran(plugins.Exec{Plugin: "long", Command: "ADD", Pod: web, ID: 16, Start: at, Dur: time.Minute})
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

// TestNoPlugins: where plugins cannot be watched the receiver says so and continues.
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
	soon, end := context.WithTimeout(ctx, time.Minute)
	defer end()
	recs, _, err := cursor.Next(soon, nil)
	if err != nil {
		t.Fatalf("nothing is told: %v", err)
	}
	if e, ok := recs[0].Event.(*trace.Log); !ok || !strings.HasPrefix(e.Message, "runs of CNI plugins are not reported: ") {
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

// TestOutside: a span lies within the time of the call that it is below, or is dropped, and so is what is below it.
func TestOutside(t *testing.T) {
	id, now := trace.TraceID{Lo: 1}, time.Unix(1000, 0)
	record := func(id trace.TraceID, span trace.SpanID, edge trace.Edge, at time.Duration, err string) trace.Record {
		return trace.Record{Trace: id, Span: span, Pod: web, Edge: edge, Time: now.Add(at).UnixNano(), Event: &trace.CRICall{Method: "RunPodSandbox", Err: err}}
	}
	for _, c := range []struct {
		name       string
		start, dur time.Duration
		end        string // how the call ended, a second after its begin: "" not yet
		want       verdict
	}{
		{"within", 100 * time.Millisecond, 500 * time.Millisecond, "ok", placed},
		{"a little early", -slack, time.Second, "ok", placed},
		{"too early", -slack - 1, time.Second, "ok", outside},
		{"of an hour ago", -time.Hour, time.Second, "ok", outside},
		{"a little late", time.Second, slack, "ok", placed},
		{"too long", time.Second, slack + 1, "ok", outside},
		{"after it", time.Second + slack + 1, 0, "ok", outside},
		{"without end", 0, 1<<63 - 1, "ok", outside},
		{"cleaning up after it was cut short", time.Minute, time.Second, "deadline exceeded", placed},
		{"long after it was cut short", afterwards + 2*time.Second, 0, "deadline exceeded", outside},
		{"of one under way", time.Minute, 4 * time.Minute, "", placed},
		{"of the future", 5*time.Minute + slack + 1, 0, "", outside},
	} {
		t.Run(c.name, func(t *testing.T) {
			tr := newTree()
			tr.now = func() time.Time { return now.Add(5 * time.Minute) }
			tr.follow([]trace.Record{record(id, 1, trace.EdgeBegin, 0, "")})
			if c.end != "" {
				tr.follow([]trace.Record{record(id, 1, trace.EdgeEnd, time.Second, strings.TrimPrefix(c.end, "ok"))})
			}
			s := span{trace: id, id: 2, parent: 1, event: trace.RuntimeSpan{Start: now.Add(c.start).UnixNano(), Dur: c.dur}}
			if _, v, _ := tr.add(s); v != c.want {
				t.Errorf("verdict %v, want %v", v, c.want)
			}
			within := trace.RuntimeSpan{Start: now.UnixNano()}
			ready, v, _ := tr.add(span{trace: id, id: 3, parent: 2, event: within})
			if (v == placed) != (c.want == placed) || len(ready) != 0 && c.want != placed {
				t.Errorf("what is below it: %v", v)
			}
			plugin := span{cni: "ADD", pod: web, event: s.event}
			if _, v, _ := tr.add(plugin); c.want == outside && v != outside || v == placed && c.end != "" && c.start > time.Second {
				t.Errorf("a plugin's run: %v", v)
			}
		})
	}
	tr := newTree()
	tr.now = func() time.Time { return now }
	tr.follow([]trace.Record{record(id, 1, trace.EdgeBegin, 0, "")})
	tr.add(span{trace: id, id: 3, parent: 2, event: trace.RuntimeSpan{Start: now.Add(-time.Hour).UnixNano()}})
	ready, v, refused := tr.add(span{trace: id, id: 2, parent: 1, event: trace.RuntimeSpan{Start: now.UnixNano()}})
	if v != placed || len(ready) != 1 || len(refused) != 1 || refused[0] != outside {
		t.Errorf("what waited below a good span and lies outside: %v, %d placed, refused %v", v, len(ready), refused)
	}
}

// TestClockSetBack: times of records continue when the wall clock is set back, and the runtime tells its spans by the wall clock.
func TestClockSetBack(t *testing.T) {
	const hour, s = time.Hour, time.Second
	id, began := trace.TraceID{Lo: 1}, time.Unix(10_000, 0)
	wall := began
	tr := newTree()
	tr.now = func() time.Time { return wall }
	at := func(d time.Duration) int64 { return began.Add(d).UnixNano() }
	call := trace.Record{Trace: id, Span: 1, Pod: web, Edge: trace.EdgeBegin, Time: at(0), Event: &trace.CRICall{Method: "RunPodSandbox"}}
	later := call
	later.Span, later.Time = 2, at(10*s)
	stepped := trace.Record{Time: at(3 * s), Event: &trace.ClockStepped{Step: -hour, Ahead: hour}}
	tr.follow([]trace.Record{call, stepped, later})
	wall = began.Add(12*s - hour)
	for _, c := range []struct {
		name        string
		parent      trace.SpanID
		start, want time.Duration // want 0: outside
	}{
		{"before it was set", 1, 2 * s, 2 * s},
		{"after it was set", 1, 4*s - hour, 4 * s},
		{"of a later call", 2, 11*s - hour, 11 * s},
		{"of an hour before", 2, 11*s - 2*hour, 0},
		{"of the future", 2, 20*s - hour, 0},
	} {
		tell := trace.RuntimeSpan{Start: at(c.start), Dur: 100 * time.Millisecond}
		ready, v, _ := tr.add(span{trace: id, id: trace.SpanID(c.start), parent: c.parent, event: tell})
		if c.want == 0 && v != outside || c.want != 0 && (v != placed || ready[0].event.Start != at(c.want)) {
			t.Errorf("a span %s: verdict %v, %+v, want it at %s", c.name, v, ready, c.want)
		}
	}
	plugin := trace.RuntimeSpan{Start: at(11*s - hour), Dur: 100 * time.Millisecond}
	if ready, v := tr.place(span{cni: "ADD", pod: web, event: plugin}); v != placed || ready[0].event.Start != at(11*s) {
		t.Errorf("a plugin's run: verdict %v, %+v", v, ready)
	}
}

// TestUndoneWithinTheCall: the plugins that undo what RunPodSandbox could not finish are part of it.
func TestUndoneWithinTheCall(t *testing.T) {
	tr := newTree()
	now := time.Now()
	run := trace.Record{Trace: trace.TraceID{Lo: 1}, Span: 1, Pod: web, Edge: trace.EdgeBegin, Time: now.UnixNano(), Event: &trace.CRICall{Method: "RunPodSandbox"}}
	tr.follow([]trace.Record{run})
	ready, v, _ := tr.add(span{cni: "DEL", pod: web, event: trace.RuntimeSpan{Start: now.UnixNano()}})
	if v != placed || ready[0].parent != 1 {
		t.Errorf("%v %+v", v, ready)
	}
}
