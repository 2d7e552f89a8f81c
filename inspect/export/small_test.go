package export

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/human"
)

func TestTicks(t *testing.T) {
	for _, c := range []struct {
		span time.Duration
		want string
	}{
		{0, "0s"},
		{7 * time.Microsecond, "0s 1µs 2µs 3µs 4µs 5µs 6µs 7µs"},
		{315 * time.Millisecond, "0s 50ms 100ms 150ms 200ms 250ms 300ms"},
		{1500 * time.Millisecond, "0s 200ms 400ms 600ms 800ms 1s 1.2s 1.4s"},
		{40 * time.Second, "0s 5s 10s 15s 20s 25s 30s 35s 40s"},
		{3 * time.Minute, "0s 1m 2m 3m"},
		{26 * time.Hour, "0s 6h 12h 18h 1d"},
		{100 * 24 * time.Hour, "0s 13d 26d 39d 52d 65d 78d 91d"},
	} {
		var got []string
		for _, at := range ticks(c.span, 8) {
			got = append(got, tickText(at))
		}
		if diff := cmp.Diff(c.want, strings.Join(got, " ")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.span, diff)
		}
	}
}

// TestFields holds the fields of every kind of event against its JSON.
func TestFields(t *testing.T) {
	for _, kind := range trace.Kinds() {
		e, _ := trace.New(kind)
		if kind == "runtime.span" {
			continue // its fields are the runtime's
		}
		raw, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		var want map[string]any
		if err := json.Unmarshal(raw, &want); err != nil {
			t.Fatal(err)
		}
		for _, f := range fieldsOf(e) {
			if _, ok := want[f.name]; !ok {
				t.Errorf("%s: field %s is not in its JSON", kind, f.name)
			}
			delete(want, f.name)
		}
		if len(want) > 0 {
			t.Errorf("%s: fields are missing: %v", kind, want)
		}
		if nameOf(e) == "" {
			t.Errorf("%s: no name", kind)
		}
	}
}

func TestFieldValues(t *testing.T) {
	got := fieldsOf(&trace.CRICall{
		Method: "Status", Err: strings.Repeat("x", 3000) + "\xff", Items: 3,
		Request: trace.BodyOf(json.RawMessage(`{"secret":1}`), 12),
	})
	want := []field{{"method", "Status"}, {"err", strings.Repeat("x", maxField-3) + "…"}, {"items", int64(3)}}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(field{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	got = fieldsOf(&trace.Decision{By: trace.ByImageGC, Inputs: []trace.KV{{K: "age", V: "3d"}}})
	last := got[len(got)-1]
	if s := fmt.Sprint(last); s != `{inputs [{"k":"age","v":"3d"}]}` {
		t.Errorf("got %s", s)
	}
	if got := fieldsOf((*trace.Loop)(nil)); got != nil {
		t.Errorf("a nil event: %v", got)
	}
}

func TestEscape(t *testing.T) {
	if got, want := escape(`<a href="x">'&`), "&lt;a href=&#34;x&#34;&gt;&#39;&amp;"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestMarkdownEscapes(t *testing.T) {
	if got, want := human.Markdown("a|b `c` *d* <e> _f_ [g](h) #1 @x"), "a\\|b \\`c\\` \\*d\\* &lt;e&gt; \\_f\\_ \\[g\\](h) \\#1 \\@x"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := fence("a ````` b"); got != "``````" {
		t.Errorf("got %s", got)
	}
}
