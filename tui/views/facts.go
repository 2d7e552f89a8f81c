package views

import (
	"fmt"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/model"
	"github.com/kubeloupe/kubeloupe/tui/style"
)

// facts are lines of a page that tells all of one thing.
type facts struct {
	th    *style.Theme
	lines []Text
}

// add adds a fact that is known.
func (f *facts) add(label, value string, tone style.Tone) {
	if value != "" {
		f.lines = append(f.lines, Text{Line: f.th.Left(label, 12) + " " + f.th.Clean(value), Tone: tone, Indent: 13})
	}
}

func (f *facts) head(title string) {
	f.lines = append(f.lines, Text{}, Text{Line: title, Tone: style.Strong})
}

// waits adds what is waited for now, and what was.
func (f *facts) waits(now []model.Wait, over []model.WaitTotal, at time.Time) {
	for i := range now {
		f.add("waits", style.Age(at.Sub(now[i].Since))+"  "+now[i].Text(), style.Slow)
	}
	for _, t := range over {
		f.add("waited", fmt.Sprintf("%s  %s, %s times", style.Dur(t.Dur), t.For, style.Count(t.Count)), style.Plain)
	}
}
