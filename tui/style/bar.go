package style

import (
	"math"
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
	title = t.Cut(title, w-4)
	if title == "" {
		return t.Paint(Border, strings.Repeat(t.Glyphs.Line, max(w, 0)))
	}
	rest := strings.Repeat(t.Glyphs.Line, max(w-fit.Width(title)-3, 0))
	return t.Paint(Border, t.Glyphs.Line) + " " + t.Paint(Strong, title) + " " + t.Paint(Border, rest)
}

// Fill returns the glyph for bars of a tone: phases differ by their hue, or by their glyph where there are no colors.
func (t *Theme) Fill(tone Tone) string {
	if own := t.Glyphs.Phases[tone&toneMask]; own != "" && (!t.Colored() || tone&toneMask == Wait) {
		return own
	}
	return t.Glyphs.Full
}

// Gauge draws part of whole as a bar of w columns, with a mark at each limit, which is measured as part is.
func (t *Theme) Gauge(part, whole float64, w int, limits ...float64) string {
	bar := []rune(t.Bar(part, whole, w))
	for _, l := range limits {
		if l > 0 && l < whole && w > 0 {
			bar[min(int(l/whole*float64(w)), w-1)] = []rune(t.Glyphs.Limit)[0]
		}
	}
	return string(bar)
}

// Spark draws figures that are not negative as a line of blocks between the smallest and the largest; least is how far these are apart at
// least, lest a flicker look like a mountain. A figure below zero is unknown and a gap.
func (t *Theme) Spark(figures []float64, least float64) string {
	levels := []rune(t.Glyphs.Levels)
	low, high := math.Inf(1), math.Inf(-1)
	for _, f := range figures {
		if f >= 0 {
			low, high = min(low, f), max(high, f)
		}
	}
	if missing := least - (high - low); missing > 0 {
		low = max(low-missing/2, 0)
		high = max(low+least, high)
	}
	var b strings.Builder
	for _, f := range figures {
		switch i := 0; {
		case f < 0:
			b.WriteByte(' ')
		default:
			if high > low {
				i = int((f - low) / (high - low) * float64(len(levels)-1))
			}
			b.WriteRune(levels[min(max(i, 0), len(levels)-1)])
		}
	}
	return b.String()
}
