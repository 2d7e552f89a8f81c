//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/kubeloupe/kubeloupe/inspect/report"
	"github.com/kubeloupe/kubeloupe/inspect/session"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/human"
)

// hostileText does what it can to whatever shows it: escape sequences of C0 and C1, text that is reordered, is not seen, or covers its
// neighbours, and bytes that are no UTF-8.
var hostileText = "\x1b]0;t\x07\x1b[2J\u009b2J\u0085\u202ecba\u2066\u200b\u200d\u00ad\ufeff\u2028\u2029\U000e0041\u3164\x7f\x00\r\b\xff\xc3" +
	strings.Repeat("\u0301", 9)

// facts are fields on whose values views decide.
var facts = []string{
	"Verb", "Op", "Phase", "State", "For", "Method", "Type", "Level", "Verdict", "By", "Code", "Result", "Probe", "When", "Use", "From", "To", "UID",
	"Why", "Mode", "Early", "Cause",
}

// spoil appends to every string but facts; with all, it replaces every string.
func spoil(v reflect.Value, all bool) {
	switch v.Kind() {
	case reflect.String:
		switch {
		case all && v.CanSet():
			v.SetString(hostileText)
		case v.CanSet() && v.Len() > 0:
			v.SetString(v.String() + hostileText)
		}
	case reflect.Struct:
		for i, f := range v.Fields() {
			if all || !slices.Contains(facts, i.Name) {
				spoil(f, all)
			}
		}
	case reflect.Pointer:
		if all && v.CanSet() {
			v.Set(reflect.New(v.Type().Elem()))
		}
		if !v.IsNil() {
			spoil(v.Elem(), all)
		}
	case reflect.Slice:
		if all && v.CanSet() {
			v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		}
		for i := range v.Len() {
			spoil(v.Index(i), all)
		}
	default:
	}
}

// hostileSession writes a session of which every text is hostile: a real one, and each event with nothing but such text.
func hostileSession(t *testing.T) string {
	t.Helper()
	var recs collector
	o := observed{from: filepath.Join("..", "..", "tui", "testdata", "recordings", "standalone.klr")}
	if _, err := o.fold(t.Context(), nil, &recs); err != nil {
		t.Fatal(err)
	}
	for i := range recs.recs {
		r := &recs.recs[i]
		spoil(reflect.ValueOf(r.Event), false)
		spoil(reflect.ValueOf(&r.Pod), false)
	}
	last := recs.recs[len(recs.recs)-1]
	for _, kind := range trace.Kinds() {
		for _, edge := range []trace.Edge{trace.EdgeBegin, trace.EdgeEnd, trace.EdgePoint} {
			e, _ := trace.New(kind)
			spoil(reflect.ValueOf(e), true)
			last.Seq++
			last.Edge, last.Event, last.Span = edge, e, trace.SpanID(last.Seq)
			recs.recs = append(recs.recs, last)
		}
	}
	file := filepath.Join(t.TempDir(), "hostile.jsonl")
	var b []byte
	for i := range recs.recs {
		var err error
		if b, err = recs.recs[i].AppendJSON(b); err != nil {
			t.Fatal(err)
		}
		b = append(b, '\n')
	}
	noneHostile(t, "records as JSON", b)
	if err := os.WriteFile(file, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// noneHostile checks that nothing in a program's output acts on a terminal. It writes no escape sequences of its own here.
func noneHostile(t *testing.T, what string, out []byte) {
	t.Helper()
	var marks human.Marks
	for i, r := range string(out) {
		if human.Hidden(r) && r != '\n' && r != '\t' || marks.Over(r) {
			t.Errorf("%s: %q comes out: %q", what, r, out[max(0, i-80):min(len(out), i+20)])
			return
		}
	}
	if !utf8.Valid(out) {
		t.Errorf("%s: what comes out is no UTF-8", what)
	}
}

// TestHostileText has every command show a session of hostile text in every form.
func TestHostileText(t *testing.T) {
	t.Setenv("LC_ALL", "C.UTF-8")
	from := hostileSession(t)
	s := session.New(session.Options{})
	if _, err := (&observed{from: from}).fold(t.Context(), nil, s); err != nil {
		t.Fatal(err)
	}
	pod := s.Runs()[0].Pod.String()
	commands := [][]string{
		{"trace", "--all"},
		{"trace", "--all", "-o", "json"},
		{"trace", "--all", "-o", "csv"},
		{"trace", "-o", "otlp-json"},
		{"why", "--all"},
		{"why", "--all", "-o", "json"},
		{"why", pod},
		{"why", pod, "-o", "json"},
		{"why", "--all", "--fail-on", "start>1ms"},
		{"events"},
		{"events", "-o", "wide"},
		{"events", "-o", "json"},
		{"replay", "-o", "json"},
		{"replay", "-o", "text"},
		{"trace", "--diff", pod, s.Runs()[1].Pod.String()},
		{"trace", "--diff", pod, pod, "-o", "json"},
		{"trace", "--diff", pod, pod, "-o", "markdown"},
		{"trace", pod + hostileText},
		{"why", hostileText},
		{"inspect", hostileText},
		{hostileText},
		{"trace", "--" + hostileText},
		{"events", "--kind", hostileText},
	}
	for _, f := range []string{"text", "json", "svg", "html", "markdown"} {
		commands = append(commands, []string{"trace", pod, "-o", f})
	}
	for _, sub := range report.Subjects() {
		for _, f := range []string{"table", "wide", "json", "yaml"} {
			commands = append(commands, []string{"inspect", sub.Name, "-o", f})
		}
	}
	for _, f := range []string{"table", "json", "yaml"} {
		commands = append(commands, []string{"inspect", "pod", pod, "-o", f})
	}
	told := 0
	for _, args := range commands {
		var out, errs bytes.Buffer
		full := append(slices.Clone(args), "--from", from)
		if args[0] == "replay" {
			full = append(slices.Clone(args), from)
		}
		execute(full, strings.NewReader(""), &out, &errs)
		what := strings.ToValidUTF8(human.Line(strings.Join(args, " ")), "?")
		noneHostile(t, what, out.Bytes())
		noneHostile(t, what+": errors", errs.Bytes())
		told += bytes.Count(out.Bytes(), []byte(`\u202ecba`))
		if format := args[len(args)-1]; out.Len() > 0 && args[0] != "events" && args[0] != "replay" {
			var v any
			if format == "json" {
				if err := json.Unmarshal(out.Bytes(), &v); err != nil {
					t.Errorf("%s: %v", what, err)
				}
			}
			if format == "yaml" {
				if err := yaml.Unmarshal(out.Bytes(), &v); err != nil {
					t.Errorf("%s: %v", what, err)
				}
			}
		}
	}
	if told < 100 {
		t.Errorf("hostile text came out escaped %d times: is it there?", told)
	}
}

// TestHostileTextInTerminal lets the program show it on a real pseudo-terminal, and drives the UI over it.
func TestHostileTextInTerminal(t *testing.T) {
	from := hostileSession(t)
	for _, args := range [][]string{{"events"}, {"why", "--all"}, {"inspect", "node"}, {"inspect", "pods"}, {"trace", "--all"}} {
		x := inTerminal(t, append(args, "--from", from)...)
		x.over()
		if err := x.cmd.Wait(); err != nil {
			t.Errorf("%s: %v", args[0], err)
		}
		out := strings.ReplaceAll(x.said(), "\r\n", "\n")
		if !strings.Contains(out, `\u00`) {
			t.Errorf("%s shows none of it: %q", args[0], out)
		}
		noneHostile(t, args[0], []byte(out))
	}
	x := inTerminal(t, "replay", from, "--speed", "max")
	x.sees("as fast as it goes") // on a busy machine it is at its end before it is drawn first
	for _, key := range []string{"1", "2", "\r", "3", "4", "5", "6", "9", "v", "u", "p"} {
		x.types(key)
		time.Sleep(20 * time.Millisecond) // whatever is drawn meanwhile is looked at
	}
	x.types("\x03")
	x.sees("\x1b[?1049l")
	out := x.said()
	for _, bad := range []string{"\x1b]0;t", "\u009b", "\u0085", "\u202e", "\u2066", "\u200b", "\u200d", "\u00ad", "\ufeff", "\u2028", "\U000e0041", "\u3164", "\x00", "\xff"} {
		if i := strings.Index(out, bad); i >= 0 {
			t.Errorf("the UI lets %q through: %q", bad, out[max(0, i-80):min(len(out), i+20)])
		}
	}
}
