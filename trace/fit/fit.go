// Package fit fits text into columns: it measures, cuts, pads and wraps text as terminals show it. A wide character has
// two columns, a combining mark none.
//
// It keeps no state, runs no goroutine and publishes nothing. Text that others wrote passes human.Line or human.Visible
// first.
package fit

import (
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// Ellipsis marks omitted text, if the output can show it.
const Ellipsis = "…"

// Width returns the number of columns of s. Escape sequences have none.
func Width(s string) int {
	if plain(s) {
		return len(s)
	}
	return ansi.StringWidth(s)
}

// Cut returns s if it has at most w columns, otherwise its beginning and mark, together w columns (one less if a wide
// character does not fit). If w is 0 or less, it returns "".
func Cut(s string, w int, mark string) string {
	switch {
	case w <= 0:
		return ""
	case Width(s) <= w:
		return s
	}
	return ansi.Truncate(s, w, mark)
}

// Middle is Cut, but also keeps the end, in which names of one owner differ. If there are fewer than 8 columns, it cuts
// the end.
func Middle(s string, w int, mark string) string {
	n := Width(s)
	if n <= w || w < 8 {
		return Cut(s, w, mark)
	}
	head := w / 2
	return ansi.Truncate(s, head, "") + ansi.TruncateLeft(s, n-(w-head-Width(mark)), mark)
}

// Left appends spaces to s up to w columns. It never cuts.
func Left(s string, w int) string { return s + Spaces(w-Width(s)) }

// Right prepends spaces to s up to w columns. It never cuts.
func Right(s string, w int) string { return Spaces(w-Width(s)) + s }

// Spaces returns n spaces, none if n is negative.
func Spaces(n int) string { return strings.Repeat(" ", max(n, 0)) }

// Wrap breaks s at white space into lines of at most w columns, and breaks words that are longer than a line. It returns at least one line.
// s contains no escape sequences.
func Wrap(s string, w int) []string {
	var lines []string
	line := ""
	for word := range strings.FieldsSeq(s) {
		if line != "" && Width(line)+1+Width(word) <= w {
			line += " " + word
			continue
		}
		if line != "" {
			lines = append(lines, line)
		}
		for Width(word) > w {
			head := ansi.Truncate(word, w, "")
			if head == "" { // not even one character fits
				break
			}
			lines, word = append(lines, head), word[len(head):]
		}
		line = word
	}
	return append(lines, line)
}

// Paragraph wraps s after a label; the following lines are indented by the label's width. All lines have at most w columns.
func Paragraph(label, s string, w int) []string {
	indent := Width(label)
	lines := Wrap(s, w-indent)
	for i := range lines {
		lines[i] = label + lines[i]
		label = Spaces(indent)
	}
	return lines
}

// plain reports whether each byte of s needs one column.
func plain(s string) bool {
	for i := range len(s) {
		if s[i] < 0x20 || s[i] >= 0x7f {
			return false
		}
	}
	return true
}
