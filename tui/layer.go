package tui

import (
	"strings"

	"github.com/kubeloupe/kubeloupe/tui/style"
	"github.com/kubeloupe/kubeloupe/tui/views"
)

// layerColumns is how wide a layer is at most, without its border.
const layerColumns = 84

// layer is a text that floats over the page below it on the stack. Esc closes it.
type layer struct{ *views.Pager }

// fit gives a layer the columns that the screen has, and as many lines as its text takes.
func (l layer) fit(w, h int) {
	w = min(w-2*style.PanelSides, layerColumns)
	l.SetSize(w, 1)
	l.SetSize(w, max(min(l.Lines(), h-2*style.PanelSides), 1))
}

// over draws the layer in the middle of the lines of a page.
func (l layer) over(lines []string, th *style.Theme, w, h int) []string {
	title, count := l.Title()
	inner, rows := l.Size()
	box := th.Panel(style.Panel{Title: title, Count: count, Focus: true}, strings.Split(l.View(), "\n"), inner+style.PanelSides, rows+style.PanelSides)
	frame := style.Over(strings.Join(lines, "\n"), box, (w-inner-style.PanelSides)/2, max((h-len(box))/2, 0))
	return strings.Split(frame, "\n")
}

// under is the page that is shown, or the one below a layer.
func (a *app) under() views.Page {
	if _, floats := a.top().(layer); !floats {
		return a.top()
	}
	if n := len(a.stack); n > 1 {
		return a.stack[n-2]
	}
	return a.tabs[a.active].page
}
