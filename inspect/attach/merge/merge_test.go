package merge_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kubeloupe/kubeloupe/inspect/attach/merge"
	"github.com/kubeloupe/kubeloupe/trace"
)

var web = trace.Pod{Namespace: "shop", Name: "web", UID: "u1"}

// told is a record of an observer; parents are ids.
type told struct {
	at        time.Duration
	edge      trace.Edge
	id        trace.SpanID
	parent    trace.SpanID
	dur       time.Duration
	pod       trace.Pod
	precision time.Duration
	event     trace.Event
}

func (o told) record(by trace.Observer) trace.Record {
	return trace.Record{
		Time: int64(time.Hour + o.at), Edge: o.edge, Span: o.id, Parent: o.parent, Dur: o.dur, Pod: o.pod, Observer: by, Precision: trace.PrecisionOf(o.precision),
		Trace: trace.TraceID{Hi: uint64(by) + 1, Lo: 1}, Event: o.event,
	}
}

// merge2 merges what a kubelet's log and a runtime's log tell; it returns what comes out, in words with ids counted from 1.
func merge2(t *testing.T, kubelet, runtime []told) ([]string, merge.Report) {
	t.Helper()
	var k, r []trace.Record
	for _, o := range kubelet {
		k = append(k, o.record(trace.ObserverKubeletLog))
	}
	for _, o := range runtime {
		r = append(r, o.record(trace.ObserverRuntimeLog))
	}
	recs, rep := merged(k, r)
	return inWords(t, recs), rep
}

// inWords is what records say, with ids counted from 1.
func inWords(t *testing.T, recs []trace.Record) []string {
	t.Helper()
	ids := map[trace.SpanID]int{0: 0}
	no := func(id trace.SpanID) int {
		if _, ok := ids[id]; !ok {
			ids[id] = len(ids)
		}
		return ids[id]
	}
	var out []string
	for i := range recs {
		rec := &recs[i]
		s := fmt.Sprintf("%v %v %v", time.Duration(rec.Time)-time.Hour, rec.Edge, rec.Event.Kind())
		if rec.Edge == trace.EdgeEnd {
			s += " after " + rec.Dur.String()
		}
		if rec.Edge != trace.EdgePoint {
			s += fmt.Sprintf(" %d<%d", no(rec.Span), no(rec.Parent))
		}
		s += " " + rec.Pod.String() + " by " + rec.Observer.String()
		if rec.Also != 0 {
			s += " and " + rec.Also.String()
		}
		if rec.Pod.Name != "" && rec.Trace != recs[0].Trace {
			t.Errorf("%s: has another trace", s)
		}
		out = append(out, s)
	}
	return out
}

func TestMerge(t *testing.T) {
	const ms = time.Millisecond
	b, e, p := trace.EdgeBegin, trace.EdgeEnd, trace.EdgePoint
	create := &trace.Action{ID: "create app", Verb: trace.VerbCreate}
	start := &trace.Action{ID: "start first", Verb: trace.VerbStart, Container: "first"}
	call := &trace.CRICall{Method: "CreateContainer", Sandbox: "s"}
	seen, started, ready := &trace.Milestone{Name: trace.MilestoneSeen}, &trace.Milestone{Name: trace.MilestoneStarted}, &trace.Milestone{Name: trace.MilestoneReady}
	pull := &trace.ImagePull{Image: "docker.io/library/nginx"}
	pulled := &trace.ImagePull{Image: "nginx:latest", Bytes: 7}
	for name, c := range map[string]struct {
		kubelet, runtime []told
		want             []string
		report           merge.Report
	}{
		"a call below the kubelet's action": {
			[]told{{0, b, 1, 0, 0, web, time.Microsecond, create}, {100 * ms, e, 1, 0, 100 * ms, web, time.Microsecond, create}},
			[]told{
				{10 * ms, b, 1, 0, 0, web, 0, create},
				{10 * ms, b, 2, 1, 0, web, 0, call},
				{90 * ms, e, 2, 1, 80 * ms, web, 0, call},
				{90 * ms, e, 1, 0, 80 * ms, web, 0, create},
			},
			[]string{
				"0s begin pod.action 1<0 shop/web by kubelet-log and runtime-log", "10ms begin cri.call 2<1 shop/web by runtime-log",
				"90ms end cri.call after 80ms 2<1 shop/web by runtime-log", "100ms end pod.action after 100ms 1<0 shop/web by kubelet-log and runtime-log",
			},
			merge.Report{Shared: 1},
		},
		"an action of which the kubelet knows little": {
			[]told{{900 * ms, b, 1, 0, 0, web, time.Second, create}, {950 * ms, e, 1, 0, 50 * ms, web, time.Second, create}},
			[]told{{10 * ms, b, 1, 0, 0, web, 0, create}, {90 * ms, e, 1, 0, 80 * ms, web, 0, create}},
			[]string{"10ms begin pod.action 1<0 shop/web by runtime-log and kubelet-log", "90ms end pod.action after 80ms 1<0 shop/web by runtime-log and kubelet-log"},
			merge.Report{Shared: 1},
		},
		"only the runtime knows": {
			[]told{{0, p, 1, 0, 0, web, 0, seen}},
			[]told{{10 * ms, b, 1, 0, 0, web, 0, create}, {90 * ms, e, 1, 0, 80 * ms, web, 0, create}},
			[]string{
				"0s point pod.milestone shop/web by kubelet-log", "10ms begin pod.action 1<0 shop/web by runtime-log", "90ms end pod.action after 80ms 1<0 shop/web by runtime-log",
			},
			merge.Report{},
		},
		"a pull that names no pod": {
			[]told{{0, b, 1, 0, 0, web, time.Microsecond, pull}, {100 * ms, e, 1, 0, 100 * ms, web, time.Microsecond, pull}},
			[]told{
				{10 * ms, b, 1, 0, 0, trace.Pod{}, 0, pulled},
				{10 * ms, b, 2, 1, 0, trace.Pod{}, 0, &trace.CRICall{Method: "PullImage"}},
				{90 * ms, e, 2, 1, 80 * ms, trace.Pod{}, 0, &trace.CRICall{Method: "PullImage"}},
				{90 * ms, e, 1, 0, 80 * ms, trace.Pod{}, 0, pulled},
			},
			[]string{
				"0s begin image.pull 1<0 shop/web by kubelet-log and runtime-log", "10ms begin cri.call 2<1 shop/web by runtime-log",
				"90ms end cri.call after 80ms 2<1 shop/web by runtime-log", "100ms end image.pull after 100ms 1<0 shop/web by kubelet-log and runtime-log",
			},
			merge.Report{Shared: 1, Disagreed: 0},
		},
		"the runtime knows better when it started": {
			[]told{{0, p, 1, 0, 0, web, 0, seen}, {900 * ms, p, 2, 0, 0, web, time.Second, started}, {900 * ms, p, 3, 0, 0, web, time.Second, ready}},
			[]told{{200 * ms, p, 1, 0, 0, web, 0, started}, {time.Minute, p, 2, 0, 0, web, 0, &trace.Milestone{Name: trace.MilestoneGone}}},
			[]string{
				"0s point pod.milestone shop/web by kubelet-log", "200ms point pod.milestone shop/web by runtime-log and kubelet-log",
				"200ms point pod.milestone shop/web by runtime-log and kubelet-log",
			},
			merge.Report{Shared: 1},
		},
		"one pod, of which the kubelet's log has no UID": {
			[]told{{0, p, 1, 0, 0, trace.Pod{Namespace: "shop", Name: "web"}, 0, seen}},
			[]told{{10 * ms, b, 1, 0, 0, web, 0, create}},
			[]string{"0s point pod.milestone shop/web by kubelet-log", "10ms begin pod.action 1<0 shop/web by runtime-log"},
			merge.Report{},
		},
		"what the kubelet finds late": {
			[]told{{900 * ms, p, 1, 0, 0, web, time.Second, &trace.PLEGEvent{Type: trace.ContainerDied, Container: "c1", From: trace.PLEGRelists}}},
			[]told{{200 * ms, p, 1, 0, 0, web, 0, &trace.PLEGEvent{Type: trace.ContainerDied, Container: "c1", From: trace.PLEGEvented}}},
			[]string{
				"200ms point pleg.event shop/web by runtime-log", "900ms end pod.wait after 700ms 1<0 shop/web by runtime-log and kubelet-log",
				"900ms point pleg.event shop/web by kubelet-log",
			},
			merge.Report{},
		},
		"observers that disagree": {
			[]told{{0, b, 1, 0, 0, web, time.Microsecond, pull}, {100 * ms, e, 1, 0, 100 * ms, web, time.Microsecond, pull}},
			[]told{{10 * ms, b, 1, 0, 0, trace.Pod{}, 0, pulled}, {400 * ms, e, 1, 0, 390 * ms, trace.Pod{}, 0, pulled}},
			[]string{"0s begin image.pull 1<0 shop/web by kubelet-log and runtime-log", "100ms end image.pull after 100ms 1<0 shop/web by kubelet-log and runtime-log"},
			merge.Report{Shared: 1, Disagreed: 1, Most: 300 * ms, What: "shop/web image.pull ends"},
		},
		"an init container runs from the end of its start on": {
			[]told{{0, b, 1, 0, 0, web, time.Microsecond, start}, {102 * ms, e, 1, 0, 102 * ms, web, time.Microsecond, start}},
			[]told{
				{0, b, 1, 0, 0, web, 0, start},
				{100 * ms, e, 1, 0, 100 * ms, web, 0, start},
				{500 * ms, e, 2, 0, 400 * ms, web, 0, &trace.Wait{For: trace.WaitInit, Target: trace.Target{Kind: trace.TargetInitContainer, Name: "first"}}},
			},
			[]string{
				"0s begin pod.action 1<0 shop/web by kubelet-log and runtime-log", "102ms end pod.action after 102ms 1<0 shop/web by kubelet-log and runtime-log",
				"500ms end pod.wait after 398ms 2<0 shop/web by runtime-log",
			},
			merge.Report{Shared: 1},
		},
		"the same again, later": {
			[]told{{0, b, 1, 0, 0, web, 0, create}, {100 * ms, e, 1, 0, 100 * ms, web, 0, create}},
			[]told{{10 * time.Second, b, 1, 0, 0, web, 0, create}, {11 * time.Second, e, 1, 0, time.Second, web, 0, create}},
			[]string{
				"0s begin pod.action 1<0 shop/web by kubelet-log", "100ms end pod.action after 100ms 1<0 shop/web by kubelet-log",
				"10s begin pod.action 2<0 shop/web by runtime-log", "11s end pod.action after 1s 2<0 shop/web by runtime-log",
			},
			merge.Report{},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, rep := merge2(t, c.kubelet, c.runtime)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if rep != c.report {
				t.Errorf("report %+v, want %+v", rep, c.report)
			}
		})
	}
}

// TestPoll: a wait for the kubelet's next look says what it is for.
func TestPoll(t *testing.T) {
	died := func(at time.Duration, from trace.PLEGFrom, by trace.Observer) []trace.Record {
		return []trace.Record{told{at, trace.EdgePoint, 1, 0, 0, web, 0, &trace.PLEGEvent{Type: trace.ContainerDied, Container: "c1", From: from}}.record(by)}
	}
	recs, _ := merged(died(time.Second, trace.PLEGRelists, trace.ObserverKubeletLog), died(0, trace.PLEGEvented, trace.ObserverRuntimeLog))
	for i := range recs {
		if w, ok := recs[i].Event.(*trace.Wait); ok {
			if w.For != trace.WaitPoll || w.Target.Kind != trace.TargetPLEG || w.Every != time.Second {
				t.Errorf("got %+v", w)
			}
			return
		}
	}
	t.Error("there is no wait")
}

// TestLiveStart: a kubelet knows to a second when a pod has started, and the runtime only later that this was the last container. The end of
// that container's start tells when it was.
func TestLiveStart(t *testing.T) {
	action := &trace.Action{ID: "start c", Verb: trace.VerbStart, Container: "c"}
	for name, c := range map[string]struct {
		ended time.Duration // the start of the container
		first bool          // it is told first
		want  time.Duration
		by    trace.Observer
	}{
		"told first":  {1700 * time.Millisecond, true, 1700 * time.Millisecond, trace.ObserverRuntimeLog},
		"told second": {1700 * time.Millisecond, false, 1700 * time.Millisecond, trace.ObserverRuntimeLog},
		"too early":   {1300 * time.Millisecond, true, 2400 * time.Millisecond, trace.ObserverKubeletLog},
		"too late":    {2500 * time.Millisecond, true, 2400 * time.Millisecond, trace.ObserverKubeletLog},
	} {
		t.Run(name, func(t *testing.T) {
			m := merge.New(merge.Options{})
			k, r := m.Input(), m.Input()
			runtime := told{c.ended, trace.EdgeEnd, 2, 0, time.Millisecond, web, 0, action}.record(trace.ObserverRuntimeLog)
			if c.first {
				r.Put(runtime)
			}
			k.Put(told{2400 * time.Millisecond, trace.EdgePoint, 1, 0, 0, web, time.Second, &trace.Milestone{Name: trace.MilestoneStarted}}.record(trace.ObserverKubeletLog))
			if !c.first {
				r.Put(runtime)
			}
			k.Close()
			r.Close()
			n := 0
			for rec, _, ok := m.Next(); ok; rec, _, ok = m.Next() {
				if _, ok := rec.Event.(*trace.Milestone); ok {
					if at := time.Duration(rec.Time) - time.Hour; at != c.want || rec.Observer != c.by {
						t.Errorf("it has started at %v by %v, want %v by %v", at, rec.Observer, c.want, c.by)
					}
					n++
				}
			}
			if n != 1 {
				t.Errorf("%d starts", n)
			}
		})
	}
}

// TestLive: an input whose time does not go on holds the others back; one that says its time does not.
func TestLive(t *testing.T) {
	m := merge.New(merge.Options{Window: time.Second})
	a, b := m.Input(), m.Input()
	a.Put(told{0, trace.EdgePoint, 1, 0, 0, web, 0, &trace.Log{Message: "x"}}.record(trace.ObserverKubeletLog))
	a.Until(int64(2 * time.Hour))
	if _, _, ok := m.Next(); ok {
		t.Error("a record comes out while another input may have an older one")
	}
	b.Lost(3)
	b.Until(int64(2 * time.Hour))
	if r, _, ok := m.Next(); !ok || r.Seq != 1 {
		t.Errorf("got %+v, %v", r, ok)
	}
	if n := m.Gaps(); n != 3 {
		t.Errorf("%d missing, want 3", n)
	}
	for range merge.Inputs {
		b = m.Input()
	}
	if b != nil {
		t.Error("there are more inputs than there may be")
	}
}
