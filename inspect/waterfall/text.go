package waterfall

import (
	"strings"
	"time"

	"github.com/kubeloupe/kubeloupe/trace/fit"
	"github.com/kubeloupe/kubeloupe/trace/hue"
	"github.com/kubeloupe/kubeloupe/trace/human"
)

// TextOptions are the options of a drawing.
type TextOptions struct {
	// ASCII uses only ASCII, for serial consoles and old fonts.
	ASCII bool
	// Color gives each bar the color of its phase, of the terminal's 16, and writes the critical path bold.
	Color bool
}

// glyphs are the parts of a drawing, each one column wide.
type glyphs struct {
	critical, more, last, full, wait, instant, open, ellipsis string
	text                                                      func(string) string
}

var (
	unicode = glyphs{critical: "▸", more: "├", last: "└", full: "▇", wait: "░", instant: "▏", open: "▷", ellipsis: "…", text: human.Line}
	ascii   = glyphs{critical: ">", more: "|", last: "`", full: "#", wait: ".", instant: "|", open: ">", ellipsis: "~", text: toASCII}
)

// Text draws the waterfall in text, no line longer than width (40 at least). Every line ends in a newline. There are no escape codes but
// those of opt.Color.
func (w *Waterfall) Text(width int, opt TextOptions) string {
	g := unicode
	if opt.ASCII {
		g = ascii
	}
	l := w.Layout(width, 0)
	var b strings.Builder
	line := func(s string) {
		b.WriteString(fit.Cut(strings.TrimRight(g.text(s), " "), l.Width, g.ellipsis) + "\n")
	}
	for _, s := range w.header(l.Width, g) {
		line(s)
	}
	line(fit.Spaces(l.Labels) + axis(l))
	for _, ln := range l.Lines {
		parts := drawLine(ln, l, g)
		if opt.Color {
			b.WriteString(paintLine(ln, l, g, parts) + "\n")
			continue
		}
		line(strings.Join(parts[:], ""))
	}
	for _, s := range fit.Paragraph("why: ", g.text(w.Why()), l.Width) {
		line(s)
	}
	if s := w.Sum(); s != "" {
		for _, s := range fit.Paragraph("sum: ", g.text(s), l.Width) {
			line(s)
		}
	}
	return b.String()
}

// Title returns the waterfall's heading: pod, phase, duration, floor.
func (w *Waterfall) Title() string {
	parts := []string{w.Pod.String()}
	if w.Phase != "" && (w.Started < 0 || w.Phase != "Pending") { // the status is later than started
		parts = append(parts, w.Phase)
	}
	switch {
	case w.Ready >= 0 && w.Started >= 0 && human.Duration(w.Ready) != human.Duration(w.Started):
		parts = append(parts, "started "+human.Duration(w.Started), "ready "+human.Duration(w.Ready))
	case w.Ready >= 0:
		parts = append(parts, "ready "+human.Duration(w.Ready))
	case w.Started >= 0:
		parts = append(parts, "started "+human.Duration(w.Started))
	case w.never:
		parts = append(parts, "never started")
	default:
		parts = append(parts, human.Duration(w.End)+" so far")
	}
	if w.Told > w.Ready && human.Duration(w.Told) != human.Duration(w.Ready) {
		parts = append(parts, "in the API "+human.Duration(w.Told))
	}
	if w.Floor > 0 {
		parts = append(parts, "floor "+human.Duration(w.Floor))
	}
	return strings.Join(parts, "   ")
}

// header returns the title with the explanation of the mark, on a separate line if there is no room.
func (w *Waterfall) header(width int, g glyphs) []string {
	key := g.critical + " critical path"
	if s := w.Title() + "   " + key; fit.Width(s) <= width {
		return []string{s}
	}
	return []string{w.Title(), key}
}

// Sum returns the sum of the critical path: each segment, and the unexplained time.
func (w *Waterfall) Sum() string {
	var parts []Part
	var out []string
	total := map[Part]time.Duration{}
	for _, s := range w.Path {
		if _, ok := total[s.Part]; !ok && s.Kind != SegmentUnexplained {
			parts = append(parts, s.Part)
		}
		total[s.Part] += s.Dur()
	}
	for _, p := range parts {
		out = append(out, p.Label()+" "+human.Duration(total[p]))
	}
	if w.Unexplained > 0 {
		out = append(out, "unexplained "+human.Duration(w.Unexplained))
	}
	if len(out) == 0 {
		return ""
	}
	return strings.Join(out, " + ") + " = " + human.Duration(w.Length())
}

func axis(l Layout) string {
	row := []rune(strings.Repeat(" ", max(l.Width-l.Labels, l.Bars)))
	for _, t := range l.Ticks {
		text := []rune(t.Text)
		if t.Col+len(text) > len(row) {
			break
		}
		copy(row[t.Col:], text)
	}
	return string(row)
}

// drawLine returns a row's label, its bar and what is said after it.
func drawLine(ln Line, l Layout, g glyphs) [3]string {
	mark, branch := " ", ""
	if ln.Critical {
		mark = g.critical
	}
	switch ln.Branch {
	case BranchMore:
		branch = g.more + " "
	case BranchLast:
		branch = g.last + " "
	case BranchNone:
	}
	label := g.text(mark + branch + ln.Text())
	label = fit.Left(fit.Cut(label, l.Labels-1, g.ellipsis), l.Labels)
	glyph := g.full
	if ln.Kind == RowWait {
		glyph = g.wait
	}
	bar := strings.Repeat(glyph, ln.Cols)
	switch {
	case ln.Cols == 0:
		bar = g.instant
	case ln.Open:
		bar = strings.Repeat(glyph, ln.Cols-1) + g.open
	}
	return [3]string{label, fit.Spaces(ln.Bar) + bar, " " + g.text(ln.After)}
}

// The sequences of colored text beside those of the hues.
const (
	bold  = "\x1b[1m"
	reset = "\x1b[m"
)

// paintLine joins the parts of a row: the bar in the color of its stage, all in that of trouble if it failed.
func paintLine(ln Line, l Layout, g glyphs, parts [3]string) string {
	around, bar := "", ln.Stage.Hue().SGR()
	if ln.Err != "" {
		around, bar = hue.Fail.SGR(), hue.Fail.SGR()
	}
	if ln.Critical {
		around, bar = around+bold, bar+bold
	}
	var b strings.Builder
	room := l.Width
	for i, sgr := range []string{around, bar, around} {
		text := fit.Cut(g.text(parts[i]), room, g.ellipsis)
		if i == 2 {
			text = strings.TrimRight(text, " ")
		}
		if room -= fit.Width(text); text == "" || sgr == "" {
			b.WriteString(text)
			continue
		}
		b.WriteString(sgr + text + reset)
	}
	return b.String()
}

// toASCII replaces characters that are not ASCII by similar ones, or a question mark.
func toASCII(s string) string {
	s = human.Line(s)
	s = strings.NewReplacer("◀", "<", "←", "<-", "→", "->", "·", "+", "µ", "u", "…", "...").Replace(s)
	return strings.Map(func(r rune) rune {
		if r > '~' {
			return '?'
		}
		return r
	}, s)
}
