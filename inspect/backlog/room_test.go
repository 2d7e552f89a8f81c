package backlog_test

import (
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/backlog"
	"github.com/kubeloupe/kubeloupe/inspect/internal/tape"
	"github.com/kubeloupe/kubeloupe/trace"
)

// fill sets all texts to size bytes and all lists to n items.
func fill(v reflect.Value, text string, n int) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(text)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), text, n)
	case reflect.Struct:
		for _, field := range v.Fields() {
			if field.CanSet() {
				fill(field, text, n)
			}
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), n, n))
		for i := range n {
			fill(v.Index(i), text, n)
		}
	default:
	}
}

// largest are lines of the largest event of each type, as trace cuts it.
func largest(t *testing.T) map[string][]byte {
	t.Helper()
	out := map[string][]byte{}
	for _, name := range trace.Kinds() {
		e, _ := trace.New(name)
		fill(reflect.ValueOf(e).Elem(), strings.Repeat("x", 1000), 30)
		line, err := (&trace.Record{Seq: 1, Event: e}).MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		out[name] = line
	}
	return out
}

func heap() int {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

// TestTheLargestOfEachEvent over many pods takes no more memory than the budget, though each count alone would let it; that records had to go
// is told.
func TestTheLargestOfEachEvent(t *testing.T) {
	const budget, slack = 8 << 20, 2 << 20 // slack: maps, and what the heap takes beyond what is requested
	lines := largest(t)
	before := heap()
	k := backlog.New(backlog.Options{Bytes: budget})
	seq, given, now := uint64(0), 0, tape.Epoch.UnixNano()
	for i := 0; given < 5*budget; i++ {
		pod := trace.Pod{Namespace: "ns", Name: fmt.Sprint("p", i), UID: fmt.Sprint(i)}
		for _, name := range trace.Kinds() {
			var r trace.Record
			if err := r.ParseJSON(lines[name]); err != nil {
				t.Fatal(name, err)
			}
			seq++
			r.Seq, r.Time, r.Span, r.Pod, r.Edge = seq, now+int64(seq), trace.SpanID(seq), pod, trace.Edge(seq%2)
			given += r.Size()
			k.Apply([]trace.Record{r}, 0)
		}
	}
	used := heap() - before
	b, err := k.Backlog(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	size, lost := 0, uint64(0)
	for i := range b.Records {
		size += b.Records[i].Size()
	}
	for _, h := range b.Holes {
		lost += h.Lost
	}
	t.Logf("of %d records with %d MiB: %d MiB of heap, %d records with %d MiB, %d lost", seq, given>>20, used>>20, len(b.Records), size>>20, lost)
	if used > budget+slack || size > budget {
		t.Errorf("%d bytes of heap and %d of records are kept, want at most %d", used, size, budget)
	}
	if size < budget/2 || lost == 0 || lost > seq-uint64(len(b.Records)) {
		t.Errorf("%d bytes are kept, and %d records are told as lost", size, lost)
	}
	runtime.KeepAlive(k)
}

// TestALoudPod tells as much as it can; what others are is kept all the same, and its start is told as incomplete.
func TestALoudPod(t *testing.T) {
	tp := tape.New()
	quiet := func(i int) trace.Pod {
		return trace.Pod{Namespace: "ns", Name: fmt.Sprint("quiet", i), UID: fmt.Sprint("quiet", i)}
	}
	for i := range 50 {
		tp.Start(tape.Start{Pod: quiet(i), At: time.Duration(i) * time.Second, Image: "web:1", Sandbox: time.Second, Create: time.Second, Run: time.Second})
	}
	loud := trace.Pod{Namespace: "ns", Name: "loud", UID: "loud"}
	at := 100 * time.Second
	tp.Start(tape.Start{Pod: loud, At: at, Image: strings.Repeat("x", 900), Sandbox: time.Second, Create: time.Second, Run: time.Second})
	text := strings.Repeat("x", 4000)
	for i := range 2000 {
		at += time.Second
		tp.Point(at, loud, 0, &trace.Decision{By: trace.ByPressure, Subject: fmt.Sprint(i), Reason: text})
		tp.Point(at, loud, 0, &trace.PodStatus{Phase: trace.PodRunning, Message: text, Ready: i % 2, Total: 1})
		tp.End(at, tp.Begin(at, loud, 0, &trace.ProbeAttempt{Probe: trace.ProbeLiveness, Container: fmt.Sprint(i), Output: text}), nil)
		tp.Begin(at, loud, 0, &trace.Volume{Name: fmt.Sprint("v", i%100), Op: "setup", Err: text})
		tp.Begin(at, loud, 0, &trace.Wait{For: trace.WaitLock, Note: text})
	}
	k := backlog.New(backlog.Options{Bytes: 2 << 20})
	k.Apply(tp.Records(), 0)
	m := late(t, k)
	pods := m.Pods()
	if len(pods) != 51 {
		t.Fatalf("%d pods are kept, want all 51", len(pods))
	}
	for _, p := range pods {
		if p.StatusAt.IsZero() || p.Phase != trace.PodRunning || p.Start.Started.IsZero() {
			t.Errorf("of %s is left: %s since %s, started %s", p.Key, p.Phase, p.StatusAt, p.Start.Started)
		}
	}
	if m.Node().Lost == 0 {
		t.Error("nothing is told as lost")
	}
	if w, err := m.Waterfall(loud, time.Time{}); err == nil && !w.Incomplete {
		t.Error("the start of the loud pod is told as complete")
	}
}

// FuzzRoom has room for a part of what would be kept. Late readers get records of the stream in its order, within the budget, and are told
// that some are missing.
func FuzzRoom(f *testing.F) {
	for seed := range uint64(4) {
		f.Add(seed, uint16(800), uint16(20000), uint8(50))
	}
	f.Fuzz(func(t *testing.T, seed uint64, records, bytes uint16, piece uint8) {
		recs := play(seed, int(records%maxPlayed))
		given := map[uint64]trace.Record{}
		for _, r := range recs {
			given[r.Seq] = r
		}
		all, k := backlog.New(backlog.Options{}), backlog.New(backlog.Options{Bytes: int(bytes) + 1})
		for some := range slices.Chunk(recs, max(int(piece), len(recs)/maxPieces+1)) {
			all.Apply(some, 0)
			k.Apply(some, 0)
			late(t, k)
			whole, err := all.Backlog(t.Context(), 0)
			if err != nil {
				t.Fatal(err)
			}
			b, err := k.Backlog(t.Context(), 0)
			if err != nil {
				t.Fatal(err)
			}
			size, lost := 0, uint64(0)
			for i := range b.Records {
				size += b.Records[i].Size()
				if was, ok := given[b.Records[i].Seq]; !ok || was.Span != b.Records[i].Span || was.Edge != b.Records[i].Edge {
					t.Errorf("record %d is not one of the stream: %+v", b.Records[i].Seq, b.Records[i])
				}
			}
			for _, h := range b.Holes {
				lost += h.Lost
			}
			if size > int(bytes)+1 {
				t.Errorf("%d bytes are kept, the budget is %d", size, bytes+1)
			}
			if len(b.Records) < len(whole.Records) && lost == 0 || lost > uint64(len(given)) {
				t.Errorf("%d of %d records are kept, %d are told as lost", len(b.Records), len(whole.Records), lost)
			}
		}
	})
}

func BenchmarkManyPods(b *testing.B) {
	k := backlog.New(backlog.Options{})
	var seq uint64
	for b.Loop() {
		seq++
		pod := trace.Pod{Namespace: "ns", Name: fmt.Sprint("p", seq), UID: fmt.Sprint(seq)}
		k.Apply([]trace.Record{{Seq: seq, Time: int64(seq), Span: trace.SpanID(seq), Pod: pod, Edge: trace.EdgeBegin, Event: &trace.Wait{Note: pod.Name}}}, 0)
	}
}

func BenchmarkFull(b *testing.B) {
	k := backlog.New(backlog.Options{})
	var seq uint64
	apply := func() {
		seq++
		pod := trace.Pod{Namespace: "ns", Name: fmt.Sprint("p", seq%4000), UID: fmt.Sprint(seq % 4000)}
		k.Apply([]trace.Record{{Seq: seq, Time: int64(seq), Span: trace.SpanID(seq), Pod: pod, Event: &trace.ProbeAttempt{Probe: trace.ProbeLiveness, Container: fmt.Sprint(seq / 4000 % 100)}}}, 0)
	}
	for range 500000 {
		apply()
	}
	b.ResetTimer()
	for b.Loop() {
		apply()
	}
}
