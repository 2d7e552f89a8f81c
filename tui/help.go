package tui

import (
	"slices"
	"strings"

	"charm.land/bubbles/v2/key"

	"github.com/kubeloupe/kubeloupe/trace/fit"
	"github.com/kubeloupe/kubeloupe/tui/keys"
	"github.com/kubeloupe/kubeloupe/tui/style"
	"github.com/kubeloupe/kubeloupe/tui/views"
)

const helpNotes = "A filter takes words, \"some words\", /expressions/ and ~expressions, fields by the names of the columns, such as ns=shop " +
	"pod!=shop/web took>1.5s image~redis, >500ms for rows that took longer, err for rows with errors, and !not. All must be true. " +
	"Lower-case letters also match upper-case letters. The last line shows the agent's CPU usage and memory, and the number of events that this screen dropped. The mouse selects, opens and scrolls. An unknown value is -."

// help opens a layer that lists every key of the page on top.
func (a *app) help() {
	if len(a.stack) > 0 && a.top().Name() == "Help" {
		a.back()
		return
	}
	k, page := a.look.Keys, a.top().Keys()
	h := helpPage{th: a.look.Theme}
	h.section("in this view", page)
	taken := page
	if a.cfg.Player != nil {
		h.section("of the replay", less(k.Replay.All(), page))
		taken = append(slices.Clone(page), k.Replay.All()...)
	}
	h.views(a.tabs)
	h.section("everywhere", less(k.Global(), taken))
	h.section("while typing", append(k.Typing.All(), k.Choosing.All()...))
	for _, l := range fit.Wrap(helpNotes, a.w-2) {
		h.lines = append(h.lines, views.Text{Line: l, Tone: style.Dim})
	}
	a.push(layer{views.NewPager(a.look, "Help", "help: "+a.top().Name(), h.lines)})
}

// less leaves out the keys that others take first.
func less(bindings, taken []key.Binding) []key.Binding {
	var out []key.Binding
	for _, b := range bindings {
		out = append(out, keys.Without(b, taken))
	}
	return out
}

// helpPage is a list of keys.
type helpPage struct {
	th    *style.Theme
	lines []views.Text
}

// viewWidth is the room for a view, with its key.
const viewWidth = 18

// views lists the views by name.
func (h *helpPage) views(tabs []tab) {
	h.lines = append(h.lines, views.Text{Line: "views", Tone: style.Strong})
	for some := range slices.Chunk(tabs, 4) {
		line := " "
		for _, t := range some {
			line += " " + h.th.Left(t.label(), viewWidth-1)
		}
		h.lines = append(h.lines, views.Text{Line: strings.TrimRight(line, " ")})
	}
	h.lines = append(h.lines, views.Text{})
}

// keyWidth is the room for the names of a binding's keys.
const keyWidth = 15

func (h *helpPage) section(title string, bindings []key.Binding) {
	h.lines = append(h.lines, views.Text{Line: title, Tone: style.Strong})
	for _, b := range bindings {
		if b.Enabled() && len(b.Keys()) > 0 {
			h.lines = append(h.lines, views.Text{Line: "  " + h.th.Left(b.Help().Key, keyWidth) + " " + b.Help().Desc})
		}
	}
	h.lines = append(h.lines, views.Text{})
}
