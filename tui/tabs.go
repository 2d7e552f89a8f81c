package tui

import (
	"strings"

	"github.com/kubeloupe/kubeloupe/tui/style"
	"github.com/kubeloupe/kubeloupe/tui/views"
)

// tab is a view with the digit that names it.
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

// tabLine draws the names of the views, the one shown standing out.
func tabLine(th *style.Theme, tabs []tab, active, w int) (line string, places []place) {
	const help = "? help"
	gap := "  "
	if tabsWidth(tabs, active, gap) > w {
		gap = " "
	}
	var b strings.Builder
	x := 0
	for i, t := range tabs {
		if !drawn(tabs, i, active) {
			places = append(places, place{x, x})
			continue
		}
		text := " " + t.digit + " " + t.page.Name()
		if i > 0 {
			text = gap[1:] + text
		}
		tone := style.Dim
		if i == active {
			// The mark is for those who see no tones.
			text = strings.TrimSuffix(text, " "+t.digit+" "+t.page.Name()) + th.Glyphs.Mark + t.digit + " " + t.page.Name()
			tone = style.Strong
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

func tabsWidth(tabs []tab, active int, gap string) int {
	n := 0
	for i, t := range tabs {
		if !drawn(tabs, i, active) {
			continue
		}
		n += len(gap) + len(t.digit) + 1 + style.Width(t.page.Name())
	}
	return n
}
