package observers

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kubeloupe/kubeloupe/trace"
)

// span makes the end of something that lasted from from to to, in seconds.
func span(id, parent trace.SpanID, uid string, from, to int, e trace.Event) trace.Record {
	return trace.Record{
		Time: int64(to) * int64(time.Second), Dur: time.Duration(to-from) * time.Second, Edge: trace.EdgeEnd, Span: id, Parent: parent,
		Pod: trace.Pod{Namespace: "shop", Name: "of-" + uid, UID: uid}, Event: e,
	}
}

// TestPhases takes the call where it is known, else the action around it.
func TestPhases(t *testing.T) {
	second := int64(time.Second)
	recs := []trace.Record{
		span(2, 1, "a", 11, 12, &trace.CRICall{Method: "RunPodSandbox"}),
		span(1, 0, "a", 10, 13, &trace.Action{ID: "sandbox", Verb: trace.VerbSandbox}),
		span(5, 4, "a", 15, 16, &trace.CRICall{Method: "PullImage", Image: "i"}),
		span(4, 3, "a", 14, 17, &trace.ImagePull{Image: "i"}),
		span(3, 0, "a", 14, 17, &trace.Action{ID: "image c", Verb: trace.VerbImage, Container: "c", Target: "docker.io/i"}),
		span(6, 0, "a", 18, 19, &trace.Action{ID: "create c", Verb: trace.VerbCreate, Container: "c"}),
		span(7, 0, "a", 9, 19, &trace.Action{ID: "volumes", Verb: trace.VerbVolumes}),
	}
	want := []Phase{
		{"a", trace.VerbSandbox, "", 11 * second, 12 * second},
		{"a", trace.VerbImage, "i", 15 * second, 16 * second},
		{"a", trace.VerbCreate, "c", 18 * second, 19 * second},
	}
	if diff := cmp.Diff(want, Phases(recs)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestCompare finds the nearest of a kind, once.
func TestCompare(t *testing.T) {
	ms := int64(time.Millisecond)
	truth := []Phase{{"a", trace.VerbStart, "c", 100 * ms, 200 * ms}, {"a", trace.VerbStart, "c", 1000 * ms, 1100 * ms}, {"b", trace.VerbStart, "c", 100 * ms, 200 * ms}}
	seen := []Phase{{"a", trace.VerbStart, "c", 995 * ms, 1110 * ms}, {"a", trace.VerbCreate, "c", 100 * ms, 200 * ms}, {"a", trace.VerbStart, "c", 103 * ms, 200 * ms}}
	edges, missing := Compare(truth, seen)
	want := []Edge{{truth[0], 3 * time.Millisecond, 0}, {truth[1], -5 * time.Millisecond, 10 * time.Millisecond}}
	if diff := cmp.Diff(want, edges); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if diff := cmp.Diff(truth[2:], missing); diff != "" {
		t.Errorf("missing: -want +got:\n%s", diff)
	}
	if got, want := SpreadOf([]time.Duration{-5, 3, 0}), (Spread{3, 3, 5}); got != want {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestSpanPhases takes the times of the runtime's spans, not of the kubelet's.
func TestSpanPhases(t *testing.T) {
	sent := func(id trace.SpanID, by trace.Observer, name string, from int) trace.Record {
		return trace.Record{Span: id, Parent: 2, Observer: by, Event: &trace.RuntimeSpan{Name: name, Start: int64(from) * int64(time.Second), Dur: time.Second}}
	}
	recs := []trace.Record{
		span(2, 1, "a", 10, 13, &trace.CRICall{Method: "RunPodSandbox"}),
		span(1, 0, "a", 10, 13, &trace.Action{ID: "sandbox", Verb: trace.VerbSandbox}),
		sent(3, trace.ObserverRuntimeSpan, "runtime.v1.RuntimeService/RunPodSandbox", 11),
		sent(4, trace.ObserverKubeletSpan, "runtime.v1.RuntimeService/RunPodSandbox", 10),
		sent(5, trace.ObserverRuntimeSpan, "cni.Setup", 12),
	}
	want := []Phase{{"a", trace.VerbSandbox, "", 11 * int64(time.Second), 12 * int64(time.Second)}}
	if diff := cmp.Diff(want, SpanPhases(recs)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestWorst: an edge is as far off as the worse one of its ends.
func TestWorst(t *testing.T) {
	edges := []Edge{{Begin: 1, End: -2}, {Begin: -5, End: 1}, {Begin: 3}}
	if diff := cmp.Diff([]Edge{edges[1], edges[2]}, Worst(edges, 2)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestMixed finds records of a pod that is unknown, or whose container is another one's.
func TestMixed(t *testing.T) {
	truth := NewTruth([]trace.Record{span(1, 0, "a", 0, 1, &trace.CRICall{Method: "StartContainer", Container: "c1", Sandbox: "s1"})},
		map[string]string{"a": "shop/of-a", "b": "shop/of-b"})
	right := span(2, 0, "a", 0, 1, &trace.CRICall{Container: "c1"})
	byName := span(3, 0, "a", 0, 1, &trace.PLEGEvent{Sandbox: "s1"})
	byName.Pod.UID = ""
	wrong := span(4, 0, "b", 0, 1, &trace.CRICall{Container: "c1"})
	unknown := span(5, 0, "c", 0, 1, &trace.Log{})
	var got []trace.SpanID
	for _, r := range truth.Mixed([]trace.Record{right, byName, wrong, unknown, {Event: &trace.Log{}}}) {
		got = append(got, r.Span)
	}
	if diff := cmp.Diff([]trace.SpanID{wrong.Span, unknown.Span}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
