package otlp

import (
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kubeloupe/kubeloupe/trace"
)

const (
	ms     = int64(time.Millisecond)
	runBox = "runtime.v1.RuntimeService/RunPodSandbox"
)

// sent is a span that begins and ends so many milliseconds after the epoch's first hour.
func sent(id, parent trace.SpanID, name string, from, to int64, attrs ...trace.KV) span {
	return span{
		trace: trace.TraceID{Hi: 9}, id: id, parent: parent, observer: trace.ObserverRuntimeSpan,
		event: trace.RuntimeSpan{Name: name, Start: int64(time.Hour) + from*ms, Dur: time.Duration((to - from) * ms), Attrs: attrs},
	}
}

// TestAdopt passes spans of calls on, and places those below them once they are back with their pod.
func TestAdopt(t *testing.T) {
	box := trace.KV{K: trace.AttrSandbox, V: "sb"}
	for name, c := range map[string]struct {
		spans []span
		back  trace.SpanID // the span that comes back
		want  []string     // what is passed on, and what is published: pod, span<parent
	}{
		"with what is below, and the sandbox's id": {
			[]span{sent(12, 11, "cni.Setup", 1, 50), sent(11, 10, "cri.sandbox.run", 1, 99, box), sent(10, 77, runBox, 0, 100)},
			10,
			[]string{"pass 10<77 sb", "web 11<10", "web 12<11"},
		},
		"below a client's span": {
			[]span{sent(11, 10, runBox, 1, 99), sent(10, 0, runBox, 0, 100)}, 10, []string{"pass 11<10 ", "pass 10<0 "},
		},
		"what comes later": {
			[]span{sent(10, 0, runBox, 0, 100), sent(12, 11, "b", 1, 2), sent(11, 10, "a", 1, 2)}, 10, []string{"pass 10<0 ", "web 11<10", "web 12<11"},
		},
		"outside its call": {
			[]span{sent(10, 0, runBox, 0, 100), sent(11, 10, "a", 5000, 5001)}, 10, []string{"pass 10<0 "},
		},
		"it does not come back": {
			[]span{sent(11, 10, "a", 1, 2), sent(10, 0, runBox, 0, 100)}, 0, []string{"pass 10<0 "},
		},
		"a call that only reads": {
			[]span{sent(11, 10, "a", 1, 2), sent(10, 0, "runtime.v1.RuntimeService/ListPodSandbox", 0, 100), sent(12, 10, "b", 1, 2)}, 10, nil,
		},
		"in the future": {[]span{sent(10, 0, runBox, 0, 8000)}, 10, nil},
		"long ago":      {[]span{sent(10, 0, runBox, -400_000, -300_000)}, 10, nil},
		"twice": {
			[]span{sent(10, 0, runBox, 0, 100), sent(10, 0, runBox, 0, 100)}, 10, []string{"pass 10<0 "},
		},
	} {
		t.Run(name, func(t *testing.T) {
			for _, late := range []bool{false, true} { // whether the call's span is back before the last span comes
				var got []string
				tr := newTree()
				now := time.Unix(0, int64(time.Hour)+6000*ms)
				tr.now = func() time.Time { return now }
				tr.foreign = newAdopter(func(r trace.Record) {
					id, from := "", 0
					if e, ok := r.Event.(*trace.RuntimeSpan); ok {
						for _, a := range e.Attrs {
							switch {
							case a.K == trace.AttrSandbox:
								id = a.V
							case a.K == trace.AttrTrace && a.V == (trace.TraceID{Hi: 9}).String():
								from++
							}
						}
					}
					if from != 1 {
						t.Errorf("it says %d times in which trace the sender had it", from)
					}
					got = append(got, "pass "+strconv.Itoa(int(r.Span))+"<"+strconv.Itoa(int(r.Parent))+" "+id)
				})
				add := func(ready []span) {
					for _, s := range ready {
						got = append(got, s.pod.Name+" "+strconv.Itoa(int(s.id))+"<"+strconv.Itoa(int(s.parent)))
						if s.in != (trace.TraceID{Lo: 7}) {
							t.Error("it is not in the pod's trace")
						}
					}
				}
				back := []trace.Record{{
					Span: c.back, Trace: trace.TraceID{Lo: 7}, Pod: trace.Pod{Name: "web"}, Event: &trace.RuntimeSpan{Start: int64(time.Hour), Dur: 100 * time.Millisecond},
				}}
				for i, s := range c.spans {
					if late && i == len(c.spans)-1 {
						add(tr.follow(back))
					}
					ready, _, _ := tr.add(s)
					add(ready)
				}
				add(tr.follow(back))
				if diff := cmp.Diff(c.want, got); diff != "" {
					t.Errorf("late %v: %s", late, diff)
				}
				now = now.Add(2 * anchorTime)
				if tr.follow(nil); len(tr.foreign.anchors) > 0 || len(tr.foreign.order) > 0 || tr.waiting.n > 0 {
					t.Errorf("late %v: %d calls and %d spans wait for ever", late, len(tr.foreign.anchors), tr.waiting.n)
				}
			}
		})
	}
}

// TestAdoptBounds: spans that belong to nothing do not pile up.
func TestAdoptBounds(t *testing.T) {
	tr := newTree()
	tr.foreign = newAdopter(func(trace.Record) {})
	tr.now = func() time.Time { return time.Unix(0, 0) }
	for i := range 10 * maxHeld {
		id := trace.SpanID(3*i + 1)
		tr.add(span{trace: trace.TraceID{Lo: 1 + uint64(i)}, id: id, parent: id + 1, event: trace.RuntimeSpan{Name: "x"}})
		tr.add(span{trace: trace.TraceID{Lo: 1 + uint64(i)}, id: id + 2, event: trace.RuntimeSpan{Name: runBox}})
	}
	if tr.waiting.n > maxHeld || len(tr.foreign.anchors) > maxAnchors || len(tr.foreign.order) > maxAnchors {
		t.Errorf("%d spans and %d calls wait", tr.waiting.n, len(tr.foreign.anchors))
	}
}

// TestWork makes records of the kubelet's own spans.
func TestWork(t *testing.T) {
	of := func(pod string) []trace.KV {
		return []trace.KV{{K: attrPodUID, V: "u"}, {K: attrPodName, V: pod}, {K: attrPodNamespace, V: "shop"}, {K: attrUpdateType, V: "create"}}
	}
	var got []trace.Record
	tr := newTree()
	tr.foreign = newAdopter(func(r trace.Record) { got = append(got, r) })
	tr.now = func() time.Time { return time.Unix(0, int64(time.Hour+time.Second)) }
	for i, s := range []span{
		sent(0, 0, "syncPod", 0, 100, of("web")...),
		sent(0, 0, "syncTerminatingPod", 200, 300, of("web")...),
		sent(0, 0, "syncTerminatedPod", 400, 500, of("web")...),
		sent(0, 0, "Images/GarbageCollect", 600, 700),
		sent(0, 0, "syncPod", 0, 100),                  // of no pod
		sent(0, 0, "HTTP PATCH", 0, 100, of("web")...), // no work on a pod
	} {
		s.id, s.observer, s.event.Err = trace.SpanID(i+1), trace.ObserverKubeletSpan, "it failed"
		tr.add(s)
	}
	other := sent(9, 0, "syncPod", 0, 100, of("web")...) // another program's
	tr.add(other)
	web := trace.Pod{Namespace: "shop", Name: "web", UID: "u"}
	at := func(to int64, id trace.SpanID, p trace.Pod, e trace.Event) trace.Record {
		return trace.Record{
			Time: int64(time.Hour) + to*ms, Dur: 100 * time.Millisecond, Edge: trace.EdgeEnd, Span: id, Observer: trace.ObserverKubeletSpan, Pod: p, Event: e,
		}
	}
	want := []trace.Record{
		at(100, 1, web, &trace.Sync{Why: trace.SyncCreate, Cause: "create", Err: "it failed"}),
		at(300, 2, web, &trace.Sync{Why: trace.SyncKill, Err: "it failed"}),
		at(500, 3, web, &trace.Sync{Why: trace.SyncFinish, Err: "it failed"}),
		at(700, 4, trace.Pod{}, &trace.GC{What: trace.GCImages, Err: "it failed"}),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestLag is the longest delay of the last minutes, and no more than senders need.
func TestLag(t *testing.T) {
	var l lag
	at := time.Unix(0, 0).Add(time.Hour)
	saw := func(after, late, want time.Duration) {
		t.Helper()
		at = at.Add(after)
		if l.saw(at, late); l.most(at) != want {
			t.Errorf("%v, want %v", l.most(at), want)
		}
	}
	saw(0, time.Second, time.Second)
	saw(time.Second, 5*time.Second, 5*time.Second)
	saw(time.Second, time.Hour, 5*time.Second)
	saw(lagFor, time.Second, 5*time.Second)
	saw(lagFor, time.Second, time.Second)
	if got := l.most(at.Add(3 * lagFor)); got != 0 {
		t.Errorf("%v after a long time without spans", got)
	}
}
