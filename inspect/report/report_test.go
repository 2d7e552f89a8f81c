package report_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"github.com/kubeloupe/kubeloupe/inspect/internal/tape"
	"github.com/kubeloupe/kubeloupe/inspect/model"
	"github.com/kubeloupe/kubeloupe/inspect/report"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/human"
	"github.com/kubeloupe/kubeloupe/trace/jsonl"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// session folds a recorded session of inspect/backlog's testdata.
func session(t testing.TB, name string) (*model.Model, time.Time) {
	t.Helper()
	f, err := os.Open(filepath.Join("..", "backlog", "testdata", name+".jsonl.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	m := model.New(model.Options{})
	for r, err := range jsonl.Read(z) {
		if err != nil {
			t.Fatal(err)
		}
		m.Apply(&r)
	}
	return m, m.Node().Last.Add(time.Second)
}

func answer(t testing.TB, name string) json.RawMessage {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func write(t testing.TB, table *report.Table, f report.Format, width int) string {
	t.Helper()
	var b bytes.Buffer
	if err := report.Write(&b, table, f, width); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

func TestSubjects(t *testing.T) {
	for _, c := range []struct{ name, session, subject, pod, live string }{
		{"pods", "session", "pods", "", ""},
		{"pods-one", "session", "pods", "web-00", ""},
		{"pod-pulling", "session", "pod", "shop/cart-7d4f-x2z", ""},
		{"pod-backoff", "session", "pod", "", ""},
		{"pod-cluster", "cluster", "pod", "shop/web-00", ""},
		{"pod-volume", "cluster", "pod", "db-1", ""},
		{"workers", "session", "workers", "", ""},
		{"loop", "session", "loop", "", ""},
		{"cri", "session", "cri", "", ""},
		{"gc", "session", "gc", "", ""},
		{"volumes", "cluster", "volumes", "", ""},
		{"resources", "machine", "resources", "", ""},
		{"resources-none", "session", "resources", "", ""},
		{"resources-claims", "claims", "resources", "", ""},
		{"resources-claims-pod", "claims", "resources", "radio/l1-0", ""},
		{"resources-pod", "machine", "resources", "net/dpdk-1", ""},
		{"resources-attached", "attached", "resources", "", ""},
		{"node", "session", "node", "", ""},
		{"node-cluster", "cluster", "node", "", "node"},
		{"images", "session", "images", "", "images"},
		{"cgroup", "session", "cgroup", "", "cgroup"},
		{"config", "session", "config", "", "config"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m, now := session(t, c.session)
			if c.name == "pod-backoff" {
				c.pod = backingOff(t, m)
			}
			args := report.Args{Pod: c.pod, Now: now}
			if c.live != "" {
				args.Live = answer(t, c.live)
			}
			table, err := report.Make(c.subject, m, args)
			if err != nil {
				t.Fatal(err)
			}
			narrow := write(t, table, report.Text, 80)
			for line := range strings.Lines(narrow) {
				if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 80 {
					t.Errorf("%d columns: %s", n, line)
				}
			}
			golden(t, c.name+"-80.txt", narrow)
			golden(t, c.name+".txt", write(t, table, report.Wide, 0))
			golden(t, c.name+".yaml", write(t, table, report.YAML, 0))
			same(t, table)
		})
	}
}

func backingOff(t *testing.T, m *model.Model) string {
	t.Helper()
	for _, p := range m.Pods() {
		if p.State() == model.StateBackingOff {
			return p.Key.String()
		}
	}
	t.Fatal("no pod backs off")
	return ""
}

// same holds that the YAML and the JSON say the same.
func same(t *testing.T, table *report.Table) {
	t.Helper()
	var fromJSON, fromYAML any
	if err := json.Unmarshal([]byte(write(t, table, report.JSON, 0)), &fromJSON); err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal([]byte(write(t, table, report.YAML, 0)), &fromYAML); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(fmt.Sprint(floats(fromJSON)), fmt.Sprint(floats(fromYAML))); diff != "" {
		t.Errorf("JSON and YAML differ (-JSON +YAML):\n%s", diff)
	}
}

// floats makes all numbers float64, as JSON has them.
func floats(v any) any {
	switch v := v.(type) {
	case int:
		return float64(v)
	case uint64:
		return float64(v)
	case []any:
		for i := range v {
			v[i] = floats(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = floats(v[k])
		}
	}
	return v
}

func TestNothing(t *testing.T) {
	m := model.New(model.Options{})
	for subject, want := range map[string]string{
		"pods": "No pods.\n", "workers": "No workers.\n", "loop": "No iterations.\n", "cri": "No calls in the last minute.\n",
		"gc": "No garbage collection yet.\n", "volumes": "No volumes.\n",
	} {
		table, err := report.Make(subject, m, report.Args{})
		if err != nil {
			t.Fatal(err)
		}
		if got := write(t, table, report.Text, 80); got != want {
			t.Errorf("%s: %q", subject, got)
		}
		if got := write(t, table, report.JSON, 0); !strings.HasPrefix(got, "{\n  \"items\": []") {
			t.Errorf("%s: %s", subject, got)
		}
	}
}

func TestErrors(t *testing.T) {
	m, now := session(t, "session")
	for _, c := range []struct {
		subject, pod, live, want string
	}{
		{"weather", "", "", `subject "weather" not found: must be one of pods, pod,`},
		{"images", "", "", "needs a running agent"},
		{"images", "", `{}`, "the agent's answer: json"},
		{"config", "", `[]`, "the agent's answer: json"},
		{"pod", "", "", "inspect pod: a pod is missing: must be NAMESPACE/NAME"},
		{"pod", "shop/web-0", "", `pod "shop/web-0" not found (did you mean shop/web-00, shop/web-01,`},
		{"pod", "shop/zzz", "", `pod "shop/zzz" not found: none of the`},
	} {
		_, err := report.Make(c.subject, m, report.Args{Pod: c.pod, Now: now, Live: json.RawMessage(c.live)})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %s: %v, want %s", c.subject, c.pod, err, c.want)
		}
	}
	if _, err := report.ParseFormat("xml"); err == nil || !strings.Contains(err.Error(), "must be table, wide, name, json, yaml or jsonpath=TEMPLATE") {
		t.Error(err)
	}
}

// TestForeignText brings no escape codes and stays on its line.
func TestForeignText(t *testing.T) {
	tp := tape.New()
	pod := trace.Pod{Namespace: "shop", Name: "web", UID: "1"}
	tp.Point(0, pod, 0, &trace.PodStatus{Phase: trace.PodPending, Reason: "\x1b[31mred\nline\u009b2J", Message: strings.Repeat("é", 300)})
	m := model.New(model.Options{})
	for _, r := range tp.Records() {
		m.Apply(&r)
	}
	for _, subject := range []string{"pods", "pod"} {
		table, err := report.Make(subject, m, report.Args{Pod: "web", Now: tape.Epoch})
		if err != nil {
			t.Fatal(err)
		}
		if got := write(t, table, report.Wide, 100); strings.ContainsAny(got, "\x1b\u009b") {
			t.Errorf("%q", got)
		}
		same(t, table)
	}
}

// FuzzYAML holds that any text comes back from YAML as it was, and that nothing of it acts on a terminal.
func FuzzYAML(f *testing.F) {
	for _, s := range []string{
		"", "a: b", "- x", "yes", "1e3", "0x10", "~", "#", "a #b", "\u2028", "\x7f", "é", "'", "2026-01-01", "!tag", "*a", "a\nb", " a", "\n  a\n\n", strings.Repeat("word ", 19),
		"on", "1:30", "0o7", "=", "<<", "\u202e", "\U000e0041", "\U0001f600", "e\u0301\u0301\u0301\u0301\u0301\u0301", "a\u200d: \u0301",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if !utf8.ValidString(s) || len(s) > 100 { // YAML has no keys of more than 1024 characters
			t.Skip()
		}
		live, err := json.Marshal(map[string]any{s: []any{s, map[string]any{"k": s}, []any{}, []any{[]any{s}}, map[string]any{}, nil, math.Pi}})
		if err != nil {
			t.Fatal(err)
		}
		table, err := report.Make("config", model.New(model.Options{}), report.Args{Live: live})
		if err != nil {
			t.Fatal(err)
		}
		same(t, table)
		if text := write(t, table, report.YAML, 0); human.Visible(text) != text {
			t.Errorf("hidden characters in %q", text)
		}
	})
}

func BenchmarkPods(b *testing.B) {
	m, now := session(b, "session")
	b.ReportAllocs()
	for b.Loop() {
		table, err := report.Make("pods", m, report.Args{Now: now})
		if err != nil {
			b.Fatal(err)
		}
		write(b, table, report.Text, 120)
	}
}
