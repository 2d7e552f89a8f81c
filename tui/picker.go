package tui

import (
	"strings"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"

	"github.com/kubeloupe/kubeloupe/trace/fit"
	"github.com/kubeloupe/kubeloupe/tui/keys"
	"github.com/kubeloupe/kubeloupe/tui/style"
)

const (
	pickerColumns = 84 // with the border, on a wide screen
	pickerRows    = 12 // choices, at most
)

// choice is one of a picker's.
type choice struct {
	text  string // what it is called, and what the line becomes when it is completed
	key   string // the key that does the same, "" none
	does  string
	marks []int // bytes of text that were typed
	whole bool  // it is only found by a part of its text, not by letters from all over it
	// run does it; nil: the line is completed, as something is missing.
	run func() tea.Cmd
}

// picker is a box with choices that are searched by typing.
type picker struct {
	line
	title  string
	prompt string // before the line
	// find returns the choices for a text, the best first, and what is wrong if there is none.
	find func(text string) ([]choice, error)
	// jk moves with j and k, too, while nothing is typed.
	jk bool

	shown []choice
	bad   error
	cur   int
}

// newPicker returns a picker with a text that is typed already.
func newPicker(k *keys.Map, p picker, text string) *picker {
	p.line = newLine(k, text)
	p.search()
	return &p
}

func (p *picker) search() {
	p.shown, p.bad = p.find(p.text())
	p.cur = 0
}

// key implements float.
func (p *picker) key(k *keys.Map, msg tea.KeyPressMsg) (done bool, cmd tea.Cmd) {
	idle := p.jk && p.text() == ""
	switch {
	case key.Matches(msg, k.Typing.Drop):
		return true, nil
	case key.Matches(msg, k.Typing.Done):
		return p.choose()
	case key.Matches(msg, k.Choosing.Complete):
		p.complete()
	case key.Matches(msg, k.Choosing.Up), idle && msg.String() == "k":
		p.cur = max(p.cur-1, 0)
	case key.Matches(msg, k.Choosing.Down), idle && msg.String() == "j":
		p.cur = max(min(p.cur+1, len(p.shown)-1), 0)
	default:
		p.change(msg)
	}
	return false, nil
}

// paste implements float.
func (p *picker) paste(text string) {
	text, _, _ = strings.Cut(text, "\n")
	p.change(tea.PasteMsg{Content: text})
}

func (p *picker) change(msg tea.Msg) {
	if p.take(msg) {
		p.search()
	}
}

// choose runs the choice under the cursor, or completes it.
func (p *picker) choose() (done bool, cmd tea.Cmd) {
	if len(p.shown) == 0 {
		return false, nil // what is wrong is on screen
	}
	if c := p.shown[p.cur]; c.run != nil {
		return true, c.run()
	}
	p.complete()
	return false, nil
}

func (p *picker) complete() {
	if len(p.shown) == 0 {
		return
	}
	c := p.shown[p.cur]
	text := c.text
	if c.run == nil {
		text += " "
	}
	p.set(text)
	p.search()
}

// box implements float. Its height does not depend on the number of choices, lest it jump.
func (p *picker) box(th *style.Theme, _ *keys.Map, w, h int) (lines []string, x, y int) {
	if w > pickerColumns+pickerColumns/4 {
		x, w = (w-pickerColumns)/2, pickerColumns
	}
	inner, rows := w-style.PanelSides, max(min(pickerRows, h-style.PanelSides-1), 1)
	lines = append(lines, th.Paint(style.Accent, " "+p.prompt)+p.view(th, inner-2-fit.Width(p.prompt)))
	from := max(min(p.cur-rows/2, len(p.shown)-rows), 0)
	names, keyed := p.columns(th)
	for i := range rows {
		switch n := from + i; {
		case n < len(p.shown):
			lines = append(lines, p.shown[n].draw(th, n == p.cur, names, keyed, inner))
		case i == 0 && p.bad != nil:
			for _, l := range firstLines(fit.Wrap(th.Clean(p.bad.Error()), inner-2), rows) {
				lines = append(lines, th.Paint(style.Fail, " "+l))
			}
		default:
			lines = append(lines, "")
		}
	}
	count := ""
	if len(p.shown) > rows {
		count = style.Count(p.cur+1) + " of " + style.Count(len(p.shown))
	}
	foot := th.Paint(style.Dim, "Tab completes  Enter runs  Esc closes")
	return th.Panel(style.Panel{Title: p.title, Count: count, Foot: foot, Focus: true}, lines, w, rows+1+style.PanelSides), x, 0
}

// columns is how wide the names and the keys of the choices are.
func (p *picker) columns(th *style.Theme) (names, keyed int) {
	for _, c := range p.shown {
		names, keyed = max(names, fit.Width(th.Clean(c.text))), max(keyed, fit.Width(c.key))
	}
	return names, keyed
}

// draw draws a choice in w columns: its name in names columns, its key in keyed columns, what it does.
func (c *choice) draw(th *style.Theme, chosen bool, names, keyed, w int) string {
	if keyed > 0 {
		keyed += 2
	}
	names = min(names, max(w-2-keyed-2, 0))
	if c.does != "" {
		names = min(names, w*2/3)
	}
	lead, plain, marked, dim := " ", style.Plain, style.Accent, style.Dim
	if chosen {
		lead, plain, marked, dim = th.Glyphs.Mark, style.Selected, style.Accent.Selected(), style.Selected
	}
	rest := th.Left("  "+th.Left(c.key, keyed)+th.Clean(c.does), max(w-1-names, 0))
	if keyed == 0 && c.does == "" {
		rest = th.Left("", max(w-1-names, 0))
	}
	name := th.Clean(c.text)
	if name != c.text || fit.Width(name) > names { // the marks may be elsewhere
		return th.Paint(plain, lead+th.Left(th.CutMid(name, names), names)) + th.Paint(dim, rest)
	}
	var b strings.Builder
	b.WriteString(th.Paint(plain, lead))
	at := 0
	for _, m := range c.marks {
		if m < at || m >= len(name) {
			continue
		}
		b.WriteString(th.Paint(plain, name[at:m]) + th.Paint(marked, name[m:m+1]))
		at = m + 1
	}
	b.WriteString(th.Paint(plain, th.Left(name[at:], names-fit.Width(name[:at]))) + th.Paint(dim, rest))
	return b.String()
}
