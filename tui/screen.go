package tui

import (
	"fmt"
	"strings"

	"github.com/kubeloupe/kubeloupe/trace/fit"
	"github.com/kubeloupe/kubeloupe/tui/style"
	"github.com/kubeloupe/kubeloupe/tui/views"
)

const (
	bodyTop   = 2 // header and tabs
	bottom    = 1 // footer
	minWidth  = 60
	minHeight = 16
)

func (a *app) bodyHeight() int { return max(a.h-bodyTop-bottom, 0) }

func (a *app) tooSmall() bool { return a.w < minWidth || a.h < minHeight }

func (a *app) resize(w, h int) {
	a.w, a.h = w, h
	a.look.Scene.Panels = w >= panelColumns && h >= panelLines
	a.refit()
}

// refit tells all pages their sizes.
func (a *app) refit() {
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
	w, h := max(a.w, minWidth), max(a.pageHeight(), minHeight-bodyTop-bottom-a.lessonHeight())
	if l, ok := p.(layer); ok {
		l.fit(w, h+a.lessonHeight())
		return
	}
	if a.framed(p) {
		w, h = w-style.PanelSides, h-style.PanelSides
	} else {
		h -= a.above(p)
	}
	p.SetSize(w, h)
}

// view is the whole screen, drawn again unless it is held.
func (a *app) view() string {
	if !a.held {
		a.drawn = a.draw()
	}
	return a.drawn
}

// wayOut says how to leave a screen that is too small.
func (a *app) wayOut() string {
	if q, ok := a.float.(*question); ok {
		return q.title + " " + q.foot(&a.look.Keys)
	}
	return "q quits"
}

func (a *app) draw() string {
	if a.w <= 0 || a.h <= 0 {
		return ""
	}
	th := a.look.Theme
	if a.tooSmall() {
		text := fmt.Sprintf("This terminal is %dx%d. kubeloupe needs %dx%d or more.", a.w, a.h, minWidth, minHeight)
		lines := append(fit.Wrap(text, a.w), fit.Wrap(a.wayOut(), a.w)...)
		return th.Fold(strings.Join(lines[:min(len(lines), a.h)], "\n"))
	}
	var tabs string
	tabs, a.places, a.more = tabLine(th, a.tabs, a.active, a.w)
	lines := []string{header(th, a.status(), a.w), tabs}
	body := a.body()
	for i := range a.bodyHeight() {
		switch {
		case i >= len(body):
			lines = append(lines, "")
		case a.look.Scene.Panels: // they have the width
			lines = append(lines, body[i])
		default:
			lines = append(lines, fit.Cut(body[i], a.w, ""))
		}
	}
	lines = append(lines, fit.Cut(a.footer(), a.w, ""))
	return th.Fold(strings.Join(lines, "\n"))
}
