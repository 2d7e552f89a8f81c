package style

import (
	"strings"

	"github.com/kubeloupe/kubeloupe/trace/fit"
)

// Bar draws part of whole as a bar of w columns. Anything above zero shows.
func (t *Theme) Bar(part, whole float64, w int) string {
	n := cells(part, whole, w)
	return strings.Repeat(t.Glyphs.Full, n) + strings.Repeat(t.Glyphs.Empty, max(w-n, 0))
}

// Length draws a bar without its rest: its length is part in proportion to whole.
func (t *Theme) Length(part, whole float64, w int) string {
	return strings.Repeat(t.Glyphs.Full, cells(part, whole, w))
}

func cells(part, whole float64, w int) int {
	if whole <= 0 || part <= 0 || w <= 0 {
		return 0
	}
	return min(max(int(part/whole*float64(w)+0.5), 1), w)
}

// Meter draws how busy something is in three steps.
func (t *Theme) Meter(level int) string {
	level = min(max(level, 0), 3)
	return strings.Repeat(t.Glyphs.MeterOn, level) + strings.Repeat(t.Glyphs.MeterOff, 3-level)
}

// Rule draws a titled line of w columns: "─ pods ─────".
func (t *Theme) Rule(title string, w int) string {
	s := t.Glyphs.Line + " " + title + " "
	if title == "" {
		s = ""
	}
	return t.Paint(Dim, t.Cut(s+strings.Repeat(t.Glyphs.Line, max(w-fit.Width(s), 0)), w))
}
