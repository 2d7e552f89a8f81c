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
}

// place is where a tab is drawn: columns from up to, but not including, to.
type place struct{ from, to int }

// tabLine draws the names of the views, the one shown standing out.
func tabLine(th *style.Theme, tabs []tab, active, w int) (line string, places []place) {
	const help = "? help"
	gap := "  "
	if tabsWidth(tabs, gap) > w {
		gap = " "
	}
	var b strings.Builder
	x := 0
	for i, t := range tabs {
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

func tabsWidth(tabs []tab, gap string) int {
	n := 0
	for _, t := range tabs {
		n += len(gap) + len(t.digit) + 1 + style.Width(t.page.Name())
	}
	return n
}
