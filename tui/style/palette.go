package style

import (
	"image/color"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/colorprofile"
)

// hue is a color of xterm's 256 for a dark and for a light background, and one of the 16; "" is the terminal's own. True-color
// terminals get the 256 as well: an index takes half the bytes.
type hue struct{ dark, light, basic string }

// hues are the colors of the tones. The phases have about one lightness; trouble is more saturated.
var hues = [toneCount]hue{
	Dim:     {"245", "243", ""},
	Head:    {"245", "243", ""},
	Slow:    {"214", "130", "3"},
	Fail:    {"203", "160", "9"},
	Accent:  {"212", "162", ""},
	Badge:   {"212", "162", ""},
	Border:  {"240", "249", "8"},
	Volumes: {"37", "30", "6"},
	Sandbox: {"75", "26", "4"},
	Network: {"87", "38", "14"},
	Image:   {"141", "92", "5"},
	Create:  {"114", "28", "2"},
	Probe:   {"186", "136", "11"},
	Status:  {"173", "166", ""},
	Wait:    {"244", "246", "8"},
}

// ground is the background of the line under the cursor; with 16 colors it is reversed.
var ground = hue{"238", "253", ""}

// Colored reports whether the theme has colors.
func (t *Theme) Colored() bool { return t.profile >= colorprofile.ANSI }

func (t *Theme) color(h hue) color.Color {
	index := h.light
	switch {
	case !t.Colored():
		index = ""
	case t.profile == colorprofile.ANSI:
		index = h.basic
	case t.dark:
		index = h.dark
	}
	if index == "" {
		return lipgloss.NoColor{}
	}
	return lipgloss.Color(index)
}

// style returns the style of a tone with its flags.
func (t *Theme) style(tone Tone) lipgloss.Style {
	base := tone & toneMask
	s := lipgloss.NewStyle().Foreground(t.color(hues[base]))
	few := t.profile < colorprofile.ANSI256
	switch {
	case base == Dim, base == Head:
		s = s.Faint(few)
	case base == Wait:
		s = s.Faint(!t.Colored())
	case base == Strong, base == Fail:
		s = s.Bold(true)
	case base == Accent:
		s = s.Bold(few)
	case base == Badge:
		s = s.Reverse(true)
	}
	if tone&critical != 0 {
		s = s.Bold(true)
	}
	if tone&selected != 0 {
		s = s.Background(t.color(ground)).Reverse(few).Faint(false)
	}
	return s
}
