package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/kubeloupe/kubeloupe/test/lab"
)

func run1(agent lab.AgentKind, minute int, full bool, states ...string) result {
	r := result{Agent: agent, Begin: time.Date(2026, 11, 21, 3, minute, 0, 0, time.UTC), Seconds: 61, Full: full}
	for i, state := range states {
		r.Tests = append(r.Tests, outcome{Name: string(rune('a' + i)), State: state, Seconds: 2})
	}
	return r
}

// The newest full runs are compared, and a run of some tests with them.
func TestShow(t *testing.T) {
	kept := results{dir: t.TempDir()}
	for _, r := range []result{
		run1(lab.Upstream, 1, true, "failed", "failed", "failed"),
		run1(lab.Upstream, 2, true, "passed", "failed", "skipped"),
		run1(lab.Upstream, 3, false, "failed"),
		run1(lab.Kubeloupe, 4, true, "passed", "failed", "passed"),
	} {
		if err := kept.add(r); err != nil {
			t.Fatal(err)
		}
	}
	for _, tc := range []struct {
		name string
		ran  *result
		want []string // in the output
		not  string
		fail string // in the error
	}{
		{"kept", nil, []string{"passed    2s     passed    2s     a", "failed    2s     failed    2s     b", "upstream: 1 passed, 1 failed, 1 skipped in 1m1s"}, "", ""},
		{"worse", new(run1(lab.Kubeloupe, 5, true, "failed", "passed", "passed")), []string{"passed    2s     failed    2s     a"}, "", "1 tests that upstream passes do not pass here, the first: a"},
		{"some", new(run1(lab.Kubeloupe, 6, false, "passed")), []string{"passed    2s     passed    2s     a"}, " b\n", ""},
		{"upstream", new(run1(lab.Upstream, 7, true, "passed", "passed", "passed")), []string{"passed    2s     failed    2s     b"}, "", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var out bytes.Buffer
			err := show(kept, &out, tc.ran)
			if (err != nil) != (tc.fail != "") || err != nil && !strings.Contains(err.Error(), tc.fail) {
				t.Errorf("error %v, want %q", err, tc.fail)
			}
			for _, want := range tc.want {
				if !strings.Contains(out.String(), want) {
					t.Errorf("no %q in:\n%s", want, out.String())
				}
			}
			if tc.not != "" && strings.Contains(out.String(), tc.not) {
				t.Errorf("%q in:\n%s", tc.not, out.String())
			}
		})
	}
}

// Without a reference, every failure counts.
func TestVerdictAlone(t *testing.T) {
	if err := verdict(nil, new(run1(lab.Kubeloupe, 1, true, "passed", "skipped"))); err != nil {
		t.Error(err)
	}
	if err := verdict(nil, new(run1(lab.Kubeloupe, 1, true, "passed", "timedout"))); err == nil {
		t.Error("a failure without a reference is well")
	}
}

func TestParse(t *testing.T) {
	for _, env := range []string{"AGENT", "PROCS", "FOCUS", "SKIP", "LAB_DIR"} {
		t.Setenv(env, "")
	}
	o, err := parse(nil)
	if err != nil || o.agent != lab.Kubeloupe || o.procs != 8 || !o.full() {
		t.Errorf("%+v, %v", o, err)
	}
	t.Setenv("FOCUS", "Pods")
	t.Setenv("AGENT", "upstream")
	if o, err = parse([]string{"--procs=2", "--keep"}); err != nil || o.agent != lab.Upstream || o.procs != 2 || o.full() || !o.keep {
		t.Errorf("%+v, %v", o, err)
	}
	t.Setenv("AGENT", "crio")
	if _, err := parse(nil); err == nil || !strings.Contains(err.Error(), "crio") {
		t.Errorf("%v, want an error that names the agent", err)
	}
}

func TestGates(t *testing.T) {
	for text, want := range map[string]string{"": "", "B=true,A=false": "A=false,B=true", "A=1": "A=true"} {
		gates, err := parseGates(text)
		if got := flagOf(gates); err != nil || got != want {
			t.Errorf("%q: %q, %v, want %q", text, got, err, want)
		}
	}
	for _, text := range []string{"A", "A=", "=true", "A=yes", "A=true;B=true"} {
		if gates, err := parseGates(text); err == nil {
			t.Errorf("%q: %v", text, gates)
		}
	}
}
