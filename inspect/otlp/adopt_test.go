package otlp

import (
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kubeloupe/kubeloupe/trace"
)

// TestAdopt places spans of a runtime whose calls a log told of: by ids, else by both ends of the call where only one can be meant.
func TestAdopt(t *testing.T) {
	const ms = int64(time.Millisecond)
	now := int64(time.Hour)
	of := func(pod string, id trace.SpanID, from, to int64, e trace.CRICall) []trace.Record {
		r := trace.Record{Time: now + from*ms, Edge: trace.EdgeBegin, Span: id, Trace: trace.TraceID{Lo: uint64(id)}, Pod: trace.Pod{Name: pod}, Event: &trace.CRICall{Method: e.Method}}
		end := r
		end.Time, end.Edge, end.Dur, end.Event = now+to*ms, trace.EdgeEnd, time.Duration((to-from)*ms), &e
		return []trace.Record{r, end}
	}
	sent := func(id, parent trace.SpanID, name string, from, to int64, attrs ...trace.KV) span {
		return span{trace: trace.TraceID{Hi: 9}, id: id, parent: parent, event: trace.RuntimeSpan{Name: name, Service: "containerd", Start: now + from*ms, Dur: time.Duration((to - from) * ms), Attrs: attrs}}
	}
	const run, pull, list = "runtime.v1.RuntimeService/RunPodSandbox", "runtime.v1.ImageService/PullImage", "runtime.v1.RuntimeService/ListPodSandbox"
	sandbox := func(id string) trace.KV { return trace.KV{K: trace.AttrSandbox, V: id} }
	for name, c := range map[string]struct {
		calls []trace.Record
		spans []span
		want  []string // pod, span<parent
	}{
		"by the sandbox's id, of two at once": {
			slices.Concat(of("a", 1, 0, 100, trace.CRICall{Method: "RunPodSandbox", Sandbox: "sa"}), of("b", 2, 0, 100, trace.CRICall{Method: "RunPodSandbox", Sandbox: "sb"})),
			[]span{sent(12, 11, "cni.Setup", 1, 50), sent(11, 10, "cri.sandbox.run", 1, 99, sandbox("sb")), sent(10, 77, run, 0, 100)},
			[]string{"b 10<2", "b 11<10", "b 12<11"},
		},
		"by its time": {
			slices.Concat(of("a", 1, 0, 100, trace.CRICall{Method: "PullImage"}), of("b", 2, 50, 200, trace.CRICall{Method: "PullImage"})),
			[]span{sent(11, 10, "pkg.unpack.unpacker.unpack", 60, 190), sent(10, 0, pull, 49, 201)},
			[]string{"b 10<2", "b 11<10"},
		},
		"two can be meant": {
			slices.Concat(of("a", 1, 0, 100, trace.CRICall{Method: "PullImage"}), of("b", 2, 3, 101, trace.CRICall{Method: "PullImage"})),
			[]span{sent(10, 0, pull, 1, 100)},
			nil,
		},
		"another sandbox's": {
			of("a", 1, 0, 100, trace.CRICall{Method: "RunPodSandbox", Sandbox: "sa"}),
			[]span{sent(10, 0, run, 0, 100, sandbox("sb"))},
			nil,
		},
		"another call at that time": {
			of("a", 1, 0, 100, trace.CRICall{Method: "CreateContainer", Container: "c"}),
			[]span{sent(10, 0, run, 0, 100)},
			nil,
		},
		"long after the call of its id": {
			of("a", 1, 0, 100, trace.CRICall{Method: "RunPodSandbox", Sandbox: "sa"}),
			[]span{sent(10, 0, run, 5000, 5100, sandbox("sa"))},
			nil,
		},
		"a second time for one call": {
			of("a", 1, 0, 100, trace.CRICall{Method: "RunPodSandbox", Sandbox: "sa"}),
			[]span{sent(10, 0, run, 0, 100), sent(20, 0, run, 0, 100)},
			[]string{"a 10<1"},
		},
		"no call that is written down": {
			of("a", 1, 0, 100, trace.CRICall{Method: "ListPodSandbox"}),
			[]span{sent(11, 10, "x", 1, 2), sent(10, 0, list, 0, 100)},
			nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			for _, late := range []bool{false, true} { // the call's records come after the spans
				tr := newTree()
				tr.foreign = true
				tr.now = func() time.Time { return time.Unix(0, now+6000*ms) }
				var got []string
				add := func(ready []span) {
					for _, s := range ready {
						got = append(got, s.pod.Name+" "+strconv.Itoa(int(s.id))+"<"+strconv.Itoa(int(s.parent)))
						if s.in == s.trace {
							t.Error("it is not in the call's trace")
						}
					}
				}
				if !late {
					tr.follow(c.calls)
				}
				for _, s := range c.spans {
					ready, _, _ := tr.add(s)
					add(ready)
				}
				tr.follow(c.calls)
				add(tr.retry())
				if diff := cmp.Diff(c.want, got); diff != "" {
					t.Errorf("late %v: %s", late, diff)
				}
				tr.now = func() time.Time { return time.Unix(0, now+60_000*ms) }
				if tr.retry(); len(tr.adopter.anchors) > 0 || tr.waiting.n > 0 {
					t.Errorf("late %v: %d calls and %d spans wait for ever", late, len(tr.adopter.anchors), tr.waiting.n)
				}
			}
		})
	}
}

// TestAdoptBounds: spans that belong to nothing do not pile up.
func TestAdoptBounds(t *testing.T) {
	tr := newTree()
	tr.foreign = true
	for i := range 10 * maxHeld {
		id := trace.SpanID(3*i + 1)
		tr.add(span{trace: trace.TraceID{Lo: 1 + uint64(i)}, id: id, parent: id + 1, event: trace.RuntimeSpan{Name: "x"}})
		tr.add(span{trace: trace.TraceID{Lo: 1 + uint64(i)}, id: id + 2, event: trace.RuntimeSpan{Name: "runtime.v1.RuntimeService/RunPodSandbox"}})
	}
	if tr.waiting.n > maxHeld || len(tr.adopter.anchors) > maxAnchors {
		t.Errorf("%d spans and %d calls wait", tr.waiting.n, len(tr.adopter.anchors))
	}
}
