package model_test

import (
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/internal/tape"
	"github.com/kubeloupe/kubeloupe/inspect/model"
	"github.com/kubeloupe/kubeloupe/trace"
)

// fill sets all texts to text and all lists to n items, each in separate memory.
func fill(v reflect.Value, text string, n int) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(strings.Clone(text))
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

// body is a message of a call.
type body string

func (b body) MarshalJSON() ([]byte, error) { return fmt.Appendf(nil, "%q", string(b)), nil }

func heap() int {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

// TestTheLargestOfEachEvent for many pods needs no more memory than the budget, although each limit alone would permit
// it. No pod is removed.
func TestTheLargestOfEachEvent(t *testing.T) {
	const budget, slack = 64 << 20, 16 << 20 // slack: maps, and the heap's overhead
	m := model.New(model.Options{Bytes: budget})
	before, most := heap(), 0
	seq, given, pods, now := uint64(0), 0, 0, tape.Epoch.UnixNano()
	for i := 0; given < 4*budget; i++ {
		pod := trace.Pod{Namespace: "ns", Name: fmt.Sprint("p", i), UID: fmt.Sprint(i)}
		for _, name := range trace.Kinds() {
			for edge := range trace.EdgeEnd + 1 {
				e, _ := trace.New(name)
				fill(reflect.ValueOf(e).Elem(), strings.Repeat("x", 1000), 8)
				switch e := e.(type) {
				case *trace.Milestone:
					e.Name, e.Since = trace.MilestoneName([]string{"seen", "started", "ready"}[edge]), time.Second
				case *trace.CRICall:
					e.Response = trace.BodyOf(body(strings.Repeat("x", trace.MaxBody)), trace.MaxBody)
				}
				seq++
				r := trace.Record{Seq: seq, Time: now + int64(seq), Span: trace.SpanID(seq - uint64(edge)/2), Pod: pod, Edge: edge, Event: e}
				r.Limit() // as whoever publishes or reads it does
				given += r.Size()
				m.Apply(&r)
			}
		}
		if pods++; i%16 == 0 {
			most = max(most, heap()-before)
		}
	}
	t.Logf("of %d records with %d MiB: at most %d MiB of heap, %d pods", seq, given>>20, most>>20, len(m.Pods()))
	if most > budget+slack {
		t.Errorf("%d bytes of heap are taken, want at most %d", most, budget+slack)
	}
	if known := len(m.Pods()); known != pods {
		t.Errorf("%d pods are known of %d: it is enough to cut short what they have", known, pods)
	}
	runtime.KeepAlive(m)
}

// TestALoudPod: one pod has as many records as possible; the others' states are nevertheless known, and so is its own.
func TestALoudPod(t *testing.T) {
	tp := tape.New()
	for i := range 50 {
		pod := trace.Pod{Namespace: "ns", Name: fmt.Sprint("quiet", i), UID: fmt.Sprint("quiet", i)}
		tp.Start(tape.Start{Pod: pod, At: time.Duration(i) * time.Second, Image: "web:1", Sandbox: time.Second, Create: time.Second, Run: time.Second})
	}
	loud := trace.Pod{Namespace: "ns", Name: "loud", UID: "loud"}
	at := 100 * time.Second
	tp.Start(tape.Start{Pod: loud, At: at, Image: "web:1", Sandbox: time.Second, Create: time.Second, Run: time.Second})
	text := strings.Repeat("x", 4000)
	for i := range 2000 {
		at += time.Second
		tp.Point(at, loud, 0, &trace.PodStatus{Phase: trace.PodRunning, Message: text, Total: 1})
		tp.Point(at, loud, 0, &trace.Decision{By: trace.ByPressure, Subject: fmt.Sprint(i), Reason: strings.Clone(text)})
		tp.End(at, tp.Begin(at, loud, 0, &trace.ProbeAttempt{Probe: trace.ProbeLiveness, Container: fmt.Sprint(i), Output: strings.Clone(text)}), nil)
		tp.Point(at, loud, 0, &trace.Volume{Name: fmt.Sprint("v", i%100), Op: "setup", Err: strings.Clone(text)})
	}
	m := model.New(model.Options{Bytes: 3 << 20})
	for _, r := range tp.Records() {
		m.Apply(&r)
	}
	pods := m.Pods()
	if len(pods) != 51 {
		t.Fatalf("%d pods are known, want all 51", len(pods))
	}
	for _, p := range pods {
		if p.StatusAt.IsZero() || p.Phase != trace.PodRunning || p.Start.Started.IsZero() {
			t.Errorf("of %s is known: %s since %s, started %s", p.Key, p.Phase, p.StatusAt, p.Start.Started)
		}
		if w, err := m.Waterfall(p.Key, time.Time{}); p.Key != loud && (err != nil || w.Incomplete) {
			t.Errorf("the start of %s: %v, %v", p.Key, w, err)
		}
	}
}
