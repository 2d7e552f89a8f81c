package views

import (
	"strings"

	"github.com/kubeloupe/kubeloupe/inspect/waterfall"
	"github.com/kubeloupe/kubeloupe/trace/fit"
	"github.com/kubeloupe/kubeloupe/tui/style"
)

// podHead is how many lines stand above those that scroll: the title, or the border with it.
const podHead = 1

func (p *Pod) rows() int { return max(p.h-p.head(), 1) }

// head is how many of them are the page's own.
func (p *Pod) head() int {
	if p.Scene.Panels {
		return podHead - 1
	}
	return podHead
}

// lay makes the lines that scroll.
func (p *Pod) lay() {
	p.lines = p.lines[:0]
	if p.known && p.w > 0 {
		p.within = ""
		p.answer()
		p.bars()
		p.causes()
		p.containers()
		p.told()
		p.verdicts()
	}
	p.move(p.cur)
}

func (p *Pod) add(tone style.Tone, text string) {
	if p.filter == nil || p.filter.MatchString(text) {
		p.lines = append(p.lines, podLine{Text: Text{Line: text, Tone: tone}, section: p.within})
	}
}

// layout places the bars, with some room behind them for what is said there.
func (p *Pod) layout() waterfall.Layout { return p.fall.Layout(p.w-2, max(p.w-76, 0)/4) }

func (p *Pod) bars() {
	if p.fall == nil {
		return
	}
	p.columns = p.layout()
	if !p.section(sectionStart, p.fall.Sum()) {
		return
	}
	l := p.columns
	for i := range l.Lines {
		ln := &l.Lines[i]
		if p.filter == nil || p.filter.MatchString(ln.Text()) {
			p.lines = append(p.lines, podLine{bar: ln, branch: branch(p.Theme.Glyphs, l.Lines, i), span: ln.Span, section: p.within})
		}
	}
	p.wrap("sum: ", p.fall.Sum())
}

// wrap adds a text that may take several lines.
func (p *Pod) wrap(label, text string) {
	if text == "" {
		return
	}
	for _, line := range fit.Paragraph(label, p.Theme.Clean(text), p.w-2) {
		p.add(style.Plain, line)
	}
}

// View implements Page.
func (p *Pod) View() string {
	th := p.Theme
	if p.w <= 0 || p.h <= 0 {
		return ""
	}
	if !p.known {
		return p.boxed(style.Panel{Title: p.Name()}, []string{p.unknown()})
	}
	if p.cur < p.top {
		p.top = p.cur
	}
	if p.cur >= p.top+p.rows() {
		p.top = p.cur - p.rows() + 1
	}
	p.top = max(min(p.top, len(p.lines)-p.rows()), 0)
	title, out := p.heading()
	for i := p.top; i < min(p.top+p.rows(), len(p.lines)); i++ {
		out = append(out, p.line(i))
	}
	if len(p.lines) == 0 {
		out = append(out, th.Paint(style.Dim, " nothing matches the filter"))
	}
	return p.boxed(title, out[:min(len(out), p.h)])
}

// boxed draws the page's lines, in a panel where there are panels.
func (p *Pod) boxed(panel style.Panel, lines []string) string {
	if p.Scene.Panels {
		panel.Focus = !p.aside
		lines = p.Theme.Panel(panel, lines, p.w+style.PanelSides, p.h+style.PanelSides)
	}
	return strings.Join(lines, "\n")
}

func (p *Pod) unknown() string {
	text := " no pod now; the view Starts has what is known of earlier starts"
	if p.Scene.Note != "" {
		text = " no pod now; " + p.Theme.Clean(p.Scene.Note)
	}
	if !p.chosen.IsZero() {
		text = " " + p.Theme.Clean(p.chosen.String()) + " is no longer remembered; [ and ] go to other pods"
	}
	return p.Theme.Paint(style.Dim, p.Theme.Cut(text, p.w))
}

// heading is the title of the panel, and the lines above those that scroll.
func (p *Pod) heading() (panel style.Panel, lines []string) {
	th := p.Theme
	name := th.Clean(p.pod.Key.String())
	rest := "   " + string(p.pod.State())
	if p.fall != nil {
		rest = strings.TrimPrefix(th.Clean(p.fall.Title()), name)
	}
	if p.chosen.IsZero() {
		rest += "   (latest)"
	}
	if p.pod.IP != "" {
		rest += "   " + th.Clean(p.pod.IP)
	}
	more := ""
	if below := len(p.lines) - p.top - p.rows(); below > 0 {
		more = style.Count(below) + " more below"
	}
	if p.Scene.Panels {
		name = th.CutMid(name, max(p.w-fit.Width(rest)-2, 20))
		return style.Panel{Title: name + rest, Count: more, Foot: legend(th, p.w-4)}, nil
	}
	room := p.w - 1
	if more != "" {
		room -= fit.Width(more) + 2
	}
	name = th.CutMid(name, max(room-fit.Width(rest), 20))
	rest = th.Left(rest, max(room-fit.Width(name), 0))
	return panel, []string{" " + th.Paint(style.Strong, name) + rest + th.Paint(style.Dim, "  "+more)}
}

func ticks(l waterfall.Layout) string {
	row := []rune(fit.Spaces(l.Width - l.Labels))
	for _, t := range l.Ticks {
		if text := []rune(t.Text); t.Col+len(text) <= len(row) {
			copy(row[t.Col:], text)
		}
	}
	return string(row)
}

func (p *Pod) line(i int) string {
	th, ln := p.Theme, p.lines[i]
	var cells []span
	switch {
	case ln.title:
		return p.sectionTitle(&ln, i == p.cur && !p.aside)
	case ln.bar != nil:
		cells = bar(th, ln.bar, ln.branch, p.columns)
	case ln.lead > 0:
		label := fit.Cut(ln.Line, ln.lead, "")
		cells = []span{{text: th.Signed(ln.Tone, label), tone: style.Dim}, {text: strings.TrimPrefix(ln.Line, label), tone: ln.Tone}}
	default:
		cells = []span{{text: ln.Line, tone: ln.Tone}}
	}
	return paintRow(th, cells, p.w, i == p.cur && !p.aside)
}

// branch draws the tree before the label of a row: what it hangs below, and whether others follow there.
func branch(g style.Glyphs, lines []waterfall.Line, i int) string {
	depth := lines[i].Depth
	if depth == 0 {
		return ""
	}
	out := ""
	for d := 1; d < depth; d++ {
		if more(lines, i, d) {
			out += g.Pipe + " "
		} else {
			out += "  "
		}
	}
	if more(lines, i, depth) {
		return "  " + out + g.Branch + " "
	}
	return "  " + out + g.LastChild + " "
}

// more reports whether a row of that depth follows below the same one as the i-th or what it hangs below.
func more(lines []waterfall.Line, i, depth int) bool {
	for _, ln := range lines[i+1:] {
		if ln.Depth <= depth {
			return ln.Depth == depth
		}
	}
	return false
}

// bar draws a row of the waterfall: label, the bar in the tone of its phase, what is said behind it. The
// critical path is bold, and has a mark.
func bar(th *style.Theme, ln *waterfall.Line, branch string, l waterfall.Layout) []span {
	g := th.Glyphs
	tone, text := phase(ln.Stage), style.Plain
	glyph := th.Fill(tone)
	if ln.Kind == waterfall.RowWait || ln.Kind == waterfall.RowSpan {
		text = style.Dim
	}
	if ln.Err != "" {
		tone, text = style.Fail, style.Fail
	}
	if ln.Critical {
		tone, text = tone.Critical(), text.Critical()
	}
	drawn := strings.Repeat(glyph, ln.Cols)
	if ln.Cols == 0 {
		drawn = g.Tick
	}
	mark := " "
	if ln.Critical {
		mark = g.Critical
	}
	label := mark + branch + strings.TrimLeft(th.Clean(ln.Text()), " ")
	return []span{
		{text: th.Left(th.Cut(label, l.Labels-1), l.Labels), tone: text},
		{text: fit.Spaces(ln.Bar) + drawn, tone: tone},
		{text: " " + th.Clean(ln.After), tone: text},
	}
}
