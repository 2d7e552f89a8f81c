package style

import (
	"strings"
	"unicode/utf8"

	"github.com/kubeloupe/kubeloupe/trace/fit"
	"github.com/kubeloupe/kubeloupe/trace/human"
)

// Clean makes foreign text safe to draw on one line: line breaks and tabs become spaces; characters for which human.Hidden is true,
// and invalid UTF-8, become a question mark, which has one column; too many combining marks are removed.
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
	'µ': 'u', '·': '.', '→': '>', '›': '>', '←': '<', '▲': '^', '▼': 'v', '↑': '^', '↓': 'v', '…': '~',
	'◀': '<', '▶': '>', '▸': '>', '×': 'x', '—': '-', '–': '-', '“': '"', '”': '"', '‘': '\'', '’': '\'',
}

// Cut shortens s to at most w columns, ending in an ellipsis where it was cut.
func (t *Theme) Cut(s string, w int) string { return fit.Cut(s, w, t.Glyphs.Ellipsis) }

// CutMid is Cut in the middle, for names that differ at the end.
func (t *Theme) CutMid(s string, w int) string { return fit.Middle(s, w, t.Glyphs.Ellipsis) }

// Left fits s into exactly w columns, aligned left.
func (t *Theme) Left(s string, w int) string { return fit.Left(t.Cut(s, w), w) }

// Right fits s into exactly w columns, aligned right.
func (t *Theme) Right(s string, w int) string { return fit.Right(t.Cut(s, w), w) }
