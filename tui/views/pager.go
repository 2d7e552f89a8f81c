package views

import (
	"strings"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"

	"github.com/kubeloupe/kubeloupe/inspect/query"
	"github.com/kubeloupe/kubeloupe/trace/fit"
	"github.com/kubeloupe/kubeloupe/tui/style"
)

// Text is one line of a Pager.
type Text struct {
	Line string // clean
	Tone style.Tone
	// Indent is how many columns a line is indented that continues this one; 0: the line is cut where the page ends.
	Indent int
}

// Pager is a page of text that scrolls. A filter hides lines, like & in less.
type Pager struct {
	Look
	name, title string
	crumb       string
	lines       []Text
	shown       []Text
	filter      *query.Filter
	w, h, top   int
}

// NewPager returns a page with a title line. name is its Page.Name.
func NewPager(look Look, name, title string, lines []Text) *Pager {
	p := &Pager{Look: look, name: name, title: title, lines: lines}
	p.SetFilter(nil)
	return p
}

// Of returns the page with what it shows, in one or two words.
func (p *Pager) Of(what string) *Pager {
	p.crumb = p.Theme.Clean(what)
	return p
}

// Crumb implements Crumber.
func (p *Pager) Crumb() string { return p.crumb }

// Name implements Page.
func (p *Pager) Name() string { return p.name }

// Refresh implements Page: the text of a pager does not change.
func (p *Pager) Refresh(Frame) {}

// SetSize implements Page.
func (p *Pager) SetSize(w, h int) {
	p.w, p.h = w, h
	p.lay()
}

// SetFilter implements Page.
func (p *Pager) SetFilter(q *query.Filter) {
	p.filter = q
	p.lay()
}

// lay chooses and breaks the lines.
func (p *Pager) lay() {
	p.shown = p.shown[:0]
	for _, l := range p.lines {
		switch {
		case !p.filter.MatchString(l.Line):
		case l.Indent == 0 || p.w <= l.Indent+1 || fit.Width(l.Line) < p.w:
			p.shown = append(p.shown, l)
		default:
			label := fit.Cut(l.Line, l.Indent, "")
			for _, part := range fit.Paragraph(label, strings.TrimPrefix(l.Line, label), p.w-1) {
				p.shown = append(p.shown, Text{Line: part, Tone: l.Tone})
			}
		}
	}
}

// Keys implements Page.
func (p *Pager) Keys() []key.Binding { return p.Look.Keys.Moving() }

// Copy implements Copier: the whole text.
func (p *Pager) Copy() (text, what string) {
	out := []string{p.title}
	for _, l := range p.shown {
		out = append(out, l.Line)
	}
	return strings.Join(out, "\n") + "\n", "the text"
}

// Update implements Page.
func (p *Pager) Update(msg tea.Msg) tea.Cmd {
	p.top = p.Look.scrolled(msg, p.top, len(p.shown), p.rows())
	return nil
}

// Lines is how many lines the text takes in the page's columns.
func (p *Pager) Lines() int { return len(p.shown) }

// Size is the box that the page was given.
func (p *Pager) Size() (w, h int) { return p.w, p.h }

func (p *Pager) rows() int { return max(p.h, 1) }

func (p *Pager) clamp() { p.top = max(min(p.top, len(p.shown)-p.rows()), 0) }

// Title implements Titled.
func (p *Pager) Title() (title, count string) {
	p.clamp()
	if end := min(p.top+p.rows(), len(p.shown)); len(p.shown) > p.rows() {
		count = style.Count(p.top+1) + "-" + style.Count(end) + " of " + style.Count(len(p.shown))
	}
	return p.title, count
}

// View implements Page.
func (p *Pager) View() string {
	p.clamp()
	th := p.Theme
	var out []string
	for _, l := range p.shown[p.top:min(p.top+p.rows(), len(p.shown))] {
		out = append(out, th.Paint(l.Tone, th.Cut(" "+l.Line, p.w)))
	}
	if len(p.shown) == 0 {
		out = append(out, th.Paint(style.Dim, " nothing to show"))
	}
	return strings.Join(out[:min(len(out), max(p.h, 1))], "\n")
}
