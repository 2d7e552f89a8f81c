package otlp

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	resource "go.opentelemetry.io/proto/otlp/resource/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/kubeloupe/kubeloupe/trace"
)

var web = trace.Pod{Namespace: "shop", Name: "web", UID: "1"}

func str(k, v string) *common.KeyValue {
	return &common.KeyValue{Key: k, Value: &common.AnyValue{Value: &common.AnyValue_StringValue{StringValue: v}}}
}

func pbSpan(t trace.TraceID, id, parent trace.SpanID, name string) *tracepb.Span {
	be := binary.BigEndian
	s := &tracepb.Span{
		TraceId: be.AppendUint64(be.AppendUint64(nil, t.Hi), t.Lo), SpanId: be.AppendUint64(nil, uint64(id)),
		Name: name, StartTimeUnixNano: uint64(time.Now().UnixNano()),
	}
	s.EndTimeUnixNano = s.StartTimeUnixNano + 2000
	if parent != 0 {
		s.ParentSpanId = be.AppendUint64(nil, uint64(parent))
	}
	return s
}

func request(spans ...*tracepb.Span) *collector.ExportTraceServiceRequest {
	return &collector.ExportTraceServiceRequest{ResourceSpans: []*tracepb.ResourceSpans{{
		Resource:   &resource.Resource{Attributes: []*common.KeyValue{str("host.name", "n"), str("service.name", "containerd")}},
		ScopeSpans: []*tracepb.ScopeSpans{{Spans: spans}},
	}}}
}

// bench is a receiver that runs, its bus, and what it publishes.
type bench struct {
	*Receiver
	t          *testing.T
	bus        *trace.Bus
	cursor     *trace.Cursor
	read       []trace.Record // and not asked for yet
	grpc, http string
}

func start(t *testing.T) *bench {
	t.Helper()
	b := &bench{t: t, bus: trace.NewBus(4 * maxSpans)}
	b.cursor = b.bus.Subscribe(trace.FromOldest)
	var err error
	if b.Receiver, err = New(Config{GRPC: "localhost:0", HTTP: "[::1]:0", Bus: b.bus}); err != nil {
		t.Fatal(err)
	}
	if err := b.Listen(t.Context()); err != nil { // no IPv6 here
		if b.Receiver, err = New(Config{GRPC: "127.0.0.1:0", HTTP: "127.0.0.1:0", Bus: b.bus}); err != nil {
			t.Fatal(err)
		}
		if err := b.Listen(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	b.grpc, b.http = b.Addrs()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- b.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return b
}

func (b *bench) call(parent trace.Span, pod trace.Pod) trace.Span {
	return trace.Begin(b.bus, trace.ForPod(parent, pod), trace.CRICall{Method: "RunPodSandbox"})
}

// next returns the next n spans published.
func (b *bench) next(n int) []trace.Record {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.t.Context(), time.Minute)
	defer cancel()
	for len(b.read) < n {
		recs, _, err := b.cursor.Next(ctx, nil)
		if err != nil {
			b.t.Fatalf("%d of %d spans came: %v; %+v", len(b.read), n, err, b.Stats())
		}
		for _, r := range recs {
			if _, ok := r.Event.(*trace.RuntimeSpan); ok {
				b.read = append(b.read, r)
			}
		}
	}
	out := b.read[:n]
	b.read = b.read[n:]
	return out
}

// post sends a body and returns code and answer.
func (b *bench) post(kind, packed string, body []byte) (code int, answer []byte) {
	b.t.Helper()
	req, err := http.NewRequestWithContext(b.t.Context(), http.MethodPost, "http://"+b.http+"/v1/traces", bytes.NewReader(body))
	if err != nil {
		b.t.Fatal(err)
	}
	req.Header.Set("Content-Type", kind)
	req.Header.Set("Content-Encoding", packed)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		b.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	answer, err = io.ReadAll(resp.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	return resp.StatusCode, answer
}

func pack(b []byte) []byte {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, _ = w.Write(b)
	_ = w.Close()
	return out.Bytes()
}

func encode(t *testing.T, m proto.Message) []byte {
	t.Helper()
	b, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func (b *bench) export(m *collector.ExportTraceServiceRequest, opts ...grpc.CallOption) (*collector.ExportTraceServiceResponse, error) {
	b.t.Helper()
	conn, err := grpc.NewClient(b.grpc, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		b.t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	out := new(collector.ExportTraceServiceResponse)
	err = conn.Invoke(b.t.Context(), "/opentelemetry.proto.collector.trace.v1.TraceService/Export", m, out, opts...)
	return out, err
}

// TestTransports: a span under a call arrives over each way, with what is useful of it.
func TestTransports(t *testing.T) {
	b := start(t)
	for name, send := range map[string]func(m *collector.ExportTraceServiceRequest) error{
		"grpc": func(m *collector.ExportTraceServiceRequest) error { _, err := b.export(m); return err },
		"grpc gzip": func(m *collector.ExportTraceServiceRequest) error {
			_, err := b.export(m, grpc.UseCompressor("gzip"))
			return err
		},
		"http": func(m *collector.ExportTraceServiceRequest) error {
			if code, text := b.post(typeProto, "", encode(t, m)); code != http.StatusOK {
				return fmt.Errorf("%d %s", code, text)
			}
			return nil
		},
		"http gzip": func(m *collector.ExportTraceServiceRequest) error {
			if code, text := b.post(typeProto, "gzip", pack(encode(t, m))); code != http.StatusOK {
				return fmt.Errorf("%d %s", code, text)
			}
			return nil
		},
		"http json": func(m *collector.ExportTraceServiceRequest) error {
			if code, text := b.post(typeJSON+"; charset=utf-8", "", []byte(asJSON(m))); code != http.StatusOK || string(text) != "{}" {
				return fmt.Errorf("%d %s", code, text)
			}
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			call := b.call(trace.Span{}, web)
			s := pbSpan(call.Trace, 7, call.ID, "cni.Setup")
			s.Attributes = []*common.KeyValue{str("cni.id", "abc"), str("rpc.system", "grpc"), str("rpc.grpc.status_code", "0")}
			s.Status = &tracepb.Status{Code: tracepb.Status_STATUS_CODE_ERROR, Message: "no"}
			if err := send(request(s)); err != nil {
				t.Fatal(err)
			}
			r := b.next(1)[0]
			if r.Trace != call.Trace || r.Span != 7 || r.Parent != call.ID || r.Pod != web || r.Edge != trace.EdgePoint {
				t.Errorf("placed as %+v", r)
			}
			want := &trace.RuntimeSpan{Name: "cni.Setup", Service: "containerd", Start: int64(s.StartTimeUnixNano), Dur: 2000, Err: "no", Attrs: []trace.KV{{K: "cni.id", V: "abc"}}}
			if diff := cmp.Diff(trace.Event(want), r.Event); diff != "" {
				t.Errorf("event (-want +got):\n%s", diff)
			}
		})
	}
}

// asJSON writes what the test sends as a collector would.
func asJSON(m *collector.ExportTraceServiceRequest) string {
	s := m.ResourceSpans[0].ScopeSpans[0].Spans[0]
	return fmt.Sprintf(`{"resourceSpans":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"containerd"}}]},
		"scopeSpans":[{"scope":{"name":"x"},"spans":[{"traceId":"%x","spanId":"%X","parentSpanId":"%x","name":"cni.Setup","kind":2,
		"startTimeUnixNano":"%d","endTimeUnixNano":%d,"attributes":[{"key":"cni.id","value":{"stringValue":"abc"}}],
		"status":{"code":2,"message":"no"}}]}]}]}`, s.TraceId, s.SpanId, s.ParentSpanId, s.StartTimeUnixNano, s.EndTimeUnixNano)
}

// TestOnce: what comes again is not published again, and what is not ours never is.
func TestOnce(t *testing.T) {
	b := start(t)
	call := b.call(trace.Span{}, web)
	child, parent := pbSpan(call.Trace, 2, 1, "child"), pbSpan(call.Trace, 1, call.ID, "parent")
	for _, m := range []*collector.ExportTraceServiceRequest{
		request(child), request(child, pbSpan(trace.NewTraceID(), 3, 4, "other")), request(parent, child, parent),
	} {
		if _, err := b.export(m); err != nil {
			t.Fatal(err)
		}
	}
	for _, r := range b.next(2) {
		if r.Pod != web {
			t.Errorf("%+v", r)
		}
	}
	b.call(trace.Span{}, web) // follows all that was sent
	if _, err := b.export(request(pbSpan(call.Trace, 9, 1, "last"))); err != nil {
		t.Fatal(err)
	}
	if got := b.next(1)[0].Span; got != 9 {
		t.Errorf("span %v was published again", got)
	}
	if got, want := b.Stats(), (Stats{Published: 3, Foreign: 1, Repeated: 3}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// TestBadRequests: each gets an answer that says what is wrong, and the receiver continues.
func TestBadRequests(t *testing.T) {
	b := start(t)
	call := b.call(trace.Span{}, web)
	large := pbSpan(call.Trace, 5, call.ID, strings.Repeat("x", maxSpan))
	for _, c := range []struct {
		name, kind, packed string
		body               []byte
		code               int
		says               string
	}{
		{"no protobuf", typeProto, "", []byte("hello"), http.StatusBadRequest, "decode request"},
		{"no JSON", typeJSON, "", []byte("hello"), http.StatusBadRequest, "decode request"},
		{"no gzip", typeProto, "gzip", []byte("hello"), http.StatusBadRequest, "unpack body"},
		{"torn gzip", typeProto, "gzip", pack(bytes.Repeat([]byte("hello"), 1000))[:30], http.StatusBadRequest, "read body"},
		{"a bomb", typeProto, "gzip", pack(make([]byte, 16<<20)), http.StatusRequestEntityTooLarge, "fewer spans"},
		{"too large", typeProto, "", make([]byte, maxBody+1), http.StatusRequestEntityTooLarge, "fewer spans"},
		{"too large for JSON", typeJSON, "", make([]byte, maxJSON+1), http.StatusRequestEntityTooLarge, "fewer spans"},
		{"another encoding", typeProto, "zstd", nil, http.StatusUnsupportedMediaType, "use gzip"},
		{"another type", "text/plain", "", nil, http.StatusUnsupportedMediaType, "x-protobuf"},
		{"a large span", typeProto, "", encode(t, request(large)), http.StatusOK, "more than 65536 bytes"},
		{"no ids", typeProto, "", encode(t, request(&tracepb.Span{Name: "x"})), http.StatusOK, "without valid ids"},
		{"no ids in JSON", typeJSON, "", []byte(`{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"zz"}]}]}]}`), http.StatusOK, "rejectedSpans"},
		{"empty", typeProto, "", nil, http.StatusOK, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			code, text := b.post(c.kind, c.packed, c.body)
			if code != c.code || !bytes.Contains(text, []byte(c.says)) {
				t.Errorf("%d %q, want %d and %q", code, text, c.code, c.says)
			}
		})
	}
	if resp, err := http.Get("http://" + b.http + "/v1/traces"); err != nil || resp.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("GET: %v %v", resp, err)
	} else {
		_ = resp.Body.Close()
	}
	many := make([]*tracepb.Span, maxSpans+3)
	for i := range many {
		many[i] = pbSpan(call.Trace, trace.SpanID(100+i), call.ID, "")
	}
	resp, err := b.export(request(many...))
	if n := resp.GetPartialSuccess().GetRejectedSpans(); err != nil || n != 3 {
		t.Errorf("%d spans refused of %d: %v", n, len(many), err)
	}
	if _, err := b.export(request(pbSpan(call.Trace, 1, 2, strings.Repeat("x", maxBody)))); status.Code(err) != codes.ResourceExhausted {
		t.Errorf("a huge message: %v", err)
	}
	b.next(maxCallSpans)
}

func TestAddresses(t *testing.T) {
	for addr, want := range map[string]string{
		"127.0.0.1:4318": "", "localhost:0": "", "[::1]:4318": "", "127.8.9.10:4318": "",
		":4318": "loopback address only", "0.0.0.0:4318": "loopback address only", "10.0.0.1:4318": "loopback address only",
		"example.com:4318": "loopback address only", "[::]:4318": "loopback address only", "4318": "want host:port",
		"127.0.0.1:x": "port", "127.0.0.1:": "port", "127.0.0.1:99999": "port",
	} {
		for _, cfg := range []Config{{GRPC: addr}, {HTTP: addr}} {
			_, err := New(cfg)
			if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("%q: %v", addr, err)
			}
		}
	}
}

func TestPortTaken(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	r, err := New(Config{GRPC: "127.0.0.1:0", HTTP: l.Addr().String()})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "over HTTP") {
		t.Errorf("a taken port: %v", err)
	}
	if g, h := r.Addrs(); g != "" || h != "" {
		t.Errorf("listens at %q and %q after it failed", g, h)
	}
	off, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := off.Run(ctx); err != nil {
		t.Errorf("with both off: %v", err)
	}
}
