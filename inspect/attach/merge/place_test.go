package merge_test

import (
	"testing"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/attach/merge"
	"github.com/kubeloupe/kubeloupe/trace"
)

// TestRunsOfPlugins sees that a run that the kernel saw becomes part of the call in which the runtime made the pod's network, which is told of later.
func TestRunsOfPlugins(t *testing.T) {
	const ms = int64(time.Millisecond)
	web, other := trace.Pod{Namespace: "shop", Name: "web", UID: "1"}, trace.Pod{Namespace: "shop", Name: "other", UID: "2"}
	run := func(pod trace.Pod, from, to int64, up trace.SpanID) trace.Record {
		return trace.Record{
			Time: to, Span: trace.NewSpanID(), Parent: up, Pod: pod, Observer: trace.ObserverKernel, Precision: trace.PrecisionOf(time.Millisecond),
			Event: &trace.RuntimeSpan{Name: trace.SpanCNIPlugin + "bridge", Start: from, Dur: time.Duration(to - from)},
		}
	}
	call := func(pod trace.Pod, span trace.SpanID, at int64, edge trace.Edge, method string) trace.Record {
		return trace.Record{Time: at, Edge: edge, Span: span, Pod: pod, Observer: trace.ObserverRuntimeLog, Event: &trace.CRICall{Method: method}}
	}
	within, below, before, elsewhere := run(web, 120*ms, 180*ms, 0), run(web, 130*ms, 140*ms, 1<<50), run(web, 20*ms, 50*ms, 0), run(other, 120*ms, 180*ms, 0)
	m := merge.New(merge.Options{})
	kernel, runtime := m.Input(), m.Input()
	for _, r := range []trace.Record{before, below, within, elsewhere} {
		kernel.Put(r)
	}
	runtime.Put(call(web, 7, 100*ms, trace.EdgeBegin, "RunPodSandbox"))
	runtime.Put(call(web, 7, 200*ms, trace.EdgeEnd, "RunPodSandbox"))
	kernel.Close()
	runtime.Close()
	var sandbox trace.SpanID
	up := map[trace.SpanID]trace.SpanID{}
	for r, _, ok := m.Next(); ok; r, _, ok = m.Next() {
		if _, ok := r.Event.(*trace.CRICall); ok {
			sandbox = r.Span
			continue
		}
		up[r.Span] = r.Parent
	}
	for name, c := range map[string]struct{ got, want trace.SpanID }{
		"within": {up[within.Span], sandbox}, "of another plugin": {up[below.Span], 1 << 50}, "before": {up[before.Span], 0}, "another pod's": {up[elsewhere.Span], 0},
	} {
		if c.got != c.want {
			t.Errorf("%s: part of %x, want %x", name, c.got, c.want)
		}
	}
}
