package merge_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kubeloupe/kubeloupe/trace"
)

const ms = time.Millisecond

// spanOf is a span of a call, as its sender sent it.
func spanOf(by trace.Observer, method string, id, parent trace.SpanID, from, to time.Duration, attrs ...trace.KV) trace.Record {
	r := told{to, trace.EdgePoint, id, parent, 0, trace.Pod{}, 0, &trace.RuntimeSpan{
		Name: "runtime.v1.RuntimeService/" + method, Start: int64(time.Hour + from), Dur: to - from, Attrs: attrs,
	}}.record(by)
	r.Trace = trace.TraceID{}
	return r
}

// TestViews: a span of a call and the lines of a log about it are one, with the times of the span.
func TestViews(t *testing.T) {
	const server, client = trace.ObserverRuntimeSpan, trace.ObserverKubeletSpan
	db := trace.Pod{Namespace: "shop", Name: "db", UID: "u2"}
	// call is a call in the runtime's log, and the action that consists of it.
	call := func(id trace.SpanID, p trace.Pod, from, to time.Duration, c trace.CRICall) []told {
		b, e := trace.EdgeBegin, trace.EdgeEnd
		a := &trace.Action{ID: "of " + c.Method}
		begun := trace.CRICall{Method: c.Method}
		if c.Method != "RunPodSandbox" && c.Method != "CreateContainer" {
			begun = c
		}
		return []told{
			{from, b, id, 0, 0, p, 0, a},
			{from, b, id + 1, id, 0, p, 0, &begun},
			{to, e, id + 1, id, to - from, p, 0, &c},
			{to, e, id, 0, to - from, p, 0, a},
		}
	}
	sandbox := func(id string) trace.KV { return trace.KV{K: trace.AttrSandbox, V: id} }
	run := func(id string) trace.CRICall { return trace.CRICall{Method: "RunPodSandbox", Sandbox: id} }
	pull := trace.CRICall{Method: "PullImage", Image: "docker.io/library/nginx"}
	for name, c := range map[string]struct {
		kubelet, runtime []told
		spans            []trace.Record
		want             []string
	}{
		"by the sandbox's id, of two at once": {
			nil, append(call(1, web, 10*ms, 90*ms, run("s1")), call(5, db, 10*ms, 90*ms, run("s2"))...),
			[]trace.Record{spanOf(server, "RunPodSandbox", 1<<50, 0, 5*ms, 95*ms, sandbox("s2"))},
			[]string{
				"5ms begin pod.action 1<0 shop/db by runtime-span and runtime-log", "5ms begin cri.call 2<1 shop/db by runtime-span and runtime-log",
				"10ms begin pod.action 3<0 shop/web by runtime-log", "10ms begin cri.call 4<3 shop/web by runtime-log",
				"90ms end cri.call after 80ms 4<3 shop/web by runtime-log", "90ms end pod.action after 80ms 3<0 shop/web by runtime-log",
				"95ms end cri.call after 90ms 2<1 shop/db by runtime-span and runtime-log",
				"95ms end pod.action after 90ms 1<0 shop/db by runtime-span and runtime-log", "95ms point runtime.span shop/db by runtime-span",
			},
		},
		"the kubelet knows its action best": {
			[]told{{0, trace.EdgeBegin, 1, 0, 0, web, time.Microsecond, &trace.Action{ID: "of RunPodSandbox"}}, {100 * ms, trace.EdgeEnd, 1, 0, 100 * ms, web, time.Microsecond, &trace.Action{ID: "of RunPodSandbox"}}},
			call(1, web, 10*ms, 90*ms, run("s1")),
			[]trace.Record{spanOf(server, "RunPodSandbox", 1<<50, 0, 5*ms, 95*ms)},
			[]string{
				"0s begin pod.action 1<0 shop/web by kubelet-log and runtime-log", "5ms begin cri.call 2<1 shop/web by runtime-span and runtime-log",
				"95ms end cri.call after 90ms 2<1 shop/web by runtime-span and runtime-log", "95ms point runtime.span shop/web by runtime-span",
				"100ms end pod.action after 100ms 1<0 shop/web by kubelet-log and runtime-log",
			},
		},
		"the client's span by the server's": {
			nil, call(1, web, 30*ms, 60*ms, run("s1")),
			[]trace.Record{
				spanOf(server, "RunPodSandbox", 1<<51, 1<<50, 20*ms, 80*ms, sandbox("s1")), spanOf(client, "RunPodSandbox", 1<<50, 7, 0, 100*ms),
			},
			[]string{
				"0s begin pod.action 1<0 shop/web by kubelet-span and runtime-span,runtime-log", "0s begin cri.call 2<1 shop/web by kubelet-span and runtime-span,runtime-log",
				"80ms point runtime.span shop/web by runtime-span", "100ms end cri.call after 100ms 2<1 shop/web by kubelet-span and runtime-span,runtime-log",
				"100ms end pod.action after 100ms 1<0 shop/web by kubelet-span and runtime-span,runtime-log", "100ms point runtime.span shop/web by kubelet-span",
			},
		},
		"another image at the same time": {
			nil, call(1, web, 10*ms, 90*ms, pull),
			[]trace.Record{spanOf(server, "PullImage", 1<<50, 0, 10*ms, 90*ms, trace.KV{K: trace.AttrImage, V: "docker.io/library/redis:latest"})},
			[]string{
				"10ms begin pod.action 1<0 shop/web by runtime-log", "10ms begin cri.call 2<1 shop/web by runtime-log",
				"90ms end cri.call after 80ms 2<1 shop/web by runtime-log", "90ms end pod.action after 80ms 1<0 shop/web by runtime-log",
			},
		},
		"two pulls of one image, by their ends": {
			nil, append(call(1, web, 10*ms, 90*ms, pull), call(5, db, 50*ms, 190*ms, pull)...),
			[]trace.Record{spanOf(server, "PullImage", 1<<50, 0, 9*ms, 90*ms, trace.KV{K: trace.AttrImage, V: "docker.io/library/nginx:latest"})},
			[]string{
				"9ms begin pod.action 1<0 shop/web by runtime-span and runtime-log", "9ms begin cri.call 2<1 shop/web by runtime-span and runtime-log",
				"50ms begin pod.action 3<0 shop/db by runtime-log", "50ms begin cri.call 4<3 shop/db by runtime-log",
				"90ms end cri.call after 81ms 2<1 shop/web by runtime-span and runtime-log",
				"90ms end pod.action after 81ms 1<0 shop/web by runtime-span and runtime-log", "90ms point runtime.span shop/web by runtime-span",
				"190ms end cri.call after 140ms 4<3 shop/db by runtime-log", "190ms end pod.action after 140ms 3<0 shop/db by runtime-log",
			},
		},
		"two are possible": {
			nil, append(call(1, web, 10*ms, 90*ms, pull), call(5, db, 11*ms, 91*ms, pull)...),
			[]trace.Record{spanOf(server, "PullImage", 1<<50, 0, 10*ms, 90*ms)},
			[]string{
				"10ms begin pod.action 1<0 shop/web by runtime-log", "10ms begin cri.call 2<1 shop/web by runtime-log",
				"11ms begin pod.action 3<0 shop/db by runtime-log", "11ms begin cri.call 4<3 shop/db by runtime-log",
				"90ms end cri.call after 80ms 2<1 shop/web by runtime-log", "90ms end pod.action after 80ms 1<0 shop/web by runtime-log",
				"91ms end cri.call after 80ms 4<3 shop/db by runtime-log", "91ms end pod.action after 80ms 3<0 shop/db by runtime-log",
			},
		},
		"long after the call of its id": {
			nil, call(1, web, 10*ms, 90*ms, run("s1")),
			[]trace.Record{spanOf(server, "RunPodSandbox", 1<<50, 0, 5*time.Second, 6*time.Second, sandbox("s1"))},
			[]string{
				"10ms begin pod.action 1<0 shop/web by runtime-log", "10ms begin cri.call 2<1 shop/web by runtime-log",
				"90ms end cri.call after 80ms 2<1 shop/web by runtime-log", "90ms end pod.action after 80ms 1<0 shop/web by runtime-log",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			recs, _ := merged(records(c.kubelet, trace.ObserverKubeletLog), records(c.runtime, trace.ObserverRuntimeLog), c.spans)
			if diff := cmp.Diff(c.want, inWords(t, ofOneTrace(recs))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestViewOfStart: a pod has started when the span of its last container's start says, if the kubelet's log has that to a second.
func TestViewOfStart(t *testing.T) {
	const b, e, p = trace.EdgeBegin, trace.EdgeEnd, trace.EdgePoint
	start, call := &trace.Action{ID: "start web", Verb: trace.VerbStart, Container: "web"}, &trace.CRICall{Method: "StartContainer", Container: "c1"}
	kubelet := []told{{1400 * ms, p, 1, 0, 0, web, time.Second, &trace.Milestone{Name: trace.MilestoneStarted}}}
	runtime := []told{
		{500 * ms, b, 1, 0, 0, web, 0, start},
		{500 * ms, b, 2, 1, 0, web, 0, call},
		{700 * ms, e, 2, 1, 200 * ms, web, 0, call},
		{700 * ms, e, 1, 0, 200 * ms, web, 0, start},
		{700 * ms, p, 3, 0, 0, web, 0, &trace.Milestone{Name: trace.MilestoneStarted}},
	}
	span := spanOf(trace.ObserverRuntimeSpan, "StartContainer", 1<<50, 0, 490*ms, 710*ms, trace.KV{K: trace.AttrContainer, V: "c1"})
	for name, n := range map[string]int{"the kubelet tells it": 4, "both tell it": 5} {
		t.Run(name, func(t *testing.T) {
			recs, _ := merged(records(kubelet, trace.ObserverKubeletLog), records(runtime[:n], trace.ObserverRuntimeLog), []trace.Record{span})
			for i := range recs {
				if _, ok := recs[i].Event.(*trace.Milestone); ok {
					if at := time.Duration(recs[i].Time) - time.Hour; at != 710*ms || recs[i].Observer != trace.ObserverRuntimeSpan {
						t.Errorf("it has started at %v by %v", at, recs[i].Observer)
					}
				}
			}
		})
	}
}

// records are records of an observer, in the order of their times.
func records(all []told, by trace.Observer) (out []trace.Record) {
	for _, o := range all {
		out = append(out, o.record(by))
	}
	return out
}

// ofOneTrace forgets traces.
func ofOneTrace(recs []trace.Record) []trace.Record {
	for i := range recs {
		recs[i].Trace = trace.TraceID{}
	}
	return recs
}

// TestSyncs: a sync that the kubelet's log and its span show is one.
func TestSyncs(t *testing.T) {
	const b, e = trace.EdgeBegin, trace.EdgeEnd
	sync := func(why trace.SyncWhy, err string) *trace.Sync { return &trace.Sync{Why: why, Err: err} }
	span := func(id trace.SpanID, from, to time.Duration, s *trace.Sync) trace.Record {
		s.Cause = "update"
		return told{to, e, id, 0, to - from, web, 0, s}.record(trace.ObserverKubeletSpan)
	}
	for name, c := range map[string]struct {
		log  []told
		span []trace.Record
		want []string
	}{
		"at V4": {
			[]told{
				{1 * ms, b, 1, 0, 0, web, time.Microsecond, sync(trace.SyncAgain, "")},
				{50 * ms, b, 9, 1, 0, web, time.Microsecond, &trace.Action{ID: "sandbox"}},
				{99 * ms, e, 1, 0, 98 * ms, web, time.Microsecond, sync(trace.SyncAgain, "")},
				{120 * ms, b, 2, 0, 0, web, time.Microsecond, sync(trace.SyncAgain, "")},
				{130 * ms, e, 2, 0, 10 * ms, web, time.Microsecond, sync(trace.SyncAgain, "")},
			},
			[]trace.Record{span(1<<50, 0, 100*ms, sync(trace.SyncCreate, "")), span(1<<51, 119*ms, 131*ms, sync(trace.SyncAgain, ""))},
			[]string{
				"0s begin pod.sync 1<0 shop/web by kubelet-span and kubelet-log", "50ms begin pod.action 2<1 shop/web by kubelet-log",
				"100ms end pod.sync after 100ms 1<0 shop/web by kubelet-span and kubelet-log",
				"119ms begin pod.sync 3<0 shop/web by kubelet-span and kubelet-log", "131ms end pod.sync after 12ms 3<0 shop/web by kubelet-span and kubelet-log",
			},
		},
		"at V2": {
			nil,
			[]trace.Record{span(1<<50, 0, 100*ms, sync(trace.SyncAgain, ""))},
			[]string{"0s begin pod.sync 1<0 shop/web by kubelet-span", "100ms end pod.sync after 100ms 1<0 shop/web by kubelet-span"},
		},
		"that failed, at V2": {
			[]told{{1001 * ms, e, 1, 0, 0, web, time.Microsecond, sync(trace.SyncRetry, "no network")}},
			[]trace.Record{span(1<<50, 0, 1000*ms, sync(trace.SyncAgain, "no network"))},
			[]string{"0s begin pod.sync 1<0 shop/web by kubelet-span", "1s end pod.sync after 1s 1<0 shop/web by kubelet-span and kubelet-log"},
		},
		"another kind": {
			[]told{{1 * ms, b, 1, 0, 0, web, time.Microsecond, sync(trace.SyncKill, "")}, {3 * ms, e, 1, 0, 2 * ms, web, time.Microsecond, sync(trace.SyncKill, "")}},
			[]trace.Record{span(1<<50, 2*ms, 4*ms, sync(trace.SyncAgain, ""))},
			[]string{
				"1ms begin pod.sync 1<0 shop/web by kubelet-log", "2ms begin pod.sync 2<0 shop/web by kubelet-span",
				"3ms end pod.sync after 2ms 1<0 shop/web by kubelet-log", "4ms end pod.sync after 2ms 2<0 shop/web by kubelet-span",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			for _, spanFirst := range []bool{false, true} {
				all := [][]trace.Record{records(c.log, trace.ObserverKubeletLog), c.span}
				if spanFirst {
					all[0], all[1] = all[1], all[0]
				}
				recs, _ := merged(all...)
				if diff := cmp.Diff(c.want, inWords(t, ofOneTrace(recs))); diff != "" {
					t.Errorf("span first %v (-want +got):\n%s", spanFirst, diff)
				}
				for i := range recs {
					if s, ok := recs[i].Event.(*trace.Sync); ok && recs[i].Edge == e && recs[i].Observer == trace.ObserverKubeletSpan && s.Cause == "" {
						t.Errorf("%v: its cause is lost", recs[i])
					}
				}
			}
		})
	}
}
