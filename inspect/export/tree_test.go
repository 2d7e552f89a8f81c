package export

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/kubeloupe/kubeloupe/inspect/cause"
	"github.com/kubeloupe/kubeloupe/inspect/internal/tape"
	"github.com/kubeloupe/kubeloupe/trace"
)

// TestTree limits trees, and looks at what is left.
func TestTree(t *testing.T) {
	const ms = time.Millisecond
	pod := trace.Pod{Namespace: "shop", Name: "web", UID: "1"}
	own, other := trace.TraceID{Lo: 1}, trace.TraceID{Lo: 2}
	tp := tape.New()
	tp.Point(0, pod, 0, &trace.Milestone{Name: trace.MilestoneSeen})
	sync := tp.Begin(0, pod, 0, &trace.Sync{Why: trace.SyncCreate})
	call := tp.Begin(ms, pod, sync, &trace.CRICall{Method: "RunPodSandbox"})
	for i, took := range []time.Duration{50, 10, 30} {
		at := tape.Epoch.Add(2 * ms).UnixNano()
		tp.Point(90*ms, pod, call, &trace.RuntimeSpan{Service: "containerd", Name: fmt.Sprint("s", i), Start: at, Dur: took * ms})
	}
	tp.End(80*ms, call, &trace.CRICall{Method: "RunPodSandbox", Code: "Unknown", Err: "no network\x1b[2J"})
	tp.End(95*ms, sync, nil)
	tp.Begin(95*ms, pod, sync, &trace.Wait{For: trace.WaitProbe})            // it does not end
	tp.End(300*ms, tp.Begin(200*ms, pod, 0, &trace.Sync{Why: "later"}), nil) // after the end
	for range 70 {
		tp.Point(20*ms, pod, 0, &trace.PodStatus{Phase: trace.PodPending})
	}
	for i := range tp.Recs {
		tp.Recs[i].Trace = own
		if _, wait := tp.Recs[i].Event.(*trace.Wait); wait {
			tp.Recs[i].Trace = other
		}
	}
	base := Tree{Pod: pod, Trace: own, Root: 999, Name: "pod start", Start: tape.Epoch, End: tape.Epoch.Add(100 * ms), Recs: tp.Recs}
	for name, c := range map[string]struct {
		most int
		edit func(*Tree)
		want []string // name<parent's name, and what is special
	}{
		"all":                 {100, nil, []string{"pod start<", "sync create<pod start", "RunPodSandbox<sync create error", "s0<RunPodSandbox", "s1<RunPodSandbox", "s2<RunPodSandbox"}},
		"what is open":        {100, func(t *Tree) { t.Open = true }, []string{"pod start<", "sync create<pod start", "RunPodSandbox<sync create error", "s0<RunPodSandbox", "s1<RunPodSandbox", "s2<RunPodSandbox", "wait probe<sync create link open"}},
		"the longest first":   {5, nil, []string{"pod start< left 1", "sync create<pod start", "RunPodSandbox<sync create error", "s0<RunPodSandbox", "s2<RunPodSandbox"}},
		"ours first":          {3, nil, []string{"pod start< left 3", "sync create<pod start", "RunPodSandbox<sync create error"}},
		"the root":            {1, nil, []string{"pod start< left 5"}},
		"a failure, and link": {1, func(t *Tree) { t.Err, t.Link = "it broke", other }, []string{"pod start< error link left 5"}},
		"a record as root": {
			100, func(t *Tree) { t.Root, t.Name = sync, "" },
			[]string{"sync create<", "RunPodSandbox<sync create error", "s0<RunPodSandbox", "s1<RunPodSandbox", "s2<RunPodSandbox"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			tree := base
			if c.edit != nil {
				c.edit(&tree)
			}
			out, n := tree.Spans(c.most)
			names := map[string]string{"": ""}
			var all []*tracepb.Span
			for _, rs := range out {
				for _, sp := range rs.GetScopeSpans()[0].GetSpans() {
					names[string(sp.GetSpanId())] = sp.GetName()
					all = append(all, sp)
				}
			}
			var got []string
			for _, sp := range all {
				line := sp.GetName() + "<" + names[string(sp.GetParentSpanId())]
				if sp.GetStatus().GetCode() == tracepb.Status_STATUS_CODE_ERROR {
					line += " error"
				}
				if len(sp.GetLinks()) > 0 {
					line += " link"
				}
				for _, a := range sp.GetAttributes() {
					switch a.GetKey() {
					case "kubeloupe.open":
						line += " open"
					case "kubeloupe.spans_left_out":
						line += fmt.Sprint(" left ", a.GetValue().GetIntValue())
					}
				}
				if strings.Contains(sp.String(), "\x1b") || len(sp.GetEvents()) > maxEvents {
					t.Errorf("%s has control characters, or %d events", sp.GetName(), len(sp.GetEvents()))
				}
				got = append(got, line)
			}
			slices.Sort(got)
			slices.Sort(c.want)
			if diff := cmp.Diff(c.want, got); diff != "" || n != len(all) {
				t.Errorf("%d counted (-want +got):\n%s", n, diff)
			}
		})
	}
}

// TestTreeCauses: each cause is an event of the root, at the time of its first evidence.
func TestTreeCauses(t *testing.T) {
	at := tape.Epoch.Add(time.Second)
	tree := Tree{Root: 9, Name: "pod start", Start: tape.Epoch, End: tape.Epoch.Add(5 * time.Second), Causes: []cause.Finding{
		{ID: "KL02", Name: "slow registry", Confidence: cause.Certain, Sentence: "it took long", Cost: 4 * time.Second, Evidence: []cause.Evidence{{Time: at}}},
		{ID: "KL23", Name: "cpu pressure", Confidence: cause.Likely, Current: true},
	}}
	out, _ := tree.Spans(10)
	events := out[0].GetScopeSpans()[0].GetSpans()[0].GetEvents()
	if len(events) != 2 {
		t.Fatalf("%d events", len(events))
	}
	if events[0].GetName() != "KL02 slow registry" || events[0].GetTimeUnixNano() != uint64(at.UnixNano()) || events[1].GetTimeUnixNano() != uint64(tree.End.UnixNano()) {
		t.Errorf("got %v", events)
	}
	got := map[string]string{}
	for _, a := range events[0].GetAttributes() {
		got[a.GetKey()] = fmt.Sprint(a.GetValue().GetStringValue(), a.GetValue().GetIntValue())
	}
	if got["kubeloupe.cause.id"] != "KL020" || got["kubeloupe.cause.cost_ns"] != "4000000000" || got["kubeloupe.cause.confidence"] != "certain0" {
		t.Errorf("got %v", got)
	}
}
