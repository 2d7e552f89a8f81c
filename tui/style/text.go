package style

import (
	"strings"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"

	"github.com/kubeloupe/kubeloupe/trace/human"
)

// Clean makes text that others wrote safe to draw on one line: line breaks and
// tabs become spaces; what human.Hidden says is never written, and broken UTF-8, become a
// question mark, which has one column; marks too many are left out.
func (t *Theme) Clean(s string) string {
	if plain(s) {
		return s
	}
	var marks human.Marks
	return strings.Map(func(r rune) rune { return cleanRune(r, &marks) }, s)
}

// CleanLines is Clean for a text of several lines.
func (t *Theme) CleanLines(s string) []string {
	lines := strings.Split(strings.TrimRight(s, "\n"), "\n")
	for i, l := range lines {
		lines[i] = t.Clean(strings.ReplaceAll(strings.TrimSuffix(l, "\r"), "\t", "    "))
	}
	return lines
}

func plain(s string) bool {
	for i := range len(s) {
		if s[i] < 0x20 || s[i] >= 0x7f {
			return false
		}
	}
	return true
}

func cleanRune(r rune, marks *human.Marks) rune {
	switch {
	case r == '\n' || r == '\t' || r == '\r':
		return ' '
	case marks.Over(r):
		return -1 // it has no column
	case r == utf8.RuneError || human.Hidden(r):
		return '?'
	}
	return r
}

// Fold makes a whole frame fit for its terminal: where that is limited to ASCII,
// other characters are replaced by what looks most like them.
func (t *Theme) Fold(frame string) string {
	if !t.ASCII {
		return frame
	}
	return strings.Map(func(r rune) rune {
		if r < 0x7f {
			return r
		}
		if c, ok := lookalikes[r]; ok {
			return c
		}
		return '?'
	}, frame)
}

var lookalikes = map[rune]rune{
	'µ': 'u', '·': '.', '→': '>', '←': '<', '▲': '^', '▼': 'v', '↑': '^', '↓': 'v', '…': '~',
	'◀': '<', '▶': '>', '▸': '>', '×': 'x', '—': '-', '–': '-', '“': '"', '”': '"', '‘': '\'', '’': '\'',
}

// Width is how many columns s takes. s must not contain escape sequences.
func Width(s string) int {
	if plain(s) {
		return len(s)
	}
	return ansi.StringWidth(s)
}

// Cut shortens s to at most w columns, ending in an ellipsis where it was cut.
func (t *Theme) Cut(s string, w int) string {
	if w <= 0 {
		return ""
	}
	if Width(s) <= w {
		return s
	}
	return ansi.Truncate(s, w, t.Glyphs.Ellipsis)
}

// CutMid is Cut in the middle, for names whose end tells them apart.
func (t *Theme) CutMid(s string, w int) string {
	n := Width(s)
	if n <= w || w < 8 {
		return t.Cut(s, w)
	}
	head := w / 2
	return ansi.Truncate(s, head, "") + ansi.TruncateLeft(s, n-(w-head-1), t.Glyphs.Ellipsis)
}

// Left fits s into exactly w columns, aligned left.
func (t *Theme) Left(s string, w int) string {
	s = t.Cut(s, w)
	return s + spaces(w-Width(s))
}

// Right fits s into exactly w columns, aligned right.
func (t *Theme) Right(s string, w int) string {
	s = t.Cut(s, w)
	return spaces(w-Width(s)) + s
}

func spaces(n int) string { return strings.Repeat(" ", max(n, 0)) }
