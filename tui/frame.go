package tui

import (
	"strings"

	"github.com/kubeloupe/kubeloupe/tui/style"
	"github.com/kubeloupe/kubeloupe/tui/views"
)

// A screen from this size on has panels with borders; a smaller one has rules.
const (
	panelColumns = 100
	panelLines   = 30
)

// framed reports whether a page is drawn in a panel of the app.
func (a *app) framed(p views.Page) bool {
	_, own := p.(views.Paneled)
	return a.look.Scene.Panels && !own
}

// above is how many lines stand above a page's own: a border, or a rule with its title.
func (a *app) above(p views.Page) int {
	_, own := p.(views.Paneled)
	if _, titled := p.(views.Titled); titled && !(own && a.look.Scene.Panels) || a.framed(p) {
		return 1
	}
	return 0
}

// body draws the page that is shown with what is around it, and what floats over it.
func (a *app) body() []string {
	lines := a.taught(a.page(a.under()))
	if l, ok := a.top().(layer); ok {
		lines = l.over(lines, a.look.Theme, a.w, a.bodyHeight())
	}
	if a.float != nil {
		lines = a.over(lines)
	}
	return lines
}

// page draws a page with what is around it.
func (a *app) page(p views.Page) []string {
	th := a.look.Theme
	lines := strings.Split(p.View(), "\n")
	title, count := heading(p)
	switch {
	case a.framed(p):
		return th.Panel(style.Panel{Title: title, Count: count, Focus: true}, lines, a.w, a.pageHeight())
	case a.above(p) > 0:
		return append([]string{th.Rule(strings.TrimSpace(title+"  "+count), a.w)}, lines...)
	}
	return lines
}

// heading is a page's title, and how much of it is shown.
func heading(p views.Page) (title, count string) {
	switch p := p.(type) {
	case views.Titled:
		return p.Title()
	case interface{ Count() string }:
		count = p.Count()
	}
	return p.Name(), count
}
