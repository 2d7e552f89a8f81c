package ship_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/kubeloupe/kubeloupe/inspect/ship"
	"github.com/kubeloupe/kubeloupe/trace"
)

var update = flag.Bool("update", false, "rewrite the golden files")

var web = trace.Pod{Namespace: "shop", Name: "web", UID: "3f1c"}

// taken is an uploader that takes everything.
type taken struct{ got []*tracepb.ResourceSpans }

func (u *taken) Upload(_ context.Context, spans []*tracepb.ResourceSpans) ship.Outcome {
	u.got = append(u.got, spans...)
	return ship.Outcome{}
}

// roots returns the names of the trees' roots, with what was said of them.
func (u *taken) roots() (out []string) {
	for _, rs := range u.got {
		for _, sp := range rs.GetScopeSpans()[0].GetSpans() {
			if len(sp.GetParentSpanId()) == 0 {
				out = append(out, fmt.Sprintf("%s %s %s", sp.GetName(), text(sp.GetAttributes(), "kubeloupe.start.outcome"), text(sp.GetAttributes(), "kubeloupe.sent_because")))
			}
		}
	}
	return out
}

func text(in []*commonpb.KeyValue, key string) string {
	for _, a := range in {
		if a.GetKey() == key {
			return value(a.GetValue())
		}
	}
	return ""
}

func value(v *commonpb.AnyValue) string {
	switch v := v.GetValue().(type) {
	case *commonpb.AnyValue_StringValue:
		return v.StringValue
	case *commonpb.AnyValue_IntValue:
		return fmt.Sprint(v.IntValue)
	case *commonpb.AnyValue_BoolValue:
		return fmt.Sprint(v.BoolValue)
	}
	return v.String()
}

// pod publishes what an agent would about a pod.
type pod struct {
	bus  *trace.Bus
	of   trace.Pod
	root trace.Span
}

func (p pod) seen() {
	trace.Point(p.bus, trace.Span{Pod: p.of}, trace.Milestone{Name: trace.MilestoneSeen, Source: trace.SourceAPI})
}

// start publishes a start whose sandbox takes that long. Its last steps are left out if it fails.
func (p pod) start(took time.Duration, failure string) {
	sync := trace.Begin(p.bus, p.root, trace.Sync{Why: trace.SyncCreate, N: 1})
	act := trace.Begin(p.bus, sync, trace.Action{ID: "sandbox", Verb: trace.VerbSandbox})
	call := trace.Begin(p.bus, act, trace.CRICall{Method: "RunPodSandbox"})
	time.Sleep(took / 2)
	trace.PublishSpan(p.bus, trace.Span{Trace: call.Trace, ID: trace.NewSpanID(), Parent: call.ID, Pod: p.of, Observer: trace.ObserverRuntimeSpan}, trace.RuntimeSpan{
		Service: "containerd", Name: "cri.sandbox.run", Attrs: []trace.KV{{K: trace.AttrTrace, V: trace.TraceID{Hi: 5, Lo: 6}.String()}}, Start: time.Now().Add(-took / 2).UnixNano(), Dur: took / 2,
	})
	time.Sleep(took / 2)
	code := "OK"
	if failure != "" {
		code = "Unknown"
	}
	trace.End(p.bus, call, trace.CRICall{Method: "RunPodSandbox", Code: code, Err: failure})
	trace.End(p.bus, act, trace.Action{ID: "sandbox", Verb: trace.VerbSandbox, Err: failure})
	if failure == "" {
		trace.Point(p.bus, sync, trace.Milestone{Name: trace.MilestoneStarted, Since: took})
	}
	trace.End(p.bus, sync, trace.Sync{Why: trace.SyncCreate, N: 1, Err: failure})
}

func (p pod) ready(since time.Duration) {
	trace.Point(p.bus, p.root, trace.PodStatus{Phase: trace.PodRunning, Ready: 1, Total: 1})
	trace.Point(p.bus, p.root, trace.Milestone{Name: trace.MilestoneReady, Since: since})
}

// TestRun has a Shipper follow what an agent publishes.
func TestRun(t *testing.T) {
	const second, minute = time.Second, time.Minute
	for name, c := range map[string]struct {
		rate  int32
		do    func(p pod)
		want  []string
		heard []string // what Explained was told
	}{
		"an ordinary start": {
			do:    func(p pod) { p.seen(); p.start(second, ""); p.ready(second); time.Sleep(minute) },
			heard: []string{"ready 1s false"},
		},
		"one that is sampled": {
			rate: 1_000_000,
			do:   func(p pod) { p.seen(); p.start(second, ""); p.ready(second); time.Sleep(minute) },
			want: []string{"pod start ready sampled"}, heard: []string{"ready 1s false"},
		},
		"a slow start": {
			do:   func(p pod) { p.seen(); p.start(6*second, ""); p.ready(6 * second); time.Sleep(minute) },
			want: []string{"pod start ready slow"}, heard: []string{"ready 6s false"},
		},
		"one that waits for readiness": {
			do: func(p pod) {
				p.seen()
				p.start(second, "")
				time.Sleep(6 * minute)
				p.ready(6 * minute)
				time.Sleep(minute)
			},
			want: []string{"pod start started slow"}, heard: []string{"started 1s false", "ready 1s true"},
		},
		"one that takes long, and is sent in two parts": {
			do: func(p pod) {
				p.seen()
				time.Sleep(7 * minute)
				p.start(second, "")
				p.ready(7 * minute)
				time.Sleep(minute)
			},
			want:  []string{"pod start unfinished unfinished", "pod start ready slow"},
			heard: []string{"unfinished 5m5s false", "ready 7m1s true"},
		},
		"a pod that is deleted before it starts": {
			do: func(p pod) {
				p.seen()
				p.start(second, "no network")
				trace.Point(p.bus, p.root, trace.Milestone{Name: trace.MilestoneTerminating})
				time.Sleep(minute)
			},
			want: []string{"pod start failed failed"}, heard: []string{"failed 1s false"},
		},
		"a rejected pod": {
			do: func(p pod) {
				p.seen()
				trace.Point(p.bus, p.root, trace.Decision{By: trace.ByAdmission, Verdict: trace.VerdictReject, Reason: "too little cpu", Code: "OutOfcpu"})
				trace.Point(p.bus, p.root, trace.PodStatus{Phase: trace.PodFailed, Reason: "OutOfcpu"})
				time.Sleep(minute)
			},
			want: []string{"pod start failed failed"}, heard: []string{"failed 0s false"},
		},
		"a pod that was found running": {
			rate: 1_000_000,
			do: func(p pod) {
				trace.Point(p.bus, p.root, trace.Milestone{Name: trace.MilestoneSeen, Adopted: true})
				trace.Point(p.bus, p.root, trace.Milestone{Name: trace.MilestoneStarted, Adopted: true})
				time.Sleep(10 * minute)
			},
		},
		"syncs of a pod that runs": {
			do: func(p pod) {
				p.seen()
				p.start(second, "")
				p.ready(second)
				time.Sleep(minute)
				p.start(second, "")      // in time
				p.start(6*second, "")    // slow
				p.start(second, "broke") // failed
				time.Sleep(minute)
			},
			want: []string{"sync create  slow or failed", "sync create  slow or failed"}, heard: []string{"ready 1s false"},
		},
		"runs of the garbage collection": {
			do: func(p pod) {
				for _, gc := range []trace.GC{{What: trace.GCImages}, {What: trace.GCImages, Removed: 2}, {What: trace.GCContainers, Err: "disk"}} {
					run := trace.Begin(p.bus, trace.Span{}, trace.GC{What: gc.What})
					call := trace.Begin(p.bus, run, trace.CRICall{Method: "RemoveImage"})
					trace.End(p.bus, call, trace.CRICall{Method: "RemoveImage", Code: "OK"})
					trace.End(p.bus, run, gc)
				}
				time.Sleep(minute)
			},
			want: []string{"image gc  removed", "container gc  slow or failed"},
		},
		"a start that has just ended when the agent ends": {
			do:   func(p pod) { p.seen(); p.start(6*second, ""); p.ready(6 * second) },
			want: []string{"pod start ready slow"}, heard: []string{"ready 6s false"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				bus := trace.NewBus(1024)
				var up taken
				var heard []string
				s := ship.New(ship.Config{
					Bus: bus, Node: "n1", Version: "v1", Endpoint: "here:4317", Uploader: &up, PerMillion: c.rate,
					Explained: func(s ship.Start) { heard = append(heard, fmt.Sprint(s.Outcome, " ", s.Took, " ", s.Again)) },
				})
				ctx, cancel := context.WithCancel(t.Context())
				ended := make(chan error)
				go func() { ended <- s.Run(ctx) }()
				synctest.Wait()
				c.do(pod{bus, web, trace.Span{Trace: trace.NewTraceID(), Pod: web}})
				cancel()
				if err := <-ended; err != nil {
					t.Error(err)
				}
				if diff := cmp.Diff(c.want, up.roots()); diff != "" {
					t.Errorf("trees (-want +got):\n%s", diff)
				}
				if diff := cmp.Diff(c.heard, heard); diff != "" {
					t.Errorf("explained (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// TestPast: what ended before the Shipper began is not sent again, as attach reads the last minutes of logs whenever it starts.
func TestPast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bus := trace.NewBus(1024)
		var up taken
		p := pod{bus, web, trace.Span{Trace: trace.NewTraceID(), Pod: web}}
		p.seen()
		p.start(6*time.Second, "")
		p.ready(6 * time.Second)
		p.start(time.Second, "broke")
		trace.End(bus, trace.Begin(bus, trace.Span{}, trace.GC{What: trace.GCImages}), trace.GC{What: trace.GCImages, Err: "disk"})
		name := trace.Pod{Namespace: "shop", Name: "later", UID: "2"}
		later := pod{bus, name, trace.Span{Trace: trace.NewTraceID(), Pod: name}}
		later.seen() // it is not finished when the Shipper begins
		time.Sleep(time.Minute)
		s := ship.New(ship.Config{Bus: bus, Uploader: &up, PerMillion: 1_000_000, Explained: func(s ship.Start) {
			if s.Took < time.Minute {
				t.Errorf("explained: %+v", s)
			}
		}})
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		ended := make(chan error)
		go func() { ended <- s.Run(ctx) }()
		synctest.Wait()
		later.start(time.Second, "")
		later.ready(61 * time.Second)
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff([]string{"pod start ready slow"}, up.roots()); diff != "" {
			t.Errorf("trees (-want +got):\n%s", diff)
		}
	})
}

// TestTree compares the spans of a slow start with a golden file.
func TestTree(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bus := trace.NewBus(1024)
		var up taken
		s := ship.New(ship.Config{Bus: bus, Version: "v1", Uploader: &up})
		trace.Point(bus, trace.Span{}, trace.Agent{State: trace.AgentReady, Node: "n1"})
		p := pod{bus, web, trace.Span{Trace: trace.TraceID{Hi: 1, Lo: 2}, Pod: web}}
		p.seen()
		w := trace.Begin(bus, trace.SeenBy(p.root, trace.ObserverKubeletLog, time.Second), trace.Wait{For: trace.WaitQueue, Target: trace.Target{Kind: trace.TargetRuntimeSlots}})
		time.Sleep(time.Second)
		trace.End(bus, w, trace.Wait{For: trace.WaitQueue, Target: trace.Target{Kind: trace.TargetRuntimeSlots}})
		get := trace.Begin(bus, trace.Span{Trace: trace.TraceID{Hi: 8, Lo: 9}, Pod: web}, trace.APICall{Verb: trace.APIGet, Resource: "secrets", Namespace: "shop", Name: "keys"})
		trace.End(bus, get, trace.APICall{Verb: trace.APIGet, Resource: "secrets", Namespace: "shop", Name: "keys", Code: 404, Err: "not found"})
		trace.Begin(bus, p.root, trace.Wait{For: trace.WaitProbe}) // it does not end
		p.start(6*time.Second, "")
		p.ready(7 * time.Second)
		later := trace.Begin(bus, p.root, trace.Sync{Why: trace.SyncAgain}) // after the start
		trace.End(bus, later, trace.Sync{Why: trace.SyncAgain})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := s.Run(ctx); err != nil {
			t.Fatal(err)
		}
		golden(t, "start.txt", render(up.got))
	})
}

// render draws trees of spans as text: children below their parents, with all that they have.
func render(in []*tracepb.ResourceSpans) string {
	var b strings.Builder
	type of struct {
		service string
		span    *tracepb.Span
	}
	below := map[string][]of{}
	first, names := uint64(0), map[string]string{}
	for _, rs := range in {
		fmt.Fprintf(&b, "resource %s %s\n", attrs(rs.GetResource().GetAttributes()), rs.GetSchemaUrl())
		for _, sp := range rs.GetScopeSpans()[0].GetSpans() {
			below[string(sp.GetParentSpanId())] = append(below[string(sp.GetParentSpanId())], of{text(rs.GetResource().GetAttributes(), "service.name"), sp})
			names[string(sp.GetSpanId())] = sp.GetName()
			if first == 0 {
				first = sp.GetStartTimeUnixNano()
			}
		}
	}
	var draw func(parent, indent string)
	draw = func(parent, indent string) {
		slices.SortStableFunc(below[parent], func(a, b of) int { return int(a.span.GetStartTimeUnixNano()) - int(b.span.GetStartTimeUnixNano()) })
		for _, o := range below[parent] {
			sp := o.span
			at := func(t uint64) time.Duration { return time.Duration(t - first) }
			fmt.Fprintf(&b, "%s%s [%s %s] %s to %s", indent, sp.GetName(), o.service, strings.ToLower(strings.TrimPrefix(sp.GetKind().String(), "SPAN_KIND_")), at(sp.GetStartTimeUnixNano()), at(sp.GetEndTimeUnixNano()))
			if sp.GetStatus().GetCode() == tracepb.Status_STATUS_CODE_ERROR {
				fmt.Fprintf(&b, " ERROR %q", sp.GetStatus().GetMessage())
			}
			for _, l := range sp.GetLinks() {
				fmt.Fprintf(&b, " link %x", l.GetTraceId())
			}
			fmt.Fprintf(&b, " trace %x\n%s    %s\n", sp.GetTraceId(), indent, attrs(sp.GetAttributes()))
			for _, e := range sp.GetEvents() {
				fmt.Fprintf(&b, "%s  * %s at %s: %s\n", indent, e.GetName(), at(e.GetTimeUnixNano()), attrs(e.GetAttributes()))
			}
			draw(string(sp.GetSpanId()), indent+"  ")
		}
	}
	draw("", "")
	return b.String()
}

func attrs(in []*commonpb.KeyValue) string {
	var out []string
	for _, a := range in {
		out = append(out, a.GetKey()+"="+value(a.GetValue()))
	}
	return strings.Join(out, " ")
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got); -update rewrites it:\n%s", file, diff)
	}
}

// moody is an uploader that is away until a time.
type moody struct {
	taken
	until time.Time
}

func (m *moody) Upload(ctx context.Context, spans []*tracepb.ResourceSpans) ship.Outcome {
	if time.Now().Before(m.until) {
		return ship.Outcome{Err: errors.New("Unavailable: away"), Retry: true}
	}
	return m.taken.Upload(ctx, spans)
}

// TestReport: what is published says when sending fails and succeeds, and counts at most once a minute.
func TestReport(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bus := trace.NewBus(4096)
		up := &moody{until: time.Now().Add(100 * time.Second)}
		s := ship.New(ship.Config{Bus: bus, Endpoint: "c:4317", Uploader: up, PerMillion: 1_000_000})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- s.Run(ctx) }()
		synctest.Wait()
		began := time.Now()
		for i := range 30 {
			p := pod{bus, trace.Pod{Namespace: "shop", Name: fmt.Sprint("web-", i), UID: fmt.Sprint(i)}, trace.Span{}}
			p.root = trace.Span{Trace: trace.NewTraceID(), Pod: p.of}
			p.seen()
			p.start(time.Second, "")
			p.ready(time.Second)
			time.Sleep(9 * time.Second)
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		cur := bus.Subscribe(trace.FromOldest)
		defer cur.Close()
		recs, _ := cur.Poll(make([]trace.Record, 0, 4096))
		var states []string
		last, at := trace.SpanExport{}, time.Duration(0)
		for _, r := range recs {
			e, ok := r.Event.(*trace.SpanExport)
			if !ok {
				continue
			}
			if now := r.At().Sub(began); last.State == e.State && now-at < time.Minute {
				t.Errorf("%s after %s: %+v", now, at, e)
			} else {
				at = now
			}
			if e.Sent < last.Sent || e.Dropped < last.Dropped {
				t.Errorf("%+v after %+v", e, last)
			}
			if len(states) == 0 || states[len(states)-1] != string(e.State) {
				states = append(states, string(e.State))
			}
			last = *e
		}
		if got := strings.Join(states, " "); got != "failing sending ended" {
			t.Errorf("states %s", got)
		}
		if last.Sent != 30*5 || last.Dropped+last.Refused > 0 || last.Queued != 0 {
			t.Errorf("at the end: %+v", last)
		}
	})
}
