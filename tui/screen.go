package tui

import (
	"fmt"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/kubeloupe/kubeloupe/tui/style"
	"github.com/kubeloupe/kubeloupe/tui/views"
)

const (
	bodyTop   = 2 // header and tabs
	bottom    = 1
	minWidth  = 60
	minHeight = 16
)

func (a *app) bodyHeight() int { return max(a.h-bodyTop-bottom, 0) }

func (a *app) tooSmall() bool { return a.w < minWidth || a.h < minHeight }

func (a *app) resize(w, h int) {
	a.w, a.h = w, h
	for _, t := range a.tabs {
		a.fit(t.page)
	}
	for _, p := range a.stack {
		a.fit(p)
	}
	a.refresh()
}

// fit tells a page its size; pages need not cope with less than what is drawn at all.
func (a *app) fit(p views.Page) {
	p.SetSize(max(a.w, minWidth), max(a.bodyHeight(), minHeight-bodyTop-bottom))
}

// view draws the whole screen.
func (a *app) view() string {
	if a.w <= 0 || a.h <= 0 {
		return ""
	}
	th := a.look.Theme
	if a.tooSmall() {
		text := fmt.Sprintf("This terminal is %dx%d. kubeloupe needs %dx%d or more.\nq quits", a.w, a.h, minWidth, minHeight)
		lines := strings.Split(ansi.Wrap(text, a.w, ""), "\n")
		return th.Fold(strings.Join(lines[:min(len(lines), a.h)], "\n"))
	}
	var tabs string
	tabs, a.places = tabLine(th, a.tabs, a.active, a.w)
	lines := []string{header(th, a.status(), a.w), tabs}
	body := strings.Split(a.top().View(), "\n")
	for i := range a.bodyHeight() {
		if i < len(body) {
			lines = append(lines, fit(body[i], a.w))
		} else {
			lines = append(lines, "")
		}
	}
	lines = append(lines, fit(a.footer(), a.w))
	return th.Fold(strings.Join(lines, "\n"))
}

// fit makes sure that a line does not wrap.
func fit(line string, w int) string {
	if len(line) <= w || ansi.StringWidth(line) <= w {
		return line
	}
	return ansi.Truncate(line, w, "")
}

func (a *app) status() status {
	turning, _ := a.model.Iterating()
	s := status{
		turning: turning, node: a.model.Node(), now: a.now, rate: a.model.Rate(a.now),
		api: a.model.API(), frozen: a.backlog.frozen, waiting: a.backlog.came,
	}
	if a.ended != nil {
		s.ended = a.ended.Error()
	}
	return s
}

// footer is the last line: what is being typed, what is to be said, the filter
// in force, or the most useful keys.
func (a *app) footer() string {
	th := a.look.Theme
	switch {
	case a.prompt != nil:
		return a.prompt.view(th, a.w)
	case a.say.Text != "" && a.cfg.Now().Before(a.sayUntil):
		tone := style.Plain
		if a.say.Bad {
			tone = style.Fail
		}
		return th.Paint(tone, th.Cut(" "+th.Clean(a.say.Text), a.w))
	case a.filters[a.top()] != "":
		rest := "   Esc drops it"
		if c, ok := a.top().(interface{ Counts() (shown, all int) }); ok {
			shown, all := c.Counts()
			rest = "   " + style.Count(shown) + " of " + style.Count(all) + rest
		}
		return th.Paint(style.Strong, th.Cut(" filter: "+th.Clean(a.filters[a.top()]), a.w-len(rest))) + th.Paint(style.Dim, rest)
	}
	return th.Paint(style.Dim, th.Cut(a.hints(), a.w))
}

// hints are the keys worth a reminder, as many as there is room for.
func (a *app) hints() string {
	k, has := a.look.Keys, map[string]bool{}
	for _, b := range a.top().Keys() {
		has[b.Help().Key] = true
	}
	var out []string
	if h, ok := a.top().(interface{ Hints() string }); ok && h.Hints() != "" {
		out = append(out, h.Hints())
	}
	if has[k.Enter.Help().Key] {
		out = append(out, "Enter open")
	}
	if len(a.stack) > 0 {
		out = append(out, "Esc back")
	}
	out = append(out, "/ filter")
	if has[k.Sort.Help().Key] {
		out = append(out, "s sort")
	}
	out = append(out, "Space freeze", "e export")
	last := "? help  q quit"
	if has["q"] { // it means something else here, and the page says what
		last = "? help"
	}
	for len(out) > 1 && style.Width(strings.Join(out, "  ")+last)+3 > a.w {
		out = out[:len(out)-1]
	}
	out = append(out, last)
	return " " + strings.Join(out, "  ")
}
