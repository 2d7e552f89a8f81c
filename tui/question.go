package tui

import (
	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"

	"github.com/kubeloupe/kubeloupe/trace/fit"
	"github.com/kubeloupe/kubeloupe/tui/keys"
	"github.com/kubeloupe/kubeloupe/tui/style"
)

// questionColumns is how wide a question is at most, without its border.
const questionColumns = 64

// question asks before something is done that cannot be taken back.
type question struct {
	title, text string
	yes         string // what is done
	do          tea.Cmd
}

// foot names the keys and what they do.
func (q *question) foot(k *keys.Map) string {
	return k.Asked.Yes.Help().Key + " " + q.yes + "   " + k.Asked.No.Help().Key + " " + k.Asked.No.Help().Desc
}

// key implements float.
func (q *question) key(k *keys.Map, msg tea.KeyPressMsg) (done bool, cmd tea.Cmd) {
	switch {
	case key.Matches(msg, k.Asked.Yes):
		return true, q.do
	case key.Matches(msg, k.Asked.No):
		return true, nil
	}
	return false, nil
}

// paste implements float: nothing can be pasted.
func (*question) paste(string) {}

// box implements float.
func (q *question) box(th *style.Theme, k *keys.Map, w, h int) (lines []string, x, y int) {
	inner := min(w-style.PanelSides, questionColumns)
	lines = []string{""}
	for _, l := range fit.Wrap(q.text, inner-2) {
		lines = append(lines, " "+l)
	}
	lines = append(lines, "", th.Paint(style.Accent, " "+th.Cut(q.foot(k), inner-2)))
	lines = th.Panel(style.Panel{Title: q.title, Focus: true}, lines, inner+style.PanelSides, 0)
	return lines, (w - inner - style.PanelSides) / 2, (h - len(lines)) / 2
}

// quit leaves, or asks first where that ends more than the UI.
func (a *app) quit() tea.Cmd {
	if a.cfg.Leaving == "" || a.ended != nil {
		return tea.Quit
	}
	a.open(&question{title: "stop the agent?", text: a.cfg.Leaving, yes: "stop it", do: tea.Quit})
	return nil
}
