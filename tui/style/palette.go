package style

import (
	"image/color"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/colorprofile"

	"github.com/kubeloupe/kubeloupe/trace/hue"
)

// hues are the colors of the tones.
var hues = [toneCount]hue.Hue{
	Dim:     {Dark: "245", Light: "243"},
	Head:    {Dark: "245", Light: "243"},
	Slow:    hue.Slow,
	Fail:    hue.Fail,
	Accent:  {Dark: "212", Light: "162"},
	Badge:   {Dark: "212", Light: "162"},
	Border:  {Dark: "240", Light: "249", Basic: "8"},
	Volumes: hue.Volumes,
	Sandbox: hue.Sandbox,
	Network: hue.Network,
	Image:   hue.Image,
	Create:  hue.Create,
	Probe:   hue.Probe,
	Status:  hue.Status,
	Wait:    hue.Wait,
}

// ground is the background of the line under the cursor; with 16 colors it is reversed.
var ground = hue.Hue{Dark: "238", Light: "253"}

// Colored reports whether the theme has colors.
func (t *Theme) Colored() bool { return t.profile >= colorprofile.ANSI }

func (t *Theme) color(h hue.Hue) color.Color {
	index := h.Light
	switch {
	case !t.Colored():
		index = ""
	case t.profile == colorprofile.ANSI:
		index = h.Basic
	case t.dark:
		index = h.Dark
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
