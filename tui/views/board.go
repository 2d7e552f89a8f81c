package views

import (
	"strings"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"

	"github.com/kubeloupe/kubeloupe/inspect/query"
	"github.com/kubeloupe/kubeloupe/trace/fit"
	"github.com/kubeloupe/kubeloupe/tui/style"
)

const (
	// boardColumns is how wide a board must be to have two columns.
	boardColumns = 116
	// boardLabel is the room for the labels of facts.
	boardLabel = 14
)

// section is a part of a board.
type section struct {
	title string
	facts []fact
}

// fact is a line of a section: what, and what is known of it. Without a label the value takes the whole line.
type fact struct {
	label, value string
	tone         style.Tone
}

// add adds a fact; what is not known is written so.
func (s *section) add(label, value string, tone style.Tone) {
	if value == "" {
		value, tone = style.Unknown, style.Dim
	}
	s.facts = append(s.facts, fact{label, value, tone})
}

// may adds a fact that is worth a line only when there is one.
func (s *section) may(label, value string, tone style.Tone) {
	if value != "" {
		s.add(label, value, tone)
	}
}

// board is a page of sections with facts, in two columns where there is room. It scrolls.
type board struct {
	Look
	w, h, top int
	filter    *query.Filter
	sections  []section
	lines     []boardLine
}

// boardLine is a line as it is drawn, and without tones.
type boardLine struct{ drawn, plain string }

func (b *board) set(sections []section) {
	b.sections = sections
	b.lay()
}

// SetSize implements Page.
func (b *board) SetSize(w, h int) {
	b.w, b.h = w, h
	b.lay()
}

// SetFilter implements Page: it leaves out facts.
func (b *board) SetFilter(q *query.Filter) {
	b.filter = q
	b.lay()
}

// Keys implements Page.
func (b *board) Keys() []key.Binding { return b.Look.Keys.Moving() }

// Copy implements Copier: the whole text.
func (b *board) Copy() (text, what string) {
	var out []string
	for _, l := range b.lines {
		out = append(out, strings.TrimRight(l.plain, " "))
	}
	return strings.Join(out, "\n"), "the text"
}

// Update implements Page.
func (b *board) Update(msg tea.Msg) tea.Cmd {
	b.top = b.Look.scrolled(msg, b.top, len(b.lines), b.h)
	return nil
}

func (b *board) clamp() { b.top = max(min(b.top, len(b.lines)-b.h), 0) }

// View implements Page.
func (b *board) View() string {
	b.clamp()
	if b.w <= 0 || b.h <= 0 {
		return ""
	}
	if len(b.lines) == 0 {
		return b.Theme.Paint(style.Dim, " nothing matches the filter")
	}
	var out []string
	for _, l := range b.lines[b.top:min(b.top+b.h, len(b.lines))] {
		out = append(out, l.drawn)
	}
	if below := len(b.lines) - b.top - b.h; below > 0 {
		out[len(out)-1] = b.Theme.Paint(style.Dim, b.Theme.Cut(" "+style.Count(below+1)+" more lines below", b.w))
	}
	return strings.Join(out, "\n")
}

// lay draws the sections: in one column, or in two of about the same height.
func (b *board) lay() {
	b.lines = nil
	if b.w <= 0 {
		return
	}
	if b.w < boardColumns {
		for i := range b.sections {
			b.lines = append(b.lines, b.section(&b.sections[i], b.w)...)
		}
		return
	}
	left := b.w/2 - 1
	right := b.w - left - 2
	var all [][]boardLine
	total := 0
	for i := range b.sections {
		all = append(all, b.section(&b.sections[i], left))
		total += len(all[i])
	}
	var one, two []boardLine
	for i, lines := range all {
		if len(one) > 0 && (len(two) > 0 || len(one)+len(lines)/2 > total/2) {
			two = append(two, b.section(&b.sections[i], right)...)
			continue
		}
		one = append(one, lines...)
	}
	for i := range max(len(one), len(two)) {
		var l, r boardLine
		if i < len(one) {
			l = one[i]
		}
		if i < len(two) {
			r = two[i]
		}
		b.lines = append(b.lines, boardLine{fit.Left(l.drawn, left+2) + r.drawn, fit.Left(l.plain, left+2) + r.plain})
	}
}

// Panels implements Paneled: each section has one.
func (b *board) Panels() {}

// section draws a section in w columns.
func (b *board) section(s *section, w int) []boardLine {
	th := b.Theme
	if b.Scene.Panels {
		w -= style.PanelSides
	}
	var out []boardLine
	for _, f := range s.facts {
		lead, room := " "+th.Left(f.label, boardLabel)+" ", w-boardLabel-3
		if f.label == "" {
			lead, room = " ", w-2
		}
		if !b.filter.MatchString(f.label + " " + f.value) {
			continue
		}
		for _, l := range b.wrap(f.value, room) {
			plain := th.Cut(lead+l, w)
			tone := f.tone
			drawn := th.Paint(tone, plain)
			if f.label != "" && tone != style.Fail && tone != style.Slow {
				drawn = th.Paint(style.Dim, lead) + th.Paint(tone, th.Cut(l, w-fit.Width(lead)))
			}
			out = append(out, boardLine{drawn, plain})
			lead = fit.Spaces(fit.Width(lead))
		}
	}
	if len(out) == 0 {
		return nil
	}
	if b.Scene.Panels {
		return b.panel(s, out, w+style.PanelSides)
	}
	rule := th.Glyphs.Line + " " + s.title + " "
	rule += strings.Repeat(th.Glyphs.Line, max(w-fit.Width(rule), 0))
	return append([]boardLine{{th.Rule(s.title, w), rule}}, out...)
}

// panel draws the lines of a section in a box; its plain text has the title only.
func (b *board) panel(s *section, lines []boardLine, w int) []boardLine {
	drawn := make([]string, len(lines))
	for i, l := range lines {
		drawn[i] = l.drawn
	}
	out := make([]boardLine, 0, len(lines)+style.PanelSides)
	for i, l := range b.Theme.Panel(style.Panel{Title: s.title}, drawn, w, 0) {
		plain := ""
		switch {
		case i == 0:
			plain = b.Theme.Glyphs.Line + " " + s.title
		case i <= len(lines):
			plain = lines[i-1].plain
		}
		out = append(out, boardLine{l, plain})
	}
	return out
}

// wrap breaks a value that is too long; one that fits keeps its spaces, which may align it.
func (b *board) wrap(value string, w int) []string {
	if fit.Width(value) <= w {
		return []string{value}
	}
	return fit.Wrap(value, w)
}
