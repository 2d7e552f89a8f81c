package tui

import (
	"slices"

	"charm.land/bubbles/v2/key"

	"github.com/kubeloupe/kubeloupe/tui/style"
	"github.com/kubeloupe/kubeloupe/tui/views"
)

const helpNotes = "A filter without capital letters ignores case. The mouse works: the wheel moves, a click selects, " +
	"a second click opens. Unknown figures are written -."

// taken reports whether a page gives a key of its own to what b is known by.
func taken(b key.Binding, page []key.Binding) bool {
	return slices.ContainsFunc(page, func(o key.Binding) bool { return o.Help().Key == b.Help().Key })
}

// help opens a page that lists every key of the page on top.
func (a *app) help() {
	if len(a.stack) > 0 && a.top().Name() == "Help" {
		a.back()
		return
	}
	th := a.look.Theme
	lines := []views.Text{{Line: "in this view", Tone: style.Strong}}
	list := func(bindings []key.Binding) {
		for _, b := range bindings {
			if b.Enabled() {
				lines = append(lines, views.Text{Line: "  " + th.Left(b.Help().Key, 9) + b.Help().Desc})
			}
		}
	}
	list(a.top().Keys())
	lines = append(lines, views.Text{}, views.Text{Line: "everywhere", Tone: style.Strong})
	list(slices.DeleteFunc(a.look.Keys.Global(), func(b key.Binding) bool { return taken(b, a.top().Keys()) }))
	lines = append(lines, views.Text{})
	for _, l := range views.Wrap(helpNotes, a.w-2) {
		lines = append(lines, views.Text{Line: l, Tone: style.Dim})
	}
	a.push(views.NewPager(a.look, "Help", "help: "+a.top().Name(), lines))
}
