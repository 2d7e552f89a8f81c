package tui

import (
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/kubeloupe/kubeloupe/trace/fit"
	"github.com/kubeloupe/kubeloupe/tui/learn"
	"github.com/kubeloupe/kubeloupe/tui/style"
	"github.com/kubeloupe/kubeloupe/tui/views"
)

const (
	// lessonLength is about how many columns the longest lesson takes.
	lessonLength = 320
	// leastPage is how many lines a page keeps beside the learner's panel.
	leastPage = 8
)

// lessonHeight is how many lines the learner's panel takes: its border or rule, the text, what to read; 0 while it is closed, or has no room. It
// does not depend on the lesson, lest the page jump.
func (a *app) lessonHeight() int {
	if !a.look.Scene.Learn {
		return 0
	}
	w := max(a.w, minWidth) - 2
	n := 2 + (lessonLength+w-1)/w
	if w < panelColumns { // what to read may take two lines
		n++
	}
	if a.look.Scene.Panels {
		n++
	}
	if a.bodyHeight()-n < leastPage {
		return 0
	}
	return n
}

// pageHeight is how many lines a page has, with its border.
func (a *app) pageHeight() int { return a.bodyHeight() - a.lessonHeight() }

// taught appends the learner's panel to the lines of the page.
func (a *app) taught(lines []string) []string {
	n := a.lessonHeight()
	if n == 0 {
		return lines
	}
	for len(lines) < a.pageHeight() {
		lines = append(lines, "")
	}
	return append(lines[:a.pageHeight()], a.drawLesson(a.lesson(), n)...)
}

// drawLesson draws the panel with a lesson.
func (a *app) drawLesson(l learn.Lesson, n int) []string {
	th, w := a.look.Theme, a.w
	if a.look.Scene.Panels {
		w -= style.PanelSides
	}
	var out []string
	for _, line := range fit.Wrap(l.Text, w-2) {
		out = append(out, " "+line)
	}
	lead := " read: "
	for rest := l.Read; rest != ""; lead = "       " {
		line := rest
		if room := w - len(lead) - 1; len(line) > room { // addresses have no spaces: break at a slash, too
			at := strings.LastIndexAny(rest[:room], "/ ") + 1
			if at == 0 {
				at = room
			}
			line = rest[:at]
		}
		out, rest = append(out, th.Paint(style.Dim, th.Cut(lead+line, w))), rest[len(line):]
	}
	if a.look.Scene.Panels {
		return th.Panel(style.Panel{Title: "learn: " + l.Title, Count: "L closes"}, out, a.w, n)
	}
	return append([]string{th.Rule("learn: "+l.Title, a.w)}, out...)
}

// lesson is that of the page that is shown, or of the nearest one below it that has one.
func (a *app) lesson() learn.Lesson {
	for _, p := range slices.Backward(a.stack) {
		if t, ok := p.(views.Teacher); ok {
			return t.Lesson()
		}
	}
	if t, ok := a.tabs[a.active].page.(views.Teacher); ok {
		return t.Lesson()
	}
	return learn.Concept("event")
}

// learn opens the learner's panel, or closes it.
func (a *app) learn() tea.Cmd {
	a.look.Scene.Learn = !a.look.Scene.Learn
	if a.refit(); a.look.Scene.Learn && a.lessonHeight() == 0 {
		a.tell(views.Say{Text: "this terminal has too few lines for explanations; kubeloupe explain has the same texts", Bad: true})
		a.look.Scene.Learn = false
	}
	return nil
}
