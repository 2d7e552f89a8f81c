package main

import (
	"fmt"
	"strconv"
	"strings"
)

// paper is a picture's colors where the screen says nothing.
type paper struct{ ground, ink string }

// The grounds of pictures, as terminals have them.
var (
	dark  = paper{ground: "#12151a", ink: "#d4d7dc"}
	light = paper{ground: "#fbfbf8", ink: "#24292f"}
)

// palette is the sixteen colors that terminals let people choose.
var palette = [16]string{
	"#2a2e35", "#e5686f", "#8cc570", "#e0b35c", "#6ea8e5", "#c487d9", "#5fbcc4", "#d4d7dc",
	"#7b828d", "#ff8a90", "#a8dd8e", "#f2cb7d", "#92c1f2", "#d9a8ea", "#86d6dc", "#ffffff",
}

// style is how a character looks.
type style struct {
	fg, bg               string // "" is the terminal's own
	bold, faint, reverse bool
}

// cell is a character on screen.
type cell struct {
	r     rune
	style style
}

func (s style) foreground(on paper) string {
	c := s.fg
	if c == "" {
		c = on.ink
	}
	if s.reverse {
		c = s.bg
		if c == "" {
			c = on.ground
		}
	}
	if s.faint {
		c = mix(c, on.ground)
	}
	return c
}

func (s style) background(on paper) string {
	if !s.reverse {
		return s.bg
	}
	if s.fg != "" {
		return s.fg
	}
	return on.ink
}

// parse reads a line as tmux captures it; the style continues from line to line.
func parse(line string, s style) ([]cell, style) {
	var cells []cell
	for line != "" {
		if loc := escape.FindStringIndex(line); loc != nil && loc[0] == 0 {
			s = s.apply(line[2 : loc[1]-1])
			line = line[loc[1]:]
			continue
		}
		r := []rune(line)[0]
		cells = append(cells, cell{r: r, style: s})
		line = line[len(string(r)):]
	}
	return cells, s
}

// apply changes the style as SGR parameters say.
func (s style) apply(params string) style {
	p := strings.FieldsFunc(params, func(r rune) bool { return r == ';' || r == ':' })
	if len(p) == 0 {
		return style{}
	}
	for i := 0; i < len(p); i++ {
		n, err := strconv.Atoi(p[i])
		if err != nil {
			continue
		}
		switch {
		case n == 0:
			s = style{}
		case n == 1:
			s.bold = true
		case n == 2:
			s.faint = true
		case n == 7:
			s.reverse = true
		case n == 22:
			s.bold, s.faint = false, false
		case n == 27:
			s.reverse = false
		case n >= 30 && n <= 37:
			s.fg = palette[n-30]
		case n >= 90 && n <= 97:
			s.fg = palette[n-90+8]
		case n >= 40 && n <= 47:
			s.bg = palette[n-40]
		case n >= 100 && n <= 107:
			s.bg = palette[n-100+8]
		case n == 39:
			s.fg = ""
		case n == 49:
			s.bg = ""
		case n == 38 || n == 48:
			c, used := extended(p[i+1:])
			i += used
			if n == 38 {
				s.fg = c
			} else {
				s.bg = c
			}
		}
	}
	return s
}

// extended reads the parameters after 38 and 48: 5;N or 2;R;G;B.
func extended(p []string) (colour string, used int) {
	at := func(i int) int {
		if i >= len(p) {
			return 0
		}
		n, err := strconv.Atoi(p[i])
		if err != nil {
			return 0
		}
		return min(max(n, 0), 255)
	}
	switch at(0) {
	case 5:
		return indexed(at(1)), 2
	case 2:
		return fmt.Sprintf("#%02x%02x%02x", at(1), at(2), at(3)), 4
	}
	return "", 1
}

// indexed is one of the 256 colors of xterm.
func indexed(n int) string {
	switch {
	case n < 16:
		return palette[n]
	case n >= 232:
		g := 8 + 10*(n-232)
		return fmt.Sprintf("#%02x%02x%02x", g, g, g)
	}
	level := func(i int) int {
		if i == 0 {
			return 0
		}
		return 55 + 40*i
	}
	n -= 16
	return fmt.Sprintf("#%02x%02x%02x", level(n/36), level(n/6%6), level(n%6))
}

// mix is a color halfway to another, both as #rrggbb.
func mix(a, b string) string {
	var x, y [3]int
	if _, err := fmt.Sscanf(a, "#%02x%02x%02x", &x[0], &x[1], &x[2]); err != nil {
		return a
	}
	if _, err := fmt.Sscanf(b, "#%02x%02x%02x", &y[0], &y[1], &y[2]); err != nil {
		return a
	}
	return fmt.Sprintf("#%02x%02x%02x", (2*x[0]+y[0])/3, (2*x[1]+y[1])/3, (2*x[2]+y[2])/3)
}
