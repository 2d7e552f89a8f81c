package worker

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var rewrite = flag.Bool("rewrite", false, "write what the machine does into testdata/*.txt")

// TestMachine runs the scripts. A script starts with a prose header of # lines. Then each "> command" is followed by
// the machine's answer:
//
//	> ask [pod=NAME] [spec-grace=N] [end] [grace=N] [remove] [reason=TEXT] [cause=TEXT]
//	> wake [cause=TEXT] [retry]
//	> next
//	> finish [over] [failed]
//
// finish ends the work that the last next returned.
func TestMachine(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := play(t, string(want))
			if *rewrite {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if d := cmp.Diff(string(want), got); d != "" {
				t.Errorf("the machine behaves otherwise (-script +machine); -rewrite accepts it:\n%s", d)
			}
		})
	}
}

// play answers the script's commands and keeps its comments and blank lines.
func play(t *testing.T, script string) string {
	t.Helper()
	var out strings.Builder
	p := player{t: t, mach: machine{state: None}}
	for line := range strings.Lines(script) {
		switch {
		case strings.HasPrefix(line, "> "):
			out.WriteString(line)
			out.WriteString(p.command(strings.Fields(line[2:])))
		case strings.HasPrefix(line, "#") || strings.TrimSpace(line) == "":
			out.WriteString(line)
		}
	}
	return out.String()
}

type player struct {
	t    *testing.T
	mach machine
	work Work // what the last next returned
}

func (p *player) command(words []string) string {
	p.t.Helper()
	args := map[string]string{}
	for _, w := range words[1:] {
		k, v, _ := strings.Cut(w, "=")
		args[k] = v
	}
	has := func(k string) bool { _, ok := args[k]; return ok }
	before := p.mach.state
	var said []string
	switch words[0] {
	case "ask":
		if p.mach.ask(p.askOf(args)) {
			said = append(said, "interrupt")
		}
	case "wake":
		if !p.mach.wake(Cause{Text: args["cause"], Retry: has("retry")}) {
			said = append(said, "ignored")
		}
	case "next":
		w, ok := p.mach.next()
		if !ok {
			said = append(said, "rest")
			break
		}
		p.work = w
		said = append(said, describe(w))
	case "finish":
		p.mach.finish(p.work, has("over"), has("failed"))
		if has("failed") && p.mach.due == woken {
			said = append(said, "work is due, and may wait for the next try")
		}
	default:
		p.t.Fatalf("no such command: %q", words[0])
	}
	if p.mach.state != before {
		said = append(said, fmt.Sprintf("%s → %s", before, p.mach.state))
	}
	if a := p.mach.again; a != nil && words[0] == "ask" {
		said = append(said, "kept for later: "+a.Pod.Name)
	}
	if len(said) == 0 {
		said = append(said, "ok")
	}
	return "  " + strings.Join(said, "\n  ") + "\n"
}

func (p *player) askOf(args map[string]string) Ask {
	p.t.Helper()
	a := Ask{Reason: args["reason"], Cause: Cause{Text: args["cause"]}}
	_, a.End = args["end"]
	_, a.Remove = args["remove"]
	a.Grace = p.seconds(args, "grace")
	if name := args["pod"]; name != "" {
		a.Pod = &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}}
		a.Pod.Spec.TerminationGracePeriodSeconds = p.seconds(args, "spec-grace")
	}
	return a
}

func (p *player) seconds(args map[string]string, key string) *int64 {
	p.t.Helper()
	text, ok := args[key]
	if !ok {
		return nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		p.t.Fatalf("%s: %v", key, err)
	}
	return &n
}

func describe(w Work) string {
	s := fmt.Sprintf("%s %s", w.State, w.Pod.Name)
	if w.Grace != nil {
		s += fmt.Sprintf(" grace=%d", *w.Grace)
	}
	if w.Reason != "" {
		s += fmt.Sprintf(" reason=%q", w.Reason)
	}
	if w.Remove {
		s += " remove"
	}
	causes := make([]string, 0, len(w.Causes))
	for _, c := range w.Causes {
		causes = append(causes, c.Text)
	}
	return s + " causes=" + strings.Join(causes, ",")
}
