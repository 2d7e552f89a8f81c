// Package hue has the colors of what kubeloupe draws, in the terminal as in pictures: one for each phase of a pod's start, one for what
// is slow and one for what failed.
//
// It owns only constants, runs no goroutine and publishes no event.
package hue

import (
	"fmt"
	"strconv"
)

// Hue is a color of xterm's 256 for a dark and for a light background, and one of the 16; "" is the terminal's own. True-color
// terminals get the 256 as well: an index takes half the bytes.
type Hue struct{ Dark, Light, Basic string }

// The phases have about one lightness; trouble is more saturated.
var (
	Volumes = Hue{"37", "30", "6"}
	Sandbox = Hue{"75", "26", "4"}
	Network = Hue{"87", "38", "14"}
	Image   = Hue{"141", "92", "5"}
	Create  = Hue{"114", "28", "2"}
	Probe   = Hue{"186", "136", "11"}
	Status  = Hue{"173", "166", ""}
	Wait    = Hue{"244", "246", "8"}

	Slow = Hue{"214", "130", "3"}
	Fail = Hue{"203", "160", "9"}
)

// CSS returns the color for a background as #rrggbb; "" if it is not one of the color cube or of the grays.
func (h Hue) CSS(dark bool) string {
	index := h.Light
	if dark {
		index = h.Dark
	}
	n, err := strconv.Atoi(index)
	switch {
	case err != nil || n < 16 || n > 255:
		return ""
	case n >= 232:
		gray := 8 + 10*(n-232)
		return fmt.Sprintf("#%02x%02x%02x", gray, gray, gray)
	}
	n -= 16
	return fmt.Sprintf("#%02x%02x%02x", level(n/36), level(n/6%6), level(n%6))
}

// level is the intensity of a step of xterm's color cube.
func level(step int) int {
	if step == 0 {
		return 0
	}
	return 55 + 40*step
}

// SGR returns the sequence that begins the color of the 16, which fits every background; "" if that is the terminal's own.
func (h Hue) SGR() string {
	n, err := strconv.Atoi(h.Basic)
	switch {
	case err != nil || n < 0 || n > 15:
		return ""
	case n > 7:
		n += 60 - 8
	}
	return fmt.Sprintf("\x1b[%dm", 30+n)
}
