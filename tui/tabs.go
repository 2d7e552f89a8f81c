package tui

import (
	"strings"

	"github.com/kubeloupe/kubeloupe/tui/style"
	"github.com/kubeloupe/kubeloupe/tui/views"
)

// tab is a view with the digit or letter that names it.
type tab struct {
	digit string
	page  views.Page
	// quiet leaves it out of the line until its digit is pressed: it has nothing to show.
	quiet bool
}

// place is where a tab is drawn: columns from up to, but not including, to. It is
// empty for a tab that is left out.
type place struct{ from, to int }

// drawn reports whether the i-th tab has a place in the line.
func drawn(tabs []tab, i, active int) bool { return !tabs[i].quiet || i == active }

// folding says which tabs are written without their names, for want of room.
type folding int

const (
	foldNone    folding = iota
	foldLetters         // those known by a letter
	foldAll
)

// label is what is written for a tab; the one shown keeps its name.
func (t tab) label(f folding, active bool) string {
	if !active && (f == foldAll || f == foldLetters && (t.digit < "0" || t.digit > "9")) {
		return t.digit
	}
	return t.digit + " " + t.page.Name()
}

// tabLine draws the names of the views, the one shown standing out.
func tabLine(th *style.Theme, tabs []tab, active, w int) (line string, places []place) {
	const help = "? help"
	gap, fold := "  ", foldNone
	if tabsWidth(tabs, active, gap, fold) > w {
		gap = " "
	}
	for fold < foldAll && tabsWidth(tabs, active, gap, fold) > w {
		fold++
	}
	var b strings.Builder
	x := 0
	for i, t := range tabs {
		if !drawn(tabs, i, active) {
			places = append(places, place{x, x})
			continue
		}
		label := t.label(fold, i == active)
		lead, tone := " ", style.Dim
		if i == active {
			lead, tone = th.Glyphs.Mark, style.Strong // the mark is for those who see no tones
		}
		text := lead + label
		if i > 0 {
			text = gap[1:] + text
		}
		b.WriteString(th.Paint(tone, text))
		places = append(places, place{x, x + style.Width(text)})
		x += style.Width(text)
	}
	if x+2+len(help) <= w {
		b.WriteString(strings.Repeat(" ", w-x-len(help)) + th.Paint(style.Dim, help))
	}
	return b.String(), places
}

func tabsWidth(tabs []tab, active int, gap string, fold folding) int {
	n := 0
	for i, t := range tabs {
		if drawn(tabs, i, active) {
			n += len(gap) + style.Width(t.label(fold, i == active))
		}
	}
	return n
}
