package main

import (
	"encoding/xml"
	"fmt"
	"strings"
)

// What a character cell measures, and the space around the screen.
const (
	cellWidth  = 8.4
	cellHeight = 18
	margin     = 14
	fontSize   = 14
)

// svg draws a captured screen of some columns as text, in its colors, on a ground.
func svg(screen, title string, columns int, on paper) string {
	lines := strings.Split(strings.TrimRight(screen, "\n"), "\n")
	var b strings.Builder
	open(&b, title, columns, len(lines), on)
	var s style
	for i, line := range lines {
		var cells []cell
		cells, s = parse(line, s)
		draw(&b, cells, i, on)
	}
	b.WriteString("</g>\n</svg>\n")
	return b.String()
}

// open begins a picture.
func open(b *strings.Builder, title string, columns, lines int, on paper) {
	width, height := float64(columns)*cellWidth+2*margin, float64(lines*cellHeight+2*margin)
	out := func(format string, args ...any) { _, _ = fmt.Fprintf(b, format+"\n", args...) }
	out(`<svg xmlns="http://www.w3.org/2000/svg" width="%.0f" height="%.0f" viewBox="0 0 %.0f %.0f" role="img">`, width, height, width, height)
	out(`<!-- Made by go run ./test/picture from a real run. Do not edit. -->`)
	out(`<title>%s</title>`, escaped(title))
	out(`<rect width="100%%" height="100%%" rx="8" fill="%s"/>`, on.ground)
	out(`<g font-family="ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace" font-size="%d" xml:space="preserve">`, fontSize)
}

// draw draws the cells of a line.
func draw(b *strings.Builder, cells []cell, line int, on paper) {
	out := func(format string, args ...any) { _, _ = fmt.Fprintf(b, format+"\n", args...) }
	y := margin + line*cellHeight
	for _, r := range runs(cells) {
		x, w := margin+float64(r.col)*cellWidth, float64(len(r.text))*cellWidth
		if bg := r.style.background(on); bg != "" {
			out(`<rect x="%.1f" y="%d" width="%.1f" height="%d" fill="%s"/>`, x, y, w, cellHeight, bg)
		}
		text := strings.Trim(string(r.text), " ") // those who draw it drop spaces at the ends
		if text == "" {
			continue
		}
		x += float64(len(r.text)-len([]rune(strings.TrimLeft(string(r.text), " ")))) * cellWidth
		w = float64(len([]rune(text))) * cellWidth
		weight := ""
		if r.style.bold {
			weight = ` font-weight="bold"`
		}
		out(`<text x="%.1f" y="%d" textLength="%.1f" lengthAdjust="spacingAndGlyphs" fill="%s"%s>%s</text>`,
			x, y+cellHeight-5, w, r.style.foreground(on), weight, escaped(text))
	}
}

func escaped(s string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(s)) // a Builder takes everything
	return b.String()
}

// span is text of one style on one line.
type span struct {
	col   int
	text  []rune
	style style
}

// runs joins cells of one style. Two spaces end a run, so that what is aligned in
// columns stays so in any font; bars are runs of their own, for their glyphs are wider in some.
func runs(cells []cell) []span {
	var out []span
	for i, c := range cells {
		last := len(out) - 1
		gap := i > 1 && cells[i-1].r == ' ' && cells[i-2].r == ' ' && c.r != ' '
		if last < 0 || out[last].style != c.style || gap || isBar(c.r) != isBar(cells[i-1].r) {
			out = append(out, span{col: i, text: []rune{c.r}, style: c.style})
			continue
		}
		out[last].text = append(out[last].text, c.r)
	}
	for i := range out { // spaces at the end only matter for their ground
		if !out[i].style.reverse && out[i].style.bg == "" {
			out[i].text = []rune(strings.TrimRight(string(out[i].text), " "))
		}
	}
	return out
}

func isBar(r rune) bool { return r >= 0x2500 && r < 0x25A0 }
