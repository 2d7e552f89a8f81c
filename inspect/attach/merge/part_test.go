package merge_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kubeloupe/kubeloupe/trace"
)

// TestParts merges what a runtime's events tell with its log: an exit is one record, parts of calls come below the calls, with their
// beginnings, and layers below the pull that went on, which is told to be a pod's later.
func TestParts(t *testing.T) {
	const ms = time.Millisecond
	b, e, p := trace.EdgeBegin, trace.EdgeEnd, trace.EdgePoint
	of := func(attr, id string) []trace.KV { return []trace.KV{{K: attr, V: id}} }
	died := &trace.PLEGEvent{Type: trace.ContainerDied, Container: "c", Name: "app", From: trace.PLEGEvented}
	at := func(d time.Duration) int64 { return int64(time.Hour + d) }
	start := &trace.CRICall{Method: "StartContainer", Container: "c"}
	run := &trace.CRICall{Method: "RunPodSandbox"}
	arrived := func(id string) *trace.RuntimeSpan {
		return &trace.RuntimeSpan{Name: trace.SpanLayerArrived, Attrs: of(trace.AttrLayerDigest, id)}
	}
	for name, c := range map[string]struct {
		log, events []told
		want        []string
	}{
		"an exit": {
			[]told{{0, p, 1, 0, 0, web, 0, died}},
			[]told{{0, p, 1, 0, 0, web, 0, died}},
			[]string{"0s pleg.event shop/web by runtime-log and runtime-events"},
		},
		"a sandbox's task": {
			[]told{{0, b, 1, 0, 0, web, 0, run}, {90 * ms, e, 1, 0, 90 * ms, web, 0, run}},
			[]told{
				{50 * ms, p, 1, 0, 0, web, 0, &trace.RuntimeSpan{Name: trace.SpanNewTask, Start: at(20 * ms), Dur: 30 * ms, Attrs: of(trace.AttrSandbox, "s")}},
				{200 * ms, p, 2, 0, 0, web, 0, &trace.RuntimeSpan{Name: trace.SpanNewTask, Start: at(120 * ms), Dur: 80 * ms, Attrs: of(trace.AttrSandbox, "s")}}, // of a call that nobody told of
			},
			[]string{
				"0s cri.call 1<0 shop/web by runtime-log",
				"50ms runtime.span container.NewTask 20ms+30ms 2<1 shop/web by runtime-events",
				"90ms cri.call 1<0 shop/web by runtime-log",
			},
		},
		"a container's task begins with its call": {
			[]told{{10 * ms, b, 1, 0, 0, web, 0, start}, {90 * ms, e, 1, 0, 80 * ms, web, 0, start}},
			[]told{{50 * ms, p, 1, 0, 0, web, 0, &trace.RuntimeSpan{Name: trace.SpanNewTask, Attrs: of(trace.AttrContainer, "c")}}},
			[]string{
				"10ms cri.call 1<0 shop/web by runtime-log", "50ms runtime.span container.NewTask 10ms+40ms 2<1 shop/web by runtime-events",
				"90ms cri.call 1<0 shop/web by runtime-log",
			},
		},
		"layers": {
			[]told{
				{0, b, 1, 0, 0, trace.Pod{}, 0, &trace.ImagePull{Image: "one:1"}},
				{0, b, 9, 1, 0, trace.Pod{}, 0, &trace.CRICall{Method: "PullImage"}},
				{60 * ms, e, 1, 0, 60 * ms, web, 0, &trace.ImagePull{Image: "one:1"}},
				{100 * ms, b, 2, 0, 0, web, 0, &trace.ImagePull{Image: "two:1"}},
				{110 * ms, b, 3, 0, 0, web, 0, &trace.ImagePull{Image: "three:1"}},
				{190 * ms, e, 2, 0, 90 * ms, web, 0, &trace.ImagePull{Image: "two:1"}},
				{195 * ms, e, 3, 0, 85 * ms, web, 0, &trace.ImagePull{Image: "three:1"}},
			},
			[]told{
				{50 * ms, p, 1, 0, 0, trace.Pod{}, 0, arrived("l1")},
				{55 * ms, p, 2, 0, 0, trace.Pod{}, 0, &trace.RuntimeSpan{Name: trace.SpanLayerUnpacked, Start: at(5 * ms), Dur: 50 * ms}},
				{150 * ms, p, 3, 0, 0, trace.Pod{}, 0, arrived("whose")},
				{300 * ms, p, 4, 0, 0, trace.Pod{}, 0, arrived("nobody's")},
			},
			[]string{
				"0s image.pull 1<0  by runtime-log", "0s cri.call 2<1  by runtime-log", "60ms image.pull 1<0 shop/web by runtime-log",
				"60ms runtime.span layer arrived 0s+50ms 3<2 shop/web by runtime-events", "60ms runtime.span layer unpacked 5ms+50ms 4<2 shop/web by runtime-events",
				"100ms image.pull 5<0 shop/web by runtime-log", "110ms image.pull 6<0 shop/web by runtime-log",
				"190ms image.pull 5<0 shop/web by runtime-log", "195ms image.pull 6<0 shop/web by runtime-log",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var log, events []trace.Record
			for _, o := range c.log {
				log = append(log, o.record(trace.ObserverRuntimeLog))
			}
			for _, o := range c.events {
				events = append(events, o.record(trace.ObserverRuntimeEvents))
			}
			recs, _ := merged(log, events)
			ids := map[trace.SpanID]int{0: 0}
			no := func(id trace.SpanID) int {
				if _, ok := ids[id]; !ok {
					ids[id] = len(ids)
				}
				return ids[id]
			}
			var got []string
			for i := range recs {
				r := &recs[i]
				s := fmt.Sprintf("%v %v", time.Duration(r.Time)-time.Hour, r.Event.Kind())
				if e, ok := r.Event.(*trace.RuntimeSpan); ok {
					s += fmt.Sprintf(" %s %v+%v", e.Name, time.Duration(e.Start)-time.Hour, e.Dur)
				}
				if r.Edge != trace.EdgePoint || r.Parent != 0 {
					s += fmt.Sprintf(" %d<%d", no(r.Span), no(r.Parent))
				}
				s += " " + r.Pod.String() + " by " + r.Observer.String()
				if r.Also != 0 {
					s += " and " + r.Also.String()
				}
				got = append(got, s)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff + strings.Join(got, "\n"))
			}
		})
	}
}
