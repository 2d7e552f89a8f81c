package views

import (
	"strings"

	"charm.land/bubbles/v2/key"

	"github.com/kubeloupe/kubeloupe/inspect/waterfall"
	"github.com/kubeloupe/kubeloupe/trace/fit"
	"github.com/kubeloupe/kubeloupe/tui/keys"
	"github.com/kubeloupe/kubeloupe/tui/learn"
	"github.com/kubeloupe/kubeloupe/tui/style"
)

// teachKey opens and closes the learner's panel.
func teachKey() key.Binding { return keys.Of("explain the selected row, for learners", "L") }

// lessonLength is about how many columns the longest lesson takes.
const lessonLength = 280

// lessonHeight is how many lines the panel takes in w columns: a rule, the text, what to read. It does not depend on
// the lesson, lest the page jump.
func lessonHeight(w int) int {
	n := 2 + (lessonLength+w-3)/max(w-2, 1)
	if w < 100 { // what to read may take two lines
		n++
	}
	return n
}

// drawLesson draws the panel; without a lesson it says how to get one.
func drawLesson(th *style.Theme, l *learn.Lesson, w int) []string {
	if l == nil {
		return []string{th.Rule("learn", w), th.Paint(style.Dim, th.Cut(" Select a row of the waterfall to see its explanation. L closes the panel.", w))}
	}
	out := []string{th.Rule("learn: "+l.Title, w)}
	for _, line := range fit.Wrap(l.Text, w-2) {
		out = append(out, " "+line)
	}
	lead := " read: "
	for rest := l.Read; rest != ""; lead = "       " {
		line := rest
		if room := w - len(lead) - 1; len(line) > room { // addresses have no spaces: break at a slash
			line = rest[:max(strings.LastIndexByte(rest[:room], '/')+1, 1)]
		}
		out, rest = append(out, th.Paint(style.Dim, th.Cut(lead+line, w))), rest[len(line):]
	}
	return out
}

// panel is how many lines the learner's panel takes, 0 while it is closed or has no room.
func (p *Pod) panel() int {
	n := lessonHeight(p.w)
	if !p.Scene.Learn || p.aside || !p.known || p.h-podHead-n < 4 {
		return 0
	}
	return n
}

// lesson draws the panel for the row under the cursor; above and below the waterfall for the one that took most of the start.
func (p *Pod) lesson() []string {
	row := p.longestBar()
	if p.cur < len(p.lines) && p.lines[p.cur].bar != nil {
		row = p.lines[p.cur].bar
	}
	if row == nil {
		return drawLesson(p.Theme, nil, p.w)
	}
	return drawLesson(p.Theme, new(learn.Of(row.Row)), p.w)
}

// longestBar is the longest row on the critical path, nil if there is none.
func (p *Pod) longestBar() (most *waterfall.Line) {
	for i := range p.lines {
		if b := p.lines[i].bar; b != nil && b.Critical && (most == nil || b.Dur() > most.Dur()) {
			most = b
		}
	}
	return most
}
