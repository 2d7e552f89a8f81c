package recording

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kubeloupe/kubeloupe/trace"
)

// busy returns n records of a node on which pods start, 2 ms apart, beginning at a time and with a number.
func busy(n int, from time.Time, seq uint64) []trace.Record {
	const perPod = 12
	var recs []trace.Record
	ids := uint64(seq) * 0x9e3779b97f4a7c15
	for i := range n {
		pod := i / perPod
		ids = ids*6364136223846793005 + 1442695040888963407
		r := trace.Record{
			Seq: seq + uint64(i), Time: from.Add(time.Duration(i) * 2 * time.Millisecond).UnixNano(),
			Trace: trace.TraceID{Hi: uint64(pod)*0x9e3779b97f4a7c15 + 1, Lo: uint64(pod)*0xc2b2ae3d27d4eb4f + 1},
			Span:  trace.SpanID(ids | 1), Parent: trace.SpanID(ids>>3 | 1),
			Pod: trace.Pod{Namespace: "shop", Name: fmt.Sprintf("web-%d", pod), UID: fmt.Sprintf("%08x-8f0e-4d5b-9a34-0c2d6a1e7f55", pod)},
		}
		r.Edge, r.Event = event(i%perPod, i)
		if r.Edge == trace.EdgeEnd {
			r.Dur = time.Duration(ids >> 38)
		}
		recs = append(recs, r)
	}
	return recs
}

func event(step, i int) (trace.Edge, trace.Event) {
	id := fmt.Sprintf("%064x", uint64(i)*0x9e3779b97f4a7c15)
	switch step {
	case 0:
		return trace.EdgePoint, &trace.Milestone{Name: trace.MilestoneSeen, Source: trace.SourceFile, Spec: &trace.PodSpec{Containers: []trace.ContainerSpec{{Name: "main", Image: "docker.io/library/nginx:1.27"}}, QoS: "BestEffort"}}
	case 1:
		return trace.EdgeBegin, &trace.Sync{Why: trace.SyncAgain, Cause: "ADD", N: i}
	case 2:
		return trace.EdgeBegin, &trace.Wait{For: trace.WaitQueue, Target: trace.Target{Kind: trace.TargetOther, Name: "a place among 4 runtime calls"}}
	case 3:
		return trace.EdgeEnd, &trace.Wait{For: trace.WaitQueue, Target: trace.Target{Kind: trace.TargetOther, Name: "a place among 4 runtime calls"}}
	case 4:
		return trace.EdgeBegin, &trace.Action{ID: "sandbox", Verb: trace.VerbSandbox, Reason: "there is none"}
	case 5:
		return trace.EdgeBegin, &trace.CRICall{Method: "RunPodSandbox"}
	case 6:
		return trace.EdgeEnd, &trace.CRICall{
			Method: "RunPodSandbox", Sandbox: id, Code: "OK", Request: body(i), Response: trace.BodyOf(raw(`{"podSandboxId":"`+id+`"}`), 50),
		}
	case 7:
		return trace.EdgeEnd, &trace.Action{ID: "sandbox", Verb: trace.VerbSandbox}
	case 8:
		return trace.EdgePoint, &trace.PLEGEvent{Type: "ContainerStarted", Container: id, From: "evented", Lag: 1200000}
	case 9:
		return trace.EdgePoint, &trace.NodeEvent{Type: trace.EventNormal, Reason: "Started", Message: "Container started", Field: "spec.containers{main}"}
	case 10:
		return trace.EdgeEnd, &trace.Sync{Why: trace.SyncAgain, Cause: "ADD", N: i}
	}
	return trace.EdgePoint, &trace.PodStatus{Phase: trace.PodRunning, Ready: 1, Total: 1, IP: "10.88.0.7", SandboxID: id, Containers: []trace.ContainerStatus{{Name: "main", State: trace.ContainerRunning, ID: id}}}
}

type raw string

func (r raw) MarshalJSON() ([]byte, error) { return []byte(r), nil }

func body(i int) trace.Body {
	return trace.BodyOf(raw(fmt.Sprintf(`{"config":{"metadata":{"name":"web-%d","uid":"%08x","namespace":"shop"},"logDirectory":"/var/log/pods/shop_web-%d","labels":{"io.kubernetes.pod.name":"web-%d","io.kubernetes.pod.namespace":"shop"},"linux":{"cgroupParent":"/kubepods/besteffort/pod%08x"}}}`, i, i, i, i, i)), 50)
}

func path(t testing.TB) string { return filepath.Join(t.TempDir(), "node.klrec") }

// write writes one session.
func write(t testing.TB, path string, opt Options, recs []trace.Record) {
	t.Helper()
	w, err := Create(path, opt)
	if err != nil {
		t.Fatal(err)
	}
	for len(recs) > 0 {
		n := min(256, len(recs))
		if err := w.Write(recs[:n], 0); err != nil {
			t.Fatal(err)
		}
		recs = recs[n:]
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

// read opens a recording and reads all of it.
func read(t testing.TB, path string) ([]Item, Info) {
	t.Helper()
	r, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	return all(t, r), r.Info()
}

func all(t testing.TB, r *Reader) (items []Item) {
	t.Helper()
	for it, err := range r.All() {
		if err != nil {
			t.Fatal(err)
		}
		items = append(items, it)
	}
	return items
}

// texts returns records in encoded form, in which bodies are comparable.
func texts(t testing.TB, recs []trace.Record) (lines []string) {
	t.Helper()
	for i := range recs {
		p, err := recs[i].AppendJSON(nil)
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, string(p))
	}
	return lines
}

func same(t testing.TB, items []Item, want []trace.Record) {
	t.Helper()
	var recs []trace.Record
	for _, it := range items {
		recs = append(recs, it.Rec)
	}
	if diff := cmp.Diff(texts(t, want), texts(t, recs)); diff != "" {
		t.Errorf("records (-want +got):\n%.2000s", diff)
	}
}

func lostOf(items []Item) (n uint64) {
	for _, it := range items {
		n += it.Lost
	}
	return n
}
