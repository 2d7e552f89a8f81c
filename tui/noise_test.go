package tui

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/kubeloupe/kubeloupe/inspect/recording"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/say/noise"
	"github.com/kubeloupe/kubeloupe/trace/tracetest"
	"github.com/kubeloupe/kubeloupe/tui/tuitest"
	"github.com/kubeloupe/kubeloupe/tui/views"
)

// walks are keys that are pressed in every view: rows are chosen, opened and looked at in each of the ways that there are.
var walks = []string{"", "j", "enter", "j", "enter", "L", "j j", "esc", "G", "enter", "G", "enter", "m", "a", "s", "S"}

// glances are those in panels.
var glances = []string{"", "j", "enter"}

// TestNoise: no view decides on a text. All texts in the records are replaced by noise, and all that are rendered; then the same keys lead to
// the same pages, with the same lines, tones and figures, and only words differ.
func TestNoise(t *testing.T) {
	for name, recs := range noiseSessions(t) {
		bubble(t, name, func(t *testing.T) {
			noisy := make([]trace.Record, len(recs))
			for i := range recs {
				noisy[i] = tracetest.Noise(recs[i], "StatusPatch.Patch") // it is shown as it is
			}
			of := func(recs []trace.Record) []shot {
				if strings.HasSuffix(name, ".klr") { // the scripted sessions have all that there is, and walking through each recording takes minutes
					return tour(t, recs, glances, false)
				}
				return append(tour(t, recs, walks, false), tour(t, recs, glances, true)...)
			}
			plain := of(recs)
			noise.On(true)
			defer noise.On(false)
			other := of(noisy)
			if len(plain) != len(other) {
				t.Fatalf("got %d screens in noise, want %d", len(other), len(plain))
			}
			for i := range plain {
				if diff := plain[i].differs(&other[i]); diff != "" {
					t.Errorf("%s: %s", plain[i].what, diff)
				}
			}
		})
	}
}

// noiseSessions are the scripted sessions and the recorded ones.
func noiseSessions(t *testing.T) map[string][]trace.Record {
	t.Helper()
	all := map[string][]trace.Record{"session": tuitest.Session(), "cluster": tuitest.Cluster(), "shortage": tuitest.Shortage(), "spans": tuitest.Spans(), "machine": tuitest.Machine(), "claims": tuitest.Claims(), "attached": tuitest.Attached()}
	files, err := filepath.Glob("testdata/recordings/*.klr")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d recordings, %v", len(files), err)
	}
	for _, file := range files {
		rd, err := recording.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		for i, err := range rd.All() {
			if err != nil {
				t.Fatal(err)
			}
			all[file] = append(all[file], i.Rec)
		}
		_ = rd.Close()
	}
	return all
}

// shot is a screen, and how one came to it.
type shot struct{ what, frame string }

// bars are as long as the words beside them leave room, and so is the axis above them.
var bars = regexp.MustCompile(`[▏▁▂▃▄▅▆▇█░┄]+|  0s(?: +[0-9.]+[a-zµ]+)+`)

// alike has all bars and axes of a frame alike.
func alike(frame string) string {
	var b strings.Builder
	for line := range strings.Lines(frame) {
		// The blocks begin with the same two bytes. Looking for each of them in each line took a quarter of this package's tests.
		if strings.Contains(line, "█"[:2]) || strings.Contains(line, "┄") || strings.Contains(line, "  0s") {
			line = bars.ReplaceAllString(line, "▇")
		}
		b.WriteString(line)
	}
	return b.String()
}

// tour draws every view and every pod, at the end of the records and in the middle, on a screen on which nothing is cut: beside a list, a pod
// has only a part of it.
func tour(t *testing.T, recs []trace.Record, walks []string, panels bool) (out []shot) {
	t.Helper()
	width := 600
	if panels {
		width = 2400
	}
	for _, part := range []int{2, 1} {
		some := recs[:len(recs)/part]
		d := drive(t, Config{Env: []string{"TERM=xterm-256color"}}, width, 300)
		d.app.look.Scene.Panels = panels
		for _, tab := range d.app.tabs {
			d.app.fit(tab.page)
		}
		d.now = some[len(some)-1].At().Add(time.Second)
		d.app.apply([]chunk{{recs: some}})
		d.app.setNow()
		d.app.refresh()
		shoot := func(what string) {
			out = append(out, shot{fmt.Sprintf("1/%d %s", part, what), d.app.top().Name() + "\n" + alike(d.app.view())})
		}
		for i, name := range ViewNames() {
			d.keys("esc esc esc " + d.app.tabs[i].digit)
			pressed := name
			for _, keys := range walks {
				d.keys(keys)
				pressed += " " + keys
				shoot(pressed)
			}
		}
		for _, p := range d.app.model.Pods() {
			d.keys("esc esc esc")
			d.send(views.OpenPod{Pod: p.Key})
			shoot("pod " + p.Key.String())
		}
	}
	return out
}

// differs says in what a screen drawn in noise is another one than s.
func (s *shot) differs(noisy *shot) string {
	a, b := strings.Split(s.frame, "\n"), strings.Split(noisy.frame, "\n")
	for i := range max(len(a), len(b)) {
		switch {
		case i >= len(a):
			return fmt.Sprintf("line %d is there in noise only: %q", i, ansi.Strip(b[i]))
		case i >= len(b):
			return fmt.Sprintf("line %d is not there in noise: %q", i, ansi.Strip(a[i]))
		case a[i] == b[i]:
		case !tracetest.OnlyWords(ansi.Strip(a[i]), ansi.Strip(b[i])):
			return fmt.Sprintf("line %d is\n%s\nin noise\n%s", i, strings.TrimSpace(ansi.Strip(a[i])), strings.TrimSpace(ansi.Strip(b[i])))
		case tones(a[i]) != tones(b[i]):
			return fmt.Sprintf("line %d has the tones %q, in noise %q:\n%s\n%s", i, tones(a[i]), tones(b[i]), ansi.Strip(a[i]), ansi.Strip(b[i]))
		}
	}
	return ""
}

// tones are the looks of a line's parts.
func tones(line string) string { return strings.Join(sgr.FindAllString(line, -1), "") }
