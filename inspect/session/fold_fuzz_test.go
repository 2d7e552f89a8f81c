package session_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"reflect"
	"testing"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/cause"
	"github.com/kubeloupe/kubeloupe/inspect/compare"
	"github.com/kubeloupe/kubeloupe/inspect/export"
	"github.com/kubeloupe/kubeloupe/inspect/internal/tape"
	"github.com/kubeloupe/kubeloupe/inspect/model"
	"github.com/kubeloupe/kubeloupe/inspect/rank"
	"github.com/kubeloupe/kubeloupe/inspect/report"
	"github.com/kubeloupe/kubeloupe/inspect/session"
	"github.com/kubeloupe/kubeloupe/inspect/waterfall"
	"github.com/kubeloupe/kubeloupe/inspect/why"
	"github.com/kubeloupe/kubeloupe/trace"
)

// FuzzFold applies any records that the author of a recording may have written, and computes everything that is
// computed from records. Nothing panics, equal records give equal results, and the length of each result is limited.
func FuzzFold(f *testing.F) {
	for i := range 32 {
		f.Add(bytes.Repeat([]byte{byte(i), byte(7 * i), 3, byte(255 - i), 0, 1, byte(i * i), 9}, 60))
	}
	for _, k := range trace.Kinds() {
		f.Add(append([]byte(k), bytes.Repeat([]byte{1, 0, 2, 0, 250, 4, 0}, 40)...))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 1<<14 {
			return
		}
		recs := written(t, data)
		var first, second bytes.Buffer
		tell(t, &first, recs)
		tell(t, &second, recs)
		if !bytes.Equal(first.Bytes(), second.Bytes()) {
			t.Fatalf("the same records say %s", differs(first.Bytes(), second.Bytes()))
		}
		if most := 4<<20 + len(recs)<<16; first.Len() > most {
			t.Fatalf("%d bytes are said of %d records", first.Len(), len(recs))
		}
	})
}

func differs(a, b []byte) string {
	i := 0
	for i < min(len(a), len(b)) && a[i] == b[i] {
		i++
	}
	return fmt.Sprintf("%q, and then %q", a[max(0, i-100):min(len(a), i+200)], b[max(0, i-100):min(len(b), i+200)])
}

// tell writes everything that is computed from records.
func tell(t *testing.T, w io.Writer, recs []trace.Record) {
	t.Helper()
	m, s := model.New(model.Options{}), session.New(session.Options{Runs: 4, PerRun: 64, Node: 64})
	for i := range recs {
		m.Apply(&recs[i])
		s.Apply(&recs[i])
		if recs[i].Seq%17 == 16 {
			m.Lost(recs[i].Seq)
			s.Lost(recs[i].Seq)
		}
	}
	ok := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	var starts []rank.Start
	var falls []*waterfall.Waterfall
	for l, c := range s.Cases(time.Time{}) {
		r := why.Explain(c)
		fmt.Fprintln(w, l.Ref(), why.Brief(r))
		ok(why.Text(w, r, why.TextOptions{Width: 60}))
		if c.Waterfall != nil {
			falls = append(falls, c.Waterfall)
			starts = append(starts, rank.Of(c.Waterfall))
			picture(t, w, c.Waterfall, cause.Find(c))
		}
	}
	if len(falls) > 1 {
		ok(compare.Text(w, compare.Diff(falls[0], falls[1])))
		ok(compare.JSON(w, compare.Diff(falls[1], falls[0])))
	}
	if len(starts) > 0 {
		r, err := rank.Rank(starts, rank.Options{Group: "namespace"})
		ok(err)
		ok(rank.Text(w, r, 80))
		ok(rank.JSON(w, r))
	}
	ok(export.OTLPJSON(w, recs, export.Options{}))
	ok(export.Perfetto(w, recs, export.Options{}))
	now := s.Last()
	for _, p := range m.Pods() {
		if fall, err := m.Waterfall(p.Key, now); err == nil {
			picture(t, w, fall, nil)
		}
	}
	for _, subject := range report.Subjects() {
		if subject.Live || subject.Name == "pod" {
			continue
		}
		table, err := report.Make(subject.Name, m, report.Args{Now: now})
		ok(err)
		ok(report.Write(w, table, "text", 80))
	}
}

// picture writes a start in each form.
func picture(t *testing.T, w io.Writer, f *waterfall.Waterfall, found []cause.Finding) {
	t.Helper()
	for _, row := range f.Rows() {
		if row.End < row.Start || row.Start < 0 || row.End > f.End {
			t.Fatalf("row %+v of a start of %s", row, f.End)
		}
	}
	var sum time.Duration
	for _, s := range f.Path {
		sum += s.Dur()
		if s.Dur() <= 0 {
			t.Fatalf("segment %+v", s)
		}
	}
	if sum > f.Length() {
		t.Fatalf("the path of %s is %s long", f.Length(), sum)
	}
	for _, width := range []int{0, 40, 200} {
		l := f.Layout(width, 10)
		for _, line := range l.Lines {
			if line.Bar < 0 || line.Cols < 0 || line.Bar+line.Cols > l.Bars+1 {
				t.Fatalf("bar %d+%d of %d columns", line.Bar, line.Cols, l.Bars)
			}
		}
	}
	for _, err := range []error{
		export.Text(w, f, export.TextOptions{}), export.HTML(w, f, found), export.Markdown(w, f, found), export.JSON(w, f), export.SVG(w, f),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
}

// written creates records from bytes, as many as the bytes permit, and returns those that can be encoded and decoded.
func written(t *testing.T, data []byte) []trace.Record {
	t.Helper()
	in := source(data)
	kinds := trace.Kinds()
	var out []trace.Record
	at := tape.Epoch.UnixNano()
	for n := uint64(0); len(in) > 0 && n < 400; n++ {
		event := in.event(kinds)
		at += in.step()
		r := trace.Record{
			Seq: n, Time: at, Edge: trace.Edge(in.int() % 3), Trace: trace.TraceID{Lo: uint64(in.int() % 4)}, Span: trace.SpanID(in.int() % 16),
			Parent: trace.SpanID(in.int() % 16), Event: event,
		}
		if r.Edge == trace.EdgeEnd {
			r.Dur = time.Duration(in.step())
		}
		if p := in.int() % 4; p > 0 {
			r.Pod = trace.Pod{Namespace: "shop", Name: fmt.Sprint("web-", p), UID: fmt.Sprint(p)}
		}
		if in.int()%32 == 0 {
			at, r.Seq = tape.Epoch.UnixNano(), 5 // as if the clock was set back, and the bus started again
		}
		line, err := r.AppendJSON(nil)
		if err != nil {
			at = tape.Epoch.UnixNano()
			continue
		}
		var read trace.Record
		if err := read.ParseJSON(line); err != nil {
			if errors.Is(err, trace.ErrUnknownKind) {
				t.Fatal(err)
			}
			at = tape.Epoch.UnixNano()
			continue
		}
		out = append(out, read)
	}
	return out
}

// source is the remaining bytes.
type source []byte

func (s *source) int() int {
	if len(*s) == 0 {
		return 0
	}
	v := (*s)[0]
	*s = (*s)[1:]
	return int(v)
}

// of returns one of a list.
func (s *source) of(list ...string) string { return list[s.int()%len(list)] }

// event returns any event, often one that folds use, with values that they search for.
func (s *source) event(kinds []string) trace.Event {
	kind := s.of(kinds...)
	often := s.int()%3 > 0
	if often {
		kind = s.of("pod.milestone", "pod.action", "pod.wait", "cri.call", "runtime.span", "image.pull", "pod.sync", "pod.plan", "pod.status", "probe.attempt", "volume", "decision")
	}
	event, _ := trace.New(kind)
	s.fill(reflect.ValueOf(event).Elem(), 0)
	if !often {
		return event
	}
	switch e := event.(type) {
	case *trace.Milestone:
		e.Name, e.Adopted = trace.MilestoneName(s.of("seen", "started", "ready", "terminating", "gone")), s.int()%16 == 1
	case *trace.Action:
		e.Verb, e.Container = trace.Verb(s.of("create", "start", "image", "sandbox", "volumes", "dirs", "cgroup")), "web"
		e.ID = string(e.Verb) + " web"
	case *trace.Plan:
		for i := range e.Steps {
			e.Steps[i].ID, e.Steps[i].Needs = s.of("create web", "start web", "image web"), []string{s.of("sandbox web", "create web", "volumes web")}
		}
	case *trace.CRICall:
		e.Method = s.of("RunPodSandbox", "PullImage", "CreateContainer", "StartContainer")
	case *trace.RuntimeSpan:
		e.Start = tape.Epoch.UnixNano() + s.step()
	case *trace.PodStatus:
		e.Phase = trace.PodPhase(s.of("Pending", "Running", "Failed", "Succeeded"))
	case *trace.ProbeAttempt:
		e.Probe, e.Container, e.Result, e.State = trace.ProbeKind(s.of("liveness", "readiness", "startup")), "web", trace.ProbeResult(s.of("success", "failure", "error")), trace.ProbeState(s.of("success", "failure", ""))
	}
	return event
}

// step returns a duration: mostly some milliseconds.
func (s *source) step() int64 {
	switch v := s.int(); {
	case v < 200:
		return int64(v) * int64(ms)
	case v < 250:
		return int64(v) * int64(10*time.Second)
	default:
		return numbers[v%len(numbers)]
	}
}

// numbers are values for which sums and products overflow.
var numbers = []int64{0, 1, -1, 5, 1000, 1 << 20, int64(time.Second), int64(24 * time.Hour), 5e18, 1 << 62, 1<<63 - 1, -1 << 63}

// words are texts that folds search for, and texts that they must survive.
var words = []string{
	"", "seen", "started", "ready", "terminating", "gone", "create", "start", "image", "sandbox", "volumes", "dirs", "cgroup", "kill", "post-start", "web",
	"RunPodSandbox", "PullImage", "CreateContainer", "StartContainer", "liveness", "readiness", "startup", "success", "failure", "queue", "other-pull", "backoff",
	"probe", "gate", "runtime", "object", "lock", "grace", "init", "orphan", "keep", "pod 1", "remove", "gc.image", "a pull slot", "shop/web:1", "\x1b[31mred",
	"\u202egnp.exe", "Running", "Failed", "Succeeded", "patch", "Ready = True", "Ready condition True", "stopping", "DELETE", "terminated", "cni.plugin.bridge", "ADD",
	"cni.command", "cni.ifname", "cni.asynchAttach", "pkg.unpack.unpacker.unpack", "pkg.unpack.unpacker.fetchLayer", "layer.media.size", "9223372036854775807", "error",
	"readiness probe of web", "api", "the runtime's event about the latest action", "content-store", "CrashLoopBackOff", "ContainerDied", "restart", "wait", "exitCode", "\xff\x00\n",
	"shop/web-1", "create web", "start web", "in 9999999h", "at most 99999999999 s", "preemption", "end", "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
}

// fill sets an event's fields.
func (s *source) fill(v reflect.Value, depth int) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(words[s.int()%len(words)])
	case reflect.Bool:
		v.SetBool(s.int()%4 == 1)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(s.step())
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(uint64(s.int()))
	case reflect.Float32, reflect.Float64:
		v.SetFloat(float64(s.int()) / 100)
	case reflect.Slice:
		for n := s.int() % 4; n > 0 && depth < 4; n-- {
			e := reflect.New(v.Type().Elem()).Elem()
			s.fill(e, depth+1)
			v.Set(reflect.Append(v, e))
		}
	case reflect.Pointer:
		if s.int()%2 == 1 && depth < 4 {
			v.Set(reflect.New(v.Type().Elem()))
			s.fill(v.Elem(), depth+1)
		}
	case reflect.Struct:
		for _, field := range v.Fields() {
			if field.CanSet() {
				s.fill(field, depth+1)
			}
		}
	default:
	}
}
