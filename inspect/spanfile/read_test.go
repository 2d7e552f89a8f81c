package spanfile_test

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/kubeloupe/kubeloupe/inspect/export"
	"github.com/kubeloupe/kubeloupe/inspect/internal/tape"
	"github.com/kubeloupe/kubeloupe/inspect/spanfile"
	"github.com/kubeloupe/kubeloupe/inspect/waterfall"
	"github.com/kubeloupe/kubeloupe/trace"
)

const ms = time.Millisecond

var (
	cart = trace.Pod{Namespace: "shop", Name: "cart", UID: "c1"}
	id   = trace.TraceID{Hi: 0xfeed, Lo: 0xbeef}
)

// sample returns the records of a slow start, with spans of the runtime, and the tree that is sent of it.
func sample(t *testing.T) ([]trace.Record, []*tracepb.ResourceSpans) {
	t.Helper()
	tp := tape.New()
	tp.Start(tape.Start{
		Pod: cart, Image: "registry.example.com/cart:1", Bytes: 61 << 20, Queue: 500 * ms, Sandbox: 300 * ms, Volumes: 70 * ms, Pull: 4 * time.Second,
		Create: 40 * ms, Run: 90 * ms, Probe: 200 * ms,
	})
	var call trace.SpanID
	for i := range tp.Recs {
		tp.Recs[i].Trace = id
		if c, ok := tp.Recs[i].Event.(*trace.CRICall); ok && c.Method == "RunPodSandbox" {
			call = tp.Recs[i].Span
		}
	}
	at := tape.Epoch.Add(550 * ms).UnixNano()
	tp.Point(5*time.Second, cart, call, &trace.RuntimeSpan{Service: "containerd", Name: "cri.sandbox.run", Start: at, Dur: 200 * ms, Attrs: []trace.KV{{K: "sandbox.id", V: "s1"}}})
	last := &tp.Recs[len(tp.Recs)-1]
	last.Trace, last.Observer = id, trace.ObserverRuntimeSpan
	tree := export.Tree{
		Node: "n1", Version: "v1", Pod: cart, Trace: id, Root: 77, Name: "pod start", Start: tape.Epoch, End: tape.Epoch.Add(5 * time.Second), Recs: tp.Recs,
		Attrs: []export.Attr{{Key: "kubeloupe.kind", Value: "pod.start"}},
	}
	spans, _ := tree.Spans(1000)
	return tp.Recs, spans
}

// draw draws a start, without what two drawings of the same may differ in.
func draw(t *testing.T, recs []trace.Record, pod trace.Pod) string {
	t.Helper()
	w, err := waterfall.Build(recs, pod)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := export.Text(&b, w, export.TextOptions{Width: 100, ASCII: true}); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// collected writes spans as the Collector's file exporter does: a line for each request, with ids in hexadecimal.
func collected(t *testing.T, in []*tracepb.ResourceSpans) string {
	t.Helper()
	b, err := (protojson.MarshalOptions{UseEnumNumbers: true}).Marshal(&tracepb.TracesData{ResourceSpans: in})
	if err != nil {
		t.Fatal(err)
	}
	ids := regexp.MustCompile(`"(traceId|spanId|parentSpanId)":\s*"([^"]*)"`)
	return ids.ReplaceAllStringFunc(string(b), func(s string) string {
		m := ids.FindStringSubmatch(s)
		raw, err := base64.StdEncoding.DecodeString(m[2])
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprintf("%q:%q", m[1], hex.EncodeToString(raw))
	}) + "\n"
}

// tempo writes spans as Tempo's API answers: ids in base64, codes by name.
func tempo(t *testing.T, in []*tracepb.ResourceSpans, before, after string) string {
	t.Helper()
	b, err := protojson.Marshal(&tracepb.TracesData{ResourceSpans: in})
	if err != nil {
		t.Fatal(err)
	}
	return before + strings.TrimSuffix(regexp.MustCompile(`^\{"resourceSpans":\s*`).ReplaceAllString(string(b), ""), "}") + after
}

// jaeger writes spans as Jaeger's API answers: times in microseconds, attributes as tags.
func jaeger(t *testing.T, in []*tracepb.ResourceSpans) string {
	t.Helper()
	tags := func(in []*commonpb.KeyValue) []any {
		out := []any{}
		for _, a := range in {
			switch v := a.GetValue().GetValue().(type) {
			case *commonpb.AnyValue_StringValue:
				out = append(out, map[string]any{"key": a.GetKey(), "type": "string", "value": v.StringValue})
			case *commonpb.AnyValue_IntValue:
				out = append(out, map[string]any{"key": a.GetKey(), "type": "int64", "value": v.IntValue})
			case *commonpb.AnyValue_BoolValue:
				out = append(out, map[string]any{"key": a.GetKey(), "type": "bool", "value": v.BoolValue})
			}
		}
		return out
	}
	spans, processes := []any{}, map[string]any{}
	for i, rs := range in {
		process := fmt.Sprint("p", i+1)
		processes[process] = map[string]any{"serviceName": rs.GetResource().GetAttributes()[0].GetValue().GetStringValue(), "tags": tags(rs.GetResource().GetAttributes()[1:])}
		for _, sp := range rs.GetScopeSpans()[0].GetSpans() {
			refs, logs := []any{}, []any{}
			if len(sp.GetParentSpanId()) > 0 {
				refs = append(refs, map[string]any{"refType": "CHILD_OF", "traceID": hex.EncodeToString(sp.GetTraceId()), "spanID": hex.EncodeToString(sp.GetParentSpanId())})
			}
			for _, e := range sp.GetEvents() {
				logs = append(logs, map[string]any{"timestamp": e.GetTimeUnixNano() / 1000, "fields": tags(e.GetAttributes())})
			}
			spans = append(spans, map[string]any{
				"traceID": strings.TrimLeft(hex.EncodeToString(sp.GetTraceId()), "0"), "spanID": hex.EncodeToString(sp.GetSpanId()), "operationName": sp.GetName(),
				"references": refs, "startTime": sp.GetStartTimeUnixNano() / 1000, "duration": (sp.GetEndTimeUnixNano() - sp.GetStartTimeUnixNano()) / 1000,
				"tags": tags(sp.GetAttributes()), "logs": logs, "processID": process,
			})
		}
	}
	b, err := json.Marshal(map[string]any{"data": []any{map[string]any{"traceID": id.String(), "spans": spans, "processes": processes}}})
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestRead draws what comes back, and what went out.
func TestRead(t *testing.T) {
	recs, spans := sample(t)
	want := draw(t, recs, cart)
	other := strings.ReplaceAll(collected(t, spans), id.String(), strings.Repeat("ab", 16))
	var lines strings.Builder
	for _, rs := range spans { // the exporter may write it in several requests
		lines.WriteString(collected(t, []*tracepb.ResourceSpans{rs}))
	}
	for name, file := range map[string]string{
		"collector":              collected(t, spans),
		"collector, many lines":  other + lines.String() + other,
		"collector, sent again":  collected(t, spans) + lines.String() + other + collected(t, spans),
		"tempo":                  tempo(t, spans, `{"batches":`, "}"),
		"tempo, older":           strings.ReplaceAll(tempo(t, spans, `{"batches":`, "}"), `"scopeSpans"`, `"instrumentationLibrarySpans"`),
		"tempo, version 2":       tempo(t, spans, `{"trace":{"resourceSpans":`, "}}"),
		"jaeger":                 jaeger(t, spans),
		"jaeger, only the trace": strings.TrimSuffix(strings.TrimPrefix(jaeger(t, spans), `{"data":[`), "]}"),
	} {
		t.Run(name, func(t *testing.T) {
			if !spanfile.Looks([]byte(file)) {
				t.Errorf("it does not look like spans: %.60s", file)
			}
			got, lost, err := spanfile.Read(strings.NewReader(file), id)
			if err != nil || lost != 0 {
				t.Fatalf("%d lost, %v", lost, err)
			}
			if diff := cmp.Diff(want, draw(t, got, cart)); diff != "" {
				t.Errorf("drawn (-sent +read):\n%s", diff)
			}
		})
	}
}

// TestReadJaeger: the answer of a Jaeger v1.76.0 to which a Collector had sent a start on containerd (make fleet JAEGER=program).
func TestReadJaeger(t *testing.T) {
	text, err := os.ReadFile("testdata/jaeger-v1.76.0.json")
	if err != nil {
		t.Fatal(err)
	}
	var of trace.TraceID
	if err := of.UnmarshalText([]byte("46b1c9db00db67199d4856f2459e76f7")); err != nil {
		t.Fatal(err)
	}
	recs, lost, err := spanfile.Read(bytes.NewReader(text), of)
	if err != nil || lost != 0 || !spanfile.Looks(text) {
		t.Fatalf("%d lost, %v, looks like spans: %t", lost, err, spanfile.Looks(text))
	}
	drawn := draw(t, recs, recs[0].Pod)
	for _, want := range []string{"fleet/own-3-vm", "ready 1.23s", "sandbox", "RunPodSandbox", "make task", "image    busybox:1", "create   main", "start    main", "shim starts task"} {
		if !strings.Contains(drawn, want) {
			t.Errorf("no %q is drawn:\n%s", want, drawn)
		}
	}
}

// TestReadJoins: spans that the runtime sent to the same backend by itself are part of the call.
func TestReadJoins(t *testing.T) {
	recs, spans := sample(t)
	for _, rs := range spans {
		for _, sp := range rs.GetScopeSpans()[0].GetSpans() {
			if sp.GetName() == "cri.sandbox.run" {
				sp.Attributes = sp.GetAttributes()[1:] // it says nothing of kubeloupe
			}
		}
	}
	got, _, err := spanfile.Read(strings.NewReader(collected(t, spans)), id)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(draw(t, recs, cart), draw(t, got, cart)); diff != "" {
		t.Errorf("drawn (-sent +read):\n%s", diff)
	}
}

// TestReadLost has a trace of more spans than are read, and one of a time that no record has.
func TestReadLost(t *testing.T) {
	_, spans := sample(t)
	n := 0
	for _, rs := range spans {
		n += len(rs.GetScopeSpans()[0].GetSpans())
	}
	file := collected(t, spans)
	const most = 20_000
	times := most/n + 1
	var many strings.Builder
	for i := range times {
		many.WriteString(strings.ReplaceAll(file, `"spanId":"00000000`, fmt.Sprintf(`"spanId":"%08x`, i)) + "\n")
	}
	late := strings.Replace(file, `"endTimeUnixNano":"1`, `"endTimeUnixNano":"8`, 1)
	for name, c := range map[string]struct {
		file string
		want int
	}{
		"many": {many.String(), times*n - most},
		"late": {late, 1},
	} {
		if recs, lost, err := spanfile.Read(strings.NewReader(c.file), id); err != nil || len(recs) == 0 || lost != c.want {
			t.Errorf("%s: %d records, %d spans lost, want %d; %v", name, len(recs), lost, c.want, err)
		}
	}
}

func TestReadErrors(t *testing.T) {
	_, spans := sample(t)
	for name, c := range map[string]struct{ file, want string }{
		"empty":      {"", "the file has no span of this trace"},
		"other":      {strings.ReplaceAll(collected(t, spans), id.String(), strings.Repeat("ab", 16)), "the file has no span of this trace"},
		"no JSON":    {"{\"resourceSpans\": [", "JSON value 1: unexpected EOF"},
		"half":       {collected(t, spans) + "{", "JSON value 2: unexpected EOF"},
		"not ours":   {strings.ReplaceAll(collected(t, spans), "kubeloupe.kind", "x"), "no span that kubeloupe made"},
		"bad number": {strings.ReplaceAll(collected(t, spans), `"startTimeUnixNano":"1`, `"startTimeUnixNano":"-1`), "JSON value 1"},
	} {
		if _, _, err := spanfile.Read(strings.NewReader(c.file), id); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", name, err, c.want)
		}
	}
}

func TestLooks(t *testing.T) {
	for head, want := range map[string]bool{
		"": false, "[]": false, `{"seq":1,"time":"2026-11-21T06:23:37.291463737Z","kind":"agent"}`: false, "\x89KLREC": false,
		` {"resourceSpans":[]}`: true, `{"data":[{"traceID":"ab"}]}`: true, `{"batches":[]}`: true,
	} {
		if got := spanfile.Looks([]byte(head)); got != want {
			t.Errorf("%q: %t", head, got)
		}
	}
}

// FuzzRead reads anything, and draws what comes of it.
func FuzzRead(f *testing.F) {
	f.Add(`{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"0000000000000000feed000000000000beef","spanId":"01","startTimeUnixNano":"9223372036854775807","attributes":[{"key":"kubeloupe.kind","value":{"stringValue":"pod.start"}}]}]}]}]}`)
	f.Add(`{"data":[{"spans":[{"traceID":"feed000000000000beef","spanID":"1","startTime":5,"duration":9,"tags":[{"key":"kubeloupe.kind","type":"string","value":"pod.action"},{"key":"kubeloupe.id","type":"string","value":"x"}]}]}]}`)
	f.Fuzz(func(t *testing.T, file string) {
		recs, _, err := spanfile.Read(strings.NewReader(file), id)
		if err != nil {
			return
		}
		for i := range recs {
			if recs[i].Event == nil || recs[i].Time < 0 || recs[i].Dur < 0 {
				t.Fatalf("record %+v", recs[i])
			}
		}
		if w, err := waterfall.Build(recs, recs[0].Pod); err == nil {
			w.Rows()
		}
	})
}
