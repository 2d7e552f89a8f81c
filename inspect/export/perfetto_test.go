package export_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kubeloupe/kubeloupe/inspect/export"
	"github.com/kubeloupe/kubeloupe/inspect/internal/tape"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/jsonl"
)

// recorded is a session of the agent with the simulated runtime: five pods, of which one's image is missing.
func recorded(t testing.TB) []trace.Record {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", "session.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var out []trace.Record
	for r, err := range jsonl.Read(f) {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, r)
	}
	return out
}

// scrambled is a session that no agent would tell: overlapping children, ends without begins, what never ends.
func scrambled(seed uint64) []trace.Record {
	rnd := rand.New(rand.NewPCG(seed, 1))
	t := tape.New()
	pods := []trace.Pod{cart, {Namespace: "a", Name: "b", UID: "1"}, {}}
	ids := []trace.SpanID{0}
	for range 300 {
		at := time.Duration(rnd.IntN(1000)) * ms
		pod, parent := pods[rnd.IntN(3)], ids[rnd.IntN(len(ids))]
		events := []trace.Event{
			&trace.Action{ID: "create x", Verb: trace.VerbCreate, Container: "x"}, &trace.CRICall{Method: "Status"}, &trace.Wait{For: "queue", Target: trace.Target{Kind: trace.TargetOther, Name: "x"}},
			&trace.Sync{Why: trace.SyncAgain}, &trace.ImagePull{Image: "a"}, &trace.Loop{Case: trace.LoopPLEG},
		}
		id := t.Begin(at, pod, parent, events[rnd.IntN(len(events))])
		ids = append(ids, id)
		if rnd.IntN(10) > 0 {
			t.End(at+time.Duration(rnd.IntN(200))*ms, id, nil)
		}
		if rnd.IntN(5) == 0 {
			t.Point(at, pod, id, &trace.PodStatus{Phase: trace.PodRunning})
			t.Point(at, pod, id, &trace.ImageProgress{Image: "a", Done: rnd.Int64N(1 << 30)})
			span(t, at, id, at-time.Millisecond, 5*ms, "told")
		}
	}
	recs := t.Records()
	return recs[rnd.IntN(100):] // the begins of some are lost
}

// TestPerfettoRules decodes traces on its own and applies what Perfetto's documentation asks of them; its
// trace processor is not to be had here. Slices are put together as it does, from the stack of a track, and
// must be what the records say.
func TestPerfettoRules(t *testing.T) {
	sessions := map[string][]trace.Record{"recorded": recorded(t), "slow-pull": slowPull(), "pulling": pulling(), "evil": evil(), "none": nil}
	for seed := range uint64(20) {
		sessions[fmt.Sprintf("scrambled %d", seed)] = scrambled(seed)
	}
	for name, recs := range sessions {
		t.Run(name, func(t *testing.T) {
			var b bytes.Buffer
			if err := export.Perfetto(&b, recs, export.Options{}); err != nil {
				t.Fatal(err)
			}
			got, err := readPerfetto(b.Bytes())
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(spansIn(recs), got.slices, cmp.AllowUnexported(slice{})); diff != "" {
				t.Errorf("slices (-records +trace):\n%s", diff)
			}
		})
	}
}

// spansIn is how long each span of the records took, found in the plainest way.
func spansIn(recs []trace.Record) map[string]slice {
	out := map[string]slice{}
	begun := map[trace.SpanID]int64{}
	last := int64(0)
	for _, r := range recs {
		last = max(last, r.Time)
		if s, ok := r.Event.(*trace.RuntimeSpan); ok {
			out[r.Span.String()] = slice{start: s.Start, dur: int64(s.Dur)}
			continue
		}
		switch r.Edge {
		case trace.EdgeBegin:
			begun[r.Span] = r.Time
		case trace.EdgeEnd:
			out[r.Span.String()] = slice{start: r.Time - int64(r.Dur), dur: int64(r.Dur)}
			delete(begun, r.Span)
		}
	}
	for id, at := range begun {
		out[id.String()] = slice{start: at, dur: last - at, open: true}
	}
	return out
}

func TestPerfettoGolden(t *testing.T) {
	for name, opt := range map[string]export.Options{"slow-pull": {}, "web": {Pod: trace.Pod{Namespace: "shop", Name: "web-vm"}}} {
		recs := slowPull()
		if name == "web" {
			recs = recorded(t)
		}
		var b bytes.Buffer
		if err := export.Perfetto(&b, recs, opt); err != nil {
			t.Fatal(err)
		}
		got, err := readPerfetto(b.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		golden(t, name+".pftrace.txt", []byte(strings.Join(got.text, "\n")+"\n"))
	}
}

func TestPerfettoBrokenWriter(t *testing.T) {
	if err := export.Perfetto(broken{}, slowPull(), export.Options{}); err == nil || !strings.Contains(err.Error(), "disk full") {
		t.Errorf("got %v", err)
	}
}

// TestPerfettoChecker shows that the checker sees what is wrong.
func TestPerfettoChecker(t *testing.T) {
	var b bytes.Buffer
	if err := export.Perfetto(&b, slowPull(), export.Options{}); err != nil {
		t.Fatal(err)
	}
	packets, err := split(b.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	join := func(p ...[]byte) []byte { return bytes.Join(p, nil) }
	last := len(packets) - 1
	for name, c := range map[string]struct {
		data []byte
		want error
	}{
		"an end is missing":    {join(packets[:last-1]...), errBalance}, // the last packet is the milestone ready
		"an end too many":      {join(append(packets, packets[last-1])...), errBalance},
		"time runs backwards":  {join(append(packets, packets[last-8:]...)...), errOrder},
		"tracks are not told":  {join(packets[0], join(packets[last-8:]...)), errTrack},
		"the first is missing": {join(packets[1:]...), errState},
	} {
		if _, err := readPerfetto(c.data); !errors.Is(err, c.want) {
			t.Errorf("%s: got %v, want %v", name, err, c.want)
		}
	}
}

func BenchmarkPerfetto(b *testing.B) {
	recs := recorded(b)
	for b.Loop() {
		var out bytes.Buffer
		if err := export.Perfetto(&out, recs, export.Options{}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(len(recs))*float64(b.N)/b.Elapsed().Seconds(), "records/s")
}
