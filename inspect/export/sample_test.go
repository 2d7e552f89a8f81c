package export_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kubeloupe/kubeloupe/inspect/cause"
	"github.com/kubeloupe/kubeloupe/inspect/internal/tape"
	"github.com/kubeloupe/kubeloupe/inspect/waterfall"
	"github.com/kubeloupe/kubeloupe/trace"
)

var update = flag.Bool("update", false, "rewrite the golden files")

const ms = time.Millisecond

var cart = trace.Pod{Namespace: "shop", Name: "cart-7d4f-a1b", UID: "9f"}

// sample is a start of which a drawing is kept.
type sample struct {
	name string
	recs []trace.Record
}

func samples() []sample {
	return []sample{
		{"slow-pull", slowPull()},
		{"pulling", pulling()},
		{"evil", evil()},
	}
}

// slowPull is a start of which a pull took most, with spans that the runtime told.
func slowPull() []trace.Record {
	t := tape.New()
	t.Start(tape.Start{
		Pod: cart, Image: "registry.local/shop/redis:7.2", Bytes: 68 << 20,
		Queue: 107 * ms, Sandbox: 205 * ms, Volumes: 48 * ms, Pull: 4100 * ms, Create: 41 * ms, Run: 88 * ms, Probe: 430 * ms,
	})
	for i := range t.Recs {
		if c, ok := t.Recs[i].Event.(*trace.CRICall); ok && c.Method == "RunPodSandbox" && t.Recs[i].Edge == trace.EdgeEnd {
			span(t, 330*ms, t.Recs[i].Span, 120*ms, 180*ms, "cni ADD bridge")
			span(t, 331*ms, t.Recs[i].Span, 290*ms, 20*ms, "task create")
			break
		}
	}
	return t.Records()
}

// span adds a span of the runtime.
func span(t *tape.Tape, at time.Duration, parent trace.SpanID, start, dur time.Duration, name string) {
	t.Point(at, cart, parent, &trace.RuntimeSpan{
		Name: name, Service: "containerd", Start: tape.Epoch.Add(start).UnixNano(), Dur: dur, Attrs: []trace.KV{{K: "plugin", V: "bridge"}},
	})
}

// pulling is a start that continues.
func pulling() []trace.Record {
	var out []trace.Record
	for _, r := range slowPull() {
		if r.Time < tape.Epoch.Add(1900*ms).UnixNano() {
			out = append(out, r)
		}
	}
	return append(out, trace.Record{
		Seq: 99, Time: tape.Epoch.Add(1900 * ms).UnixNano(), Span: 99, Trace: trace.TraceID{Lo: 1}, Pod: cart,
		Event: &trace.NodeEvent{Type: trace.EventNormal, Reason: "Pulling", Message: "Pulling image"},
	})
}

// evil is a start whose names and errors try to be more than text.
func evil() []trace.Record {
	t := tape.New()
	pod := trace.Pod{Namespace: "<b>&", Name: `"></text><script>alert(1)</script>`, UID: "e"}
	t.Point(0, pod, 0, &trace.Milestone{Name: trace.MilestoneSeen, Source: "file]]>"})
	s := t.Begin(1*ms, pod, 0, &trace.Sync{Why: trace.SyncCreate, N: 1})
	a := t.Begin(1*ms, pod, s, &trace.Action{ID: "create x", Verb: trace.VerbCreate, Container: "x\x1b[31m\u202e|`y```\x00"})
	t.End(400*ms, a, &trace.Action{ID: "create x", Verb: trace.VerbCreate, Container: "x\x1b[31m\u202e|`y```\x00", Err: "no such\n<img src=x onerror=alert(1)> --> \x1b[0m" + string([]byte{0xff, 0xfe})})
	t.End(401*ms, s, &trace.Sync{Why: trace.SyncCreate, N: 1, Err: "create x failed"})
	t.Begin(402*ms, pod, 0, &trace.Wait{For: trace.WaitBackoff, Target: trace.Target{Kind: trace.TargetOther, Name: "create x"}})
	t.Point(900*ms, pod, 0, &trace.PodStatus{Phase: trace.PodPending, Total: 1})
	return t.Records()
}

func findings() []cause.Finding {
	return []cause.Finding{{
		ID: "KL02", Name: "slow network in a pull", Confidence: cause.Likely,
		Sentence:   "redis:7.2 came at 17 MiB/s: 68 MiB in 4.10s <i>.",
		Evidence:   []cause.Evidence{{Seq: 17, Time: tape.Epoch.Add(4100 * ms), Text: "PullImage took 4.10s"}},
		Cost:       3870 * ms,
		Remedy:     "Put a registry mirror near the node, or pull the image before the pod comes.",
		RuledOutBy: "A second pull of the same image on this node is as slow with an empty network.",
	}}
}

func fall(t testing.TB, recs []trace.Record) *waterfall.Waterfall {
	t.Helper()
	f, err := waterfall.Build(recs, recs[0].Pod)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// golden compares with a file in testdata.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-want +got; -update rewrites it):\n%s", file, diff)
	}
}

// broken is a writer that takes nothing.
type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, fmt.Errorf("disk full") }
