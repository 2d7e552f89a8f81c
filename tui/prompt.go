package tui

import (
	"strings"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"

	"github.com/kubeloupe/kubeloupe/trace/fit"
	"github.com/kubeloupe/kubeloupe/tui/keys"
	"github.com/kubeloupe/kubeloupe/tui/style"
)

// prompt is a line that is typed in a box at the bottom of the page.
type prompt struct {
	line
	title string
	help  string               // what can be typed; "" takes no line
	hint  string               // what is wrong with the text
	live  func(string) error   // called after each change; nil: not
	then  func(string) tea.Msg // called on Enter; nil: not
	drop  func()               // called on Esc; nil: not
}

// key implements float.
func (p *prompt) key(k *keys.Map, msg tea.KeyPressMsg) (done bool, cmd tea.Cmd) {
	switch {
	case key.Matches(msg, k.Typing.Done):
		if p.then == nil {
			return true, nil
		}
		text, then := p.text(), p.then
		return true, func() tea.Msg { return then(text) }
	case key.Matches(msg, k.Typing.Drop):
		if p.drop != nil {
			p.drop()
		}
		return true, nil
	}
	p.change(msg)
	return false, nil
}

// paste implements float.
func (p *prompt) paste(text string) {
	text, _, _ = strings.Cut(text, "\n")
	p.change(tea.PasteMsg{Content: text})
}

func (p *prompt) change(msg tea.Msg) {
	if !p.take(msg) {
		return
	}
	p.hint = ""
	if p.live == nil {
		return
	}
	if err := p.live(p.text()); err != nil {
		p.hint = err.Error()
	}
}

// box implements float: what is typed, and below it what is wrong with it or what can be typed.
func (p *prompt) box(th *style.Theme, _ *keys.Map, w, h int) (lines []string, x, y int) {
	inner := w - style.PanelSides
	lines = []string{" " + p.view(th, inner-2)}
	switch {
	case p.hint != "":
		lines = append(lines, th.Paint(style.Fail, " "+th.Cut(th.Clean(p.hint), inner-2)))
	case p.help != "":
		for _, l := range firstLines(fit.Wrap(p.help, inner-2), 2) {
			lines = append(lines, th.Paint(style.Dim, " "+l))
		}
	case p.live != nil:
		lines = append(lines, "")
	}
	foot := th.Paint(style.Dim, "Enter done  Esc cancel")
	lines = th.Panel(style.Panel{Title: th.Clean(p.title), Foot: foot, Focus: true}, lines, w, 0)
	return lines, 0, h - len(lines)
}

func firstLines(lines []string, n int) []string { return lines[:min(len(lines), n)] }
