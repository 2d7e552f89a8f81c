package tui

import (
	"strings"

	"github.com/kubeloupe/kubeloupe/trace/fit"
	"github.com/kubeloupe/kubeloupe/tui/style"
	"github.com/kubeloupe/kubeloupe/tui/views"
)

// crumbSign stands between two places of the trail.
const crumbSign = " › "

// crumbs is how one came to the page that is shown, from the view where one began.
func (a *app) crumbs() []string {
	var out []string
	page := a.tabs[a.active].page
	name := page.Name()
	if a.via >= 0 {
		out = append(out, a.tabs[a.via].page.Name())
	}
	if c, ok := page.(views.Crumber); ok && c.Crumb() != "" {
		if len(out) == 0 {
			out = append(out, name)
		}
		name = c.Crumb()
	}
	out = append(out, name)
	for _, p := range a.stack {
		name := p.Name()
		if c, ok := p.(views.Crumber); ok && c.Crumb() != "" {
			name = c.Crumb()
		}
		out = append(out, name)
	}
	return out
}

// trail draws the way to the page in at most w columns, its end always in sight; n is how wide it is, 0 in a view itself.
func (a *app) trail(th *style.Theme, w int) (text string, n int) {
	if a.via < 0 && len(a.stack) == 0 {
		return "", 0
	}
	places := a.crumbs()
	for i := range places {
		places[i] = th.Clean(places[i])
	}
	for cut := 1; len(places) > 2 && fit.Width(strings.Join(places, crumbSign))+1 > w; cut = 2 {
		places = append([]string{th.Glyphs.Ellipsis}, places[cut:]...)
	}
	last := len(places) - 1
	lead := " "
	for _, p := range places[:last] {
		lead += p + crumbSign
	}
	end := th.CutMid(places[last], max(w-fit.Width(lead)-2, 8))
	return th.Paint(style.Dim, lead) + th.Paint(style.Strong, end) + "  ", fit.Width(lead) + fit.Width(end) + 2
}
