package otlp

import (
	"strings"
	"testing"
	"unicode/utf8"

	common "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/kubeloupe/kubeloupe/trace"
)

func fullSpan() *tracepb.Span {
	s := pbSpan(trace.TraceID{Hi: 1, Lo: 2}, 3, 4, "pkg.unpack.unpacker.fetchLayer")
	s.StartTimeUnixNano, s.EndTimeUnixNano = 1000, 3000
	list := &common.ArrayValue{Values: []*common.AnyValue{{Value: &common.AnyValue_IntValue{IntValue: 5}}, nil}}
	for _, v := range []*common.AnyValue{
		{Value: &common.AnyValue_ArrayValue{ArrayValue: list}},
		{Value: &common.AnyValue_BoolValue{BoolValue: true}},
		{Value: &common.AnyValue_DoubleValue{DoubleValue: 1.5}},
		{Value: &common.AnyValue_BytesValue{BytesValue: []byte("ab")}},
		nil,
	} {
		s.Attributes = append(s.Attributes, &common.KeyValue{Key: "k", Value: v})
	}
	s.Events = []*tracepb.Span_Event{{Name: "exception", Attributes: []*common.KeyValue{str("exception.message", `get "https://r.io/a?sig=1": gone`)}}}
	return s
}

// TestAttributes: values become text, an exception an error, and all is bounded.
func TestAttributes(t *testing.T) {
	s := fullSpan()
	got, err := spanOf(s, "containerd")
	if err != nil {
		t.Fatal(err)
	}
	var values []string
	for _, kv := range got.event.Attrs {
		values = append(values, kv.V)
	}
	if want := "5  true 1.5 6162"; strings.Join(values, " ") != want || got.event.Err != `get "https://r.io/a": gone` {
		t.Errorf("%q, error %q", strings.Join(values, " "), got.event.Err)
	}
	for _, at := range []uint64{999, 1500, 1 << 63} {
		s.Events = append(s.Events, &tracepb.Span_Event{Name: "setup pod network", TimeUnixNano: at})
	}
	s.Status = &tracepb.Status{Code: tracepb.Status_STATUS_CODE_OK}
	if got, _ = spanOf(s, ""); got.event.Err != "" {
		t.Errorf("a span that is ok failed with %q", got.event.Err)
	}
	if n := len(got.event.Attrs); got.event.Attrs[n-1] != (trace.KV{K: "event.setup pod network", V: "500ns"}) || n != len(values)+1 {
		t.Errorf("with events: %v", got.event.Attrs)
	}
	s.EndTimeUnixNano, s.Attributes = 0, nil
	for range 100 {
		s.Attributes = append(s.Attributes, str(strings.Repeat("k", 1000), strings.Repeat("é", 1000)))
	}
	if got, _ = spanOf(s, ""); len(got.event.Attrs) != maxAttrs+1 || got.event.Dur != 0 {
		t.Errorf("%d attributes, %v", len(got.event.Attrs), got.event.Dur)
	}
}

func TestPublic(t *testing.T) {
	for _, c := range []struct{ key, in, want string }{
		{"url.full", "https://me:secret@r.io/v2/a/blobs/sha256:1?X-Signature=abc", "https://r.io/v2/a/blobs/sha256:1"},
		{"http.url", "http://127.0.0.1:5000/v2/", "http://127.0.0.1:5000/v2/"},
		{"url.full", "https://r.io?token=1", "https://r.io"},
		{"url.query", "token=1", ""},
		{"image.ref", "r.io/a@sha256:1", "r.io/a@sha256:1"},
	} {
		if got := public(c.key, c.in); got != c.want {
			t.Errorf("%s %q: %q, want %q", c.key, c.in, got, c.want)
		}
	}
}

func checkDecoded(t *testing.T, d decoded) {
	t.Helper()
	if len(d.spans) > maxSpans {
		t.Errorf("%d spans", len(d.spans))
	}
	for _, s := range d.spans {
		if s.trace.IsZero() || s.id == 0 || s.event.Dur < 0 || len(s.event.Attrs) > maxAttrs+maxEvents {
			t.Errorf("%+v", s)
		}
		for _, text := range append([]string{s.event.Name, s.event.Err, s.event.Service}, flat(s.event.Attrs)...) {
			if len(text) > maxValue || !utf8.ValidString(text) {
				t.Errorf("text %q", text)
			}
		}
	}
}

func flat(kvs []trace.KV) (out []string) {
	for _, kv := range kvs {
		out = append(out, kv.K, kv.V)
	}
	return out
}

func FuzzDecode(f *testing.F) {
	body, err := proto.Marshal(request(fullSpan(), pbSpan(trace.TraceID{Lo: 1}, 1, 0, "x")))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(body)
	f.Add(body[:len(body)-3])
	f.Add([]byte("\x0a\x00\x0a\x02\x12\x00"))
	f.Fuzz(func(t *testing.T, b []byte) {
		d, err := decode(b)
		if err == nil {
			checkDecoded(t, d)
		}
	})
}

func FuzzDecodeJSON(f *testing.F) {
	f.Add([]byte(asJSON(request(fullSpan()))))
	f.Add([]byte(`{"resourceSpans":[{"resource":{"attributes":[null]},"scopeSpans":[{"spans":[{},null,{"attributes":[{}]}]}]}]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		d, err := decodeJSON(b)
		if err == nil {
			checkDecoded(t, d)
		}
	})
}

func BenchmarkDecode(b *testing.B) {
	var spans []*tracepb.Span
	for i := range 512 {
		s := fullSpan()
		s.SpanId[7] = byte(i)
		spans = append(spans, s)
	}
	body, err := proto.Marshal(request(spans...))
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := decode(body); err != nil {
			b.Fatal(err)
		}
	}
}
