package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSummary(t *testing.T) {
	for _, c := range []struct{ name, events, want string }{
		{
			"passes are quiet", `
{"Action":"start","Package":"p"}
{"Action":"run","Package":"p","Test":"TestA"}
{"Action":"output","Package":"p","Test":"TestA","Output":"=== RUN   TestA\n"}
{"Action":"output","Package":"p","Test":"TestA","Output":"noise\n"}
{"Action":"pass","Package":"p","Test":"TestA/sub"}
{"Action":"pass","Package":"p","Test":"TestA"}
{"Action":"output","Package":"p","Output":"PASS\n"}
{"Action":"output","Package":"p","Output":"ok  \tp\t0.1s\n"}
{"Action":"pass","Package":"p"}`,
			"ok  \tp\t0.1s\n\n2 passed, 0 failed\n",
		},
		{
			"failures are told", `
{"Action":"output","Package":"p","Test":"TestA","Output":"    a_test.go:1: wrong\n"}
{"Action":"output","Package":"p","Test":"TestB","Output":"fine\n"}
{"Action":"fail","Package":"p","Test":"TestA"}
{"Action":"pass","Package":"p","Test":"TestB"}
{"Action":"output","Package":"p","Output":"FAIL\n"}
{"Action":"fail","Package":"p"}`,
			"    a_test.go:1: wrong\nFAIL\n\n1 passed, 1 failed\n",
		},
		{
			"what died in the middle is told", `
{"Action":"pass","Package":"p","Test":"TestA"}
{"Action":"output","Package":"p","Test":"TestB","Output":"panic: oh\n"}
{"Action":"output","Package":"p","Output":"FAIL\tp\t0.1s\n"}
{"Action":"fail","Package":"p"}`,
			"FAIL\tp\t0.1s\npanic: oh\n\n1 passed, 1 failed\n",
		},
		{
			"what does not compile is told", `
{"ImportPath":"p [p.test]","Action":"build-output","Output":"# p\n"}
{"ImportPath":"p [p.test]","Action":"build-output","Output":"./p.go:1:1: bad\n"}
{"ImportPath":"p [p.test]","Action":"build-fail"}
{"Action":"output","Package":"p","Output":"FAIL\tp [build failed]\n"}
{"Action":"fail","Package":"p","FailedBuild":"p [p.test]"}`,
			"# p\n./p.go:1:1: bad\nFAIL\tp [build failed]\n\n0 passed, 1 failed\n",
		},
		{
			"skips say why", `
{"Action":"output","Package":"p","Test":"TestA","Output":"=== RUN   TestA\n"}
{"Action":"output","Package":"p","Test":"TestA","Output":"    a_test.go:20: needs root: try sudo\n"}
{"Action":"output","Package":"p","Test":"TestA","Output":"--- SKIP: TestA (0.00s)\n"}
{"Action":"skip","Package":"p","Test":"TestA"}
{"Action":"skip","Package":"p","Test":"TestB"}
{"Action":"output","Package":"q","Output":"?   \tq\t[no test files]\n"}
{"Action":"skip","Package":"q"}`,
			"?   \tq\t[no test files]\n\nskipped:\n  p TestA: needs root: try sudo\n  p TestB\n\n0 passed, 0 failed, 2 skipped\n",
		},
		{"what is no event is shown", "\ngo: no such module\n", "\ngo: no such module\n\n0 passed, 0 failed\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out strings.Builder
			s := newSummary(&out)
			if c.name != "what is no event is shown" {
				c.events = strings.TrimPrefix(c.events, "\n")
			}
			if err := s.read(strings.NewReader(c.events)); err != nil {
				t.Fatal(err)
			}
			if err := s.close(); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, out.String()); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// TestRun has the real go test say what these summaries are made of.
func TestRun(t *testing.T) {
	dir := t.TempDir()
	for name, src := range map[string]string{
		"go.mod":           "module m\n\ngo 1.26\n",
		"good/a_test.go":   "package a\nimport \"testing\"\nfunc TestA(t *testing.T) {}\nfunc TestB(t *testing.T) { t.Skip(\"not today\") }\n",
		"bad/a_test.go":    "package a\nimport \"testing\"\nfunc TestA(t *testing.T) { t.Run(\"x\", func(t *testing.T) { t.Error(\"wrong\") }) }\n",
		"broken/a_test.go": "package a\nvar x int = \"\"\n",
		"dead/a_test.go":   "package a\nimport \"testing\"\nfunc TestA(t *testing.T) { panic(\"oh\") }\n",
	} {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(src), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	var out strings.Builder
	if err := run([]string{"./good"}, &out); err != nil {
		t.Errorf("%v\n%s", err, &out)
	}
	if got, want := out.String(), "\nskipped:\n  m/good TestB: not today\n\n1 passed, 0 failed, 1 skipped\n"; !strings.HasPrefix(got, "ok  \tm/good\t") || !strings.HasSuffix(got, want) {
		t.Errorf("got %q, want ok and %q", got, want)
	}
	out.Reset()
	if err := run([]string{"./..."}, &out); err == nil {
		t.Error("no error for failures")
	}
	for _, want := range []string{"a_test.go:3: wrong", "panic: oh", "FAIL\tm/broken [build failed]", "cannot use", "\n1 passed, 4 failed, 1 skipped\n"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, &out)
		}
	}
}
