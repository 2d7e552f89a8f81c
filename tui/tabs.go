package tui

import (
	"strings"

	"github.com/kubeloupe/kubeloupe/trace/fit"
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

// tabsHelp stands at the end of the line where there is room.
const tabsHelp = "? help"

// tabLine draws the names of the views, the one shown standing out. Where there
// is no room it leaves out names, at last whole tabs far from the one shown.
func tabLine(th *style.Theme, tabs []tab, active, w int) (line string, places []place) {
	d := tabDraw{th: th, tabs: tabs, active: active, gap: "  "}
	if d.width(0, len(tabs)) > w {
		d.gap = " "
	}
	for d.fold < foldAll && d.width(0, len(tabs)) > w {
		d.fold++
	}
	from, to := d.window(w)
	line, places, x := d.line(from, to)
	if x+2+len(tabsHelp) <= w {
		line += fit.Spaces(w-x-len(tabsHelp)) + th.Paint(style.Dim, tabsHelp)
	}
	return line, places
}

// tabDraw draws the line of tabs once.
type tabDraw struct {
	th     *style.Theme
	tabs   []tab
	active int
	gap    string
	fold   folding
}

// width is what the tabs from up to to take, with the marks for those left out.
func (d *tabDraw) width(from, to int) int {
	n := 0
	for i := from; i < to; i++ {
		if drawn(d.tabs, i, d.active) {
			n += len(d.gap) + fit.Width(d.tabs[i].label(d.fold, i == d.active))
		}
	}
	if from > 0 {
		n += 2
	}
	if to < len(d.tabs) {
		n += 2
	}
	return n
}

// window is which tabs fit into w columns: as many as do around the one shown.
func (d *tabDraw) window(w int) (from, to int) {
	from, to = 0, len(d.tabs)
	for d.width(from, to) > w && to-from > 1 {
		if to-1-d.active >= d.active-from {
			to--
		} else {
			from++
		}
	}
	return from, to
}

// line draws the tabs from up to to; x is how wide it is.
func (d *tabDraw) line(from, to int) (line string, places []place, x int) {
	var b strings.Builder
	add := func(tone style.Tone, text string) {
		b.WriteString(d.th.Paint(tone, text))
		x += fit.Width(text)
	}
	if from > 0 {
		add(style.Dim, " "+d.th.Glyphs.Ellipsis)
	}
	for i, t := range d.tabs {
		if i < from || i >= to || !drawn(d.tabs, i, d.active) {
			places = append(places, place{x, x})
			continue
		}
		lead, tone := " ", style.Dim
		if i == d.active {
			lead, tone = d.th.Glyphs.Mark, style.Accent.Critical() // the mark is for those who see no tones
		}
		if x > 0 {
			lead = d.gap[1:] + lead
		}
		at := x
		add(tone, lead+t.label(d.fold, i == d.active))
		places = append(places, place{at, x})
	}
	if to < len(d.tabs) {
		add(style.Dim, " "+d.th.Glyphs.Ellipsis)
	}
	return b.String(), places, x
}
