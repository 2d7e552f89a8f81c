package merge_test

import (
	"testing"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/attach/merge"
	"github.com/kubeloupe/kubeloupe/trace"
)

// TestRunsOfProviders sees to which pod's pull a run of a credential provider belongs.
func TestRunsOfProviders(t *testing.T) {
	const ms = int64(time.Millisecond)
	begin := func(in *merge.Input, pod string, span trace.SpanID, at int64, e trace.Event) {
		in.Put(trace.Record{Time: at * ms, Edge: trace.EdgeBegin, Span: span, Pod: trace.Pod{Namespace: "shop", Name: pod, UID: pod}, Observer: trace.ObserverKubeletLog, Event: e})
	}
	image := func(in *merge.Input, pod string, span trace.SpanID, at int64) {
		begin(in, pod, span, at, &trace.Action{ID: "image web", Verb: trace.VerbImage, Container: "web"})
	}
	pull := func(in *merge.Input, pod string, span trace.SpanID, at int64) {
		begin(in, pod, span, at, &trace.ImagePull{Image: "r.example:5000/" + pod + ":1"})
	}
	for name, tc := range map[string]struct {
		log           func(*merge.Input)
		pod, registry string
		in            bool // the wait is part of an action
	}{
		"nothing is known": {log: func(*merge.Input) {}},
		"V3: it pulls right after it": {log: func(in *merge.Input) {
			image(in, "web", 1, 2001)
			pull(in, "web", 2, 2001)
		}, pod: "web", registry: "r.example:5000/web"},
		"V4: it gets the image before": {log: func(in *merge.Input) {
			image(in, "web", 1, 990)
			image(in, "other", 3, 980)
			pull(in, "web", 2, 2001)
		}, pod: "web", registry: "r.example:5000/web", in: true},
		"V4: it pulls a little later": {log: func(in *merge.Input) {
			image(in, "web", 1, 990)
			pull(in, "web", 2, 2300)
			pull(in, "other", 3, 2290)
		}, pod: "web", registry: "r.example:5000/web", in: true},
		"V4: it does not pull then": {log: func(in *merge.Input) { image(in, "web", 1, 990) }, pod: "web", registry: "an image", in: true},
		"two get images": {log: func(in *merge.Input) {
			image(in, "web", 1, 990)
			image(in, "other", 3, 980)
		}},
		"two pull right after it": {log: func(in *merge.Input) {
			pull(in, "web", 1, 2001)
			pull(in, "other", 3, 2002)
		}},
		"another one pulls later": {log: func(in *merge.Input) { pull(in, "web", 1, 2400) }},
	} {
		t.Run(name, func(t *testing.T) {
			m := merge.New(merge.Options{})
			log, kernel := m.Input(), m.Input()
			tc.log(log)
			kernel.Put(trace.Record{
				Time: 2000 * ms, Edge: trace.EdgeEnd, Dur: time.Second, Span: 1 << 50, Observer: trace.ObserverKernel, Precision: trace.PrecisionOf(time.Millisecond),
				Event: &trace.Wait{For: trace.WaitCredentials, Target: trace.Target{Kind: trace.TargetProvider, Name: "slow"}},
			})
			log.Close()
			kernel.Close()
			for r, _, ok := m.Next(); ok; r, _, ok = m.Next() {
				w, ok := r.Event.(*trace.Wait)
				if ok && (r.Pod.Name != tc.pod || w.Target.Namespace != tc.registry || (r.Parent != 0) != tc.in) {
					t.Errorf("of pod %q, for %q, part of %x", r.Pod.Name, w.Target.Namespace, r.Parent)
				}
			}
		})
	}
}
