package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

// testdata is where inspect/export keeps what it writes; its tests say that it still does.
const testdata = "../../inspect/export/testdata"

func TestGoldenFiles(t *testing.T) {
	for name, want := range map[string][]string{
		"slow-pull.otlp.pb":   {"kubeloupe cart-7d4f-a1b: 17 spans, 2 events, 0 failed", "containerd cart-7d4f-a1b: 2 spans, 0 events, 0 failed"},
		"slow-pull.otlp.json": {"kubeloupe cart-7d4f-a1b: 17 spans, 2 events, 0 failed", "containerd cart-7d4f-a1b: 2 spans, 0 events, 0 failed"},
		"pulling.otlp.pb":     {"kubeloupe cart-7d4f-a1b: 11 spans, 1 events, 0 failed", "containerd cart-7d4f-a1b: 2 spans, 0 events, 0 failed"},
		"evil.otlp.pb":        {`kubeloupe "></text><script>alert(1)</script>: 5 spans, 0 events, 2 failed`},
		"session.otlp.pb": {
			"kubeloupe : 58 spans, 0 events, 0 failed", // the node
			"kubeloupe burst-1-vm: 25 spans, 11 events, 0 failed",
			"kubeloupe burst-2-vm: 24 spans, 11 events, 0 failed",
			"kubeloupe burst-3-vm: 25 spans, 11 events, 0 failed",
			"kubeloupe missing-vm: 26 spans, 11 events, 0 failed",
			"kubeloupe web-vm: 67 spans, 23 events, 0 failed",
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := read(filepath.Join(testdata, name))
			if err != nil {
				t.Fatal(err)
			}
			if strings.Join(got, "\n") != strings.Join(want, "\n") {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
		})
	}
}

// TestBoth holds the two encodings of one session against each other.
func TestBoth(t *testing.T) {
	for _, name := range []string{"slow-pull", "session"} {
		var m ptrace.JSONMarshaler
		a, err := m.MarshalTraces(load(t, name+".otlp.pb"))
		if err != nil {
			t.Fatal(err)
		}
		b, err := m.MarshalTraces(load(t, name+".otlp.json"))
		if err != nil {
			t.Fatal(err)
		}
		if string(a) != string(b) {
			t.Errorf("%s: protobuf and JSON say different things:\n%.2000s\n%.2000s", name, a, b)
		}
	}
}

func load(t *testing.T, name string) ptrace.Traces {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(testdata, name))
	if err != nil {
		t.Fatal(err)
	}
	var td ptrace.Traces
	if filepath.Ext(name) == ".json" {
		td, err = (&ptrace.JSONUnmarshaler{}).UnmarshalTraces(raw)
	} else {
		td, err = (&ptrace.ProtoUnmarshaler{}).UnmarshalTraces(raw)
	}
	if err != nil {
		t.Fatal(err)
	}
	return td
}

// TestCheck shows that check sees what is wrong.
func TestCheck(t *testing.T) {
	for want, spoil := range map[string]func(ptrace.ResourceSpans){
		"service.name":     func(rs ptrace.ResourceSpans) { rs.Resource().Attributes().Clear() },
		"is empty":         func(rs ptrace.ResourceSpans) { first(rs).SetSpanID(pcommon.SpanID{}) },
		"from":             func(rs ptrace.ResourceSpans) { first(rs).SetEndTimestamp(1) },
		"not in its trace": func(rs ptrace.ResourceSpans) { first(rs).SetParentSpanID(pcommon.SpanID{9}) },
	} {
		td := load(t, "slow-pull.otlp.pb")
		spoil(td.ResourceSpans().At(0))
		if _, err := check(td); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

func first(rs ptrace.ResourceSpans) ptrace.Span { return rs.ScopeSpans().At(0).Spans().At(0) }
