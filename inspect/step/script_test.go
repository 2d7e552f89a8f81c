package step

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kubeloupe/kubeloupe/trace"
)

var update = flag.Bool("update", false, "write the scripts' outputs anew")

// TestScripts runs testdata/*.txt. A line that begins with ">" is typed; one that begins with "=" is an event: run, end
// (a plan that terminates the pod), fail ACTION: ERROR, fix ACTION, took ACTION: DURATION, pass MILESTONE, node LINE;
// LINE, close. The other lines are the output and the pod's position after it.
func TestScripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var got string
			synctest.Test(t, func(t *testing.T) { got = play(t, string(want)) })
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(string(want), got); diff != "" && !*update {
				t.Error(diff)
			}
		})
	}
}

func play(t *testing.T, script string) string {
	f := setup(t, trace.Pod{Namespace: "default", Name: "web"})
	defer f.Close()
	var out strings.Builder
	for line := range strings.Lines(script) {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case strings.HasPrefix(line, "#"), line == "":
			out.WriteString(line + "\n")
		case strings.HasPrefix(line, ">"), strings.HasPrefix(line, "="):
			out.WriteString(line + "\n")
			out.WriteString(f.play(line))
		}
	}
	return out.String()
}

// play executes a line, and returns its output.
func (f *fixture) play(line string) string {
	text := strings.TrimSpace(line[1:])
	said := ""
	if line[0] == '>' {
		out, err := f.Do(f.t.Context(), text)
		if said = out; err != nil {
			said = "error: " + err.Error()
		}
	} else {
		f.happen(text)
	}
	synctest.Wait()
	if said != "" {
		said = "  " + strings.ReplaceAll(said, "\n", "\n  ") + "\n"
	}
	select {
	case stop := <-f.Stops():
		said += "  stop: " + stop.Place()
		if stop.Attempt > 1 {
			said += "  try " + string(rune('0'+stop.Attempt))
		}
		for _, x := range []string{stop.Hit, stop.Err, strings.Join(stop.Changed, "; ")} {
			if x != "" {
				said += "  (" + x + ")"
			}
		}
		if !stop.Waits() {
			said += ": " + stop.News()
		}
		said += "\n"
	default:
	}
	if f.over {
		said += "  over; done: " + strings.Join(f.done, ", ") + "\n"
		f.over, f.done = false, nil
	}
	return said
}

func (f *fixture) happen(text string) {
	what, rest, _ := strings.Cut(text, " ")
	id, arg, _ := strings.Cut(rest, ": ")
	switch what {
	case "run", "end":
		f.ends = what == "end"
		p := plan
		if f.ends {
			p = trace.Plan{Why: "it was deleted", Steps: []trace.PlanStep{{ID: "kill main", Verb: trace.VerbKill}, {ID: "unmount", Verb: trace.VerbUnmount}}}
		}
		f.run(p)
	case "fail":
		f.fail[id] = errors.New(arg)
	case "mend":
		delete(f.fail, id)
	case "took":
		d, err := time.ParseDuration(arg)
		if err != nil {
			f.t.Fatal(err)
		}
		f.took[id] = d
	case "pass":
		f.note(&trace.Record{Pod: web, Event: &trace.Milestone{Name: trace.MilestoneName(id), Since: 2 * time.Second}})
	case "node":
		f.node.set(false, strings.Split(rest, "; ")...)
	case "close":
		f.Close()
	default:
		f.t.Fatalf("%q: no such thing can happen", text)
	}
}
