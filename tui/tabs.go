package tui

import (
	"slices"
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

// label is what is written for a tab.
func (t tab) label() string { return t.digit + " " + t.page.Name() }

const (
	// tabsMore stands for the tabs that have no room: the palette has them all.
	tabsMore = ": more"
	// tabsHelp stands at the end of the line.
	tabsHelp = "? help"
)

// tabLine draws the names of the views, the one shown standing out. Where there is no room for all, those at the end are left out, but never the
// one that is shown.
func tabLine(th *style.Theme, tabs []tab, active, w int) (line string, places []place, more place) {
	d := tabDraw{th: th, tabs: tabs, active: active, gap: "  "}
	all := d.some(len(tabs))
	if d.width(all) > w {
		d.gap = " "
	}
	shown := all
	for n := len(all); n > 1 && d.width(shown) > w; n-- {
		d.more = "  " + tabsMore + "  " + tabsHelp
		shown = d.some(n - 1)
	}
	return d.line(shown, w)
}

// tabDraw draws the line of tabs once.
type tabDraw struct {
	th     *style.Theme
	tabs   []tab
	active int
	gap    string
	more   string // what must have room beside the tabs
}

// some is the first n tabs that are drawn, the one shown in place of the last.
func (d *tabDraw) some(n int) (out []int) {
	for i := range d.tabs {
		if drawn(d.tabs, i, d.active) {
			out = append(out, i)
		}
	}
	n = min(n, len(out))
	if !slices.Contains(out[:n], d.active) {
		return append(out[:n-1], d.active)
	}
	return out[:n]
}

// width is what some tabs take, with what must have room beside them.
func (d *tabDraw) width(some []int) int {
	n := len(d.more)
	for _, i := range some {
		n += len(d.gap) + fit.Width(d.tabs[i].label())
	}
	return n
}

// line draws some tabs in w columns.
func (d *tabDraw) line(some []int, w int) (line string, places []place, more place) {
	var b strings.Builder
	x := 0
	add := func(tone style.Tone, text string) {
		b.WriteString(d.th.Paint(tone, text))
		x += fit.Width(text)
	}
	places = make([]place, len(d.tabs))
	for _, i := range some {
		lead, tone := " ", style.Dim
		if i == d.active {
			lead, tone = d.th.Glyphs.Mark, style.Accent.Critical() // the mark is for those who see no tones
		}
		if x > 0 {
			lead = d.gap[1:] + lead
		}
		at := x
		add(tone, lead+d.tabs[i].label())
		places[i] = place{at, x}
	}
	if d.more != "" && x+len(d.gap)+len(tabsMore) <= w {
		at := x
		add(style.Dim, d.gap+tabsMore)
		more = place{at, x}
	}
	if x+2+len(tabsHelp) <= w {
		add(style.Dim, fit.Spaces(w-x-len(tabsHelp))+tabsHelp)
	}
	return b.String(), places, more
}
