package style

import (
	"strings"

	"charm.land/lipgloss/v2"

	"github.com/kubeloupe/kubeloupe/trace/fit"
)

// Panel describes a box around a part of the screen. All its texts are clean.
type Panel struct {
	Title string
	// Count is at the right end of the upper border, such as 12 of 31.
	Count string
	// Foot is in the lower border. It can be painted.
	Foot string
	// Focus says that keys go to this panel.
	Focus bool
}

// PanelSides is how many columns, and how many lines, the border of a panel takes.
const PanelSides = 2

// Panel draws lines, which can be painted, in a box of w columns and h lines; h 0 is as many as there are.
func (t *Theme) Panel(p Panel, lines []string, w, h int) []string {
	line, title, b := Border, Strong, t.Glyphs.border
	if p.Focus {
		line, title = Accent, Accent.Critical()
	}
	if h == 0 {
		h = len(lines) + PanelSides
	}
	inner, side := max(w-PanelSides, 0), t.Paint(line, b.Left)
	out := make([]string, 0, h)
	out = append(out, t.edge(b.TopLeft, b.Top, b.TopRight, t.Paint(title, t.Cut(p.Title, inner-4)), p.Count, line, inner))
	for i := range max(h-PanelSides, 0) {
		text := ""
		if i < len(lines) {
			text = lines[i]
		}
		n := fit.Width(text)
		if n > inner {
			text, n = fit.Cut(text, inner, ""), inner
		}
		out = append(out, side+text+fit.Spaces(inner-n)+side)
	}
	return append(out, t.edge(b.BottomLeft, b.Bottom, b.BottomRight, p.Foot, "", line, inner))
}

// edge draws a border of inner columns between its corners, with a text at its left and, if there is room, one at its right end.
func (t *Theme) edge(from, line, to, text, count string, tone Tone, inner int) string {
	left := inner
	lead, tail := "", ""
	if n := fit.Width(text); n > 0 && n+4 <= left {
		lead, left = t.Paint(tone, line)+" "+text+" ", left-n-3
	}
	if n := fit.Width(count); n > 0 && n+4 <= left {
		tail, left = " "+t.Paint(Dim, count)+" "+t.Paint(tone, line), left-n-3
	}
	return t.Paint(tone, from) + lead + t.Paint(tone, strings.Repeat(line, left)) + tail + t.Paint(tone, to)
}

// Beside joins two columns of lines of the same height.
func Beside(left, right []string) []string {
	out := make([]string, max(len(left), len(right)))
	for i := range out {
		if i < len(left) {
			out[i] = left[i]
		}
		if i < len(right) {
			out[i] += right[i]
		}
	}
	return out
}

// Over draws a box of lines over a frame, with its upper left corner at a column and a line.
func Over(frame string, box []string, x, y int) string {
	return lipgloss.NewCompositor(lipgloss.NewLayer(frame), lipgloss.NewLayer(strings.Join(box, "\n")).X(x).Y(y).Z(1)).Render()
}
