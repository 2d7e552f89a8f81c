package tui

import (
	"fmt"
	"strings"

	"github.com/kubeloupe/kubeloupe/inspect/model"
	"github.com/kubeloupe/kubeloupe/trace/fit"
	"github.com/kubeloupe/kubeloupe/tui/style"
	"github.com/kubeloupe/kubeloupe/tui/views"
)

// footer is the last line: at its left the way to the page, then what is to be said, what
// is wrong with the stream, the filter in force, or the most useful keys.
func (a *app) footer() string {
	th := a.look.Theme
	trail, n := a.trail(th, a.w*2/5)
	return trail + a.message(th, a.w-n)
}

// message is the footer without the trail, in w columns.
func (a *app) message(th *style.Theme, w int) string {
	trouble := a.trouble()
	switch {
	case a.say.Text != "" && a.cfg.Now().Before(a.sayUntil):
		return said(th, a.say, w)
	case trouble != "":
		return said(th, views.Say{Text: trouble, Bad: true}, w)
	case a.filters[a.top()] != "":
		return a.filtered(th, w)
	}
	cost := cost(a.model.Node(), a.w < 110)
	if p := a.cfg.Player; p != nil && !p.State().Playing {
		cost = replayed(p.State())
	}
	hints := th.Left(a.hints(w-fit.Width(cost)-2), w-fit.Width(cost)-2)
	return th.Paint(style.Dim, hints+" "+cost)
}

func said(th *style.Theme, s views.Say, w int) string {
	tone := style.Plain
	if s.Bad {
		tone = style.Fail
	}
	return th.Paint(tone, th.Cut(" "+th.Clean(s.Text), w))
}

// filtered says what the filter in force is, and how many rows it leaves.
func (a *app) filtered(th *style.Theme, w int) string {
	rest := "   Esc drops it"
	if c, ok := a.top().(interface{ Counts() (shown, all int) }); ok {
		shown, all := c.Counts()
		rest = "   " + style.Count(shown) + " of " + style.Count(all) + rest
	}
	return th.Paint(style.Strong, th.Cut(" filter: "+th.Clean(a.filters[a.top()]), w-len(rest))) + th.Paint(style.Dim, rest)
}

// cost is what the agent takes of the machine, and what this reader missed.
func cost(n model.Node, short bool) string {
	cpu, rss := style.Unknown, style.Unknown
	if share, ok := n.Usage.Share(); ok {
		cpu = fmt.Sprintf("%.1f %%", share*100)
	}
	if n.Usage.RSS > 0 {
		rss = style.Bytes(n.Usage.RSS)
	}
	if short {
		return cpu + " " + rss + " dropped " + style.Count(n.Lost)
	}
	who := "agent"
	if n.SeenBy.Foreign() {
		who = "kubelet"
	}
	return who + " cpu " + cpu + " mem " + rss + " dropped " + style.Count(n.Lost)
}

// hints are the keys worth a reminder, as many as there is room for in w columns.
func (a *app) hints(w int) string {
	k, has := a.look.Keys, map[string]bool{}
	for _, b := range a.top().Keys() {
		has[b.Help().Key] = true
	}
	var out []string
	if h, ok := a.top().(interface{ Hints() string }); ok && h.Hints() != "" {
		out = append(out, strings.Split(h.Hints(), "  ")...) // as many as there is room for
	}
	if has[k.Enter.Help().Key] {
		out = append(out, "Enter open")
	}
	out = append(out, "/ filter")
	if has[k.Sort.Help().Key] {
		out = append(out, "s sort")
	}
	if a.cfg.Player != nil {
		out = append(out, "Space pause", "{ } marks", ": time")
	} else {
		out = append(out, "Space freeze")
	}
	last, quit := "? help", "  q quit"
	if has["q"] { // it means something else here, and the page says what
		quit = ""
	}
	if len(a.stack) > 0 || a.via >= 0 {
		last = "Esc back  " + last
	}
	if len(last)+len(quit)+1 <= w {
		last += quit
	}
	out = append(out, "c copy", "e export")
	for len(out) > 0 && fit.Width(strings.Join(out, "  ")+last)+3 > w {
		out = out[:len(out)-1]
	}
	out = append(out, last)
	return " " + strings.Join(out, "  ")
}
