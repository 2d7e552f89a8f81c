package style

import (
	"fmt"
	"slices"
	"strings"

	"github.com/charmbracelet/colorprofile"

	"github.com/kubeloupe/kubeloupe/trace/fit"
)

const reset = "\x1b[m"

// Theme is the look of one terminal: the only place that names a color. It is for one goroutine.
type Theme struct {
	// Glyphs are the characters for lines, bars and marks.
	Glyphs Glyphs
	// ASCII says that the terminal cannot be trusted with more than ASCII.
	ASCII bool

	profile colorprofile.Profile
	dark    bool
	on      [256]string // the sequence that begins a tone, by its value with flags
}

// New returns the theme for a dark terminal with 256 colors that shows Unicode, or only ASCII.
func New(ascii bool) *Theme {
	t := &Theme{Glyphs: unicodeGlyphs, ASCII: ascii}
	if ascii {
		t.Glyphs = asciiGlyphs
	}
	t.Fit(colorprofile.ANSI256, true)
	return t
}

// Fit changes the styles to those for a number of colors and a background.
func (t *Theme) Fit(p colorprofile.Profile, dark bool) {
	t.profile, t.dark = p, dark
	for base := range toneCount {
		for _, tone := range []Tone{base, base.Critical(), base.Selected(), base.Critical().Selected()} {
			t.on[tone], _, _ = strings.Cut(t.style(tone).Render("x"), "x")
		}
	}
}

// Profile returns how many colors the theme uses.
func (t *Theme) Profile() colorprofile.Profile { return t.profile }

// Dark reports whether the theme is for a dark background.
func (t *Theme) Dark() bool { return t.dark }

// For returns the theme for a terminal described by its environment, given as
// KEY=value. A locale that is set and is not UTF-8, the Linux console and the
// old serial terminals get ASCII.
func For(env []string) *Theme {
	t, p := New(asciiOnly(env)), colorprofile.Env(env)
	if NoColor(env) {
		p = min(p, colorprofile.ASCII)
	}
	t.Fit(p, true)
	return t
}

// NoColor reports whether colors are not wanted: NO_COLOR is set to anything but the empty string (https://no-color.org).
func NoColor(env []string) bool { return lookup(env, "NO_COLOR") != "" }

func lookup(env []string, key string) string {
	for _, kv := range slices.Backward(env) {
		if v, ok := strings.CutPrefix(kv, key+"="); ok {
			return v
		}
	}
	return ""
}

func asciiOnly(env []string) bool {
	for _, prefix := range []string{"linux", "vt", "ansi", "dumb"} {
		if strings.HasPrefix(lookup(env, "TERM"), prefix) {
			return true
		}
	}
	for _, key := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if v := strings.ToLower(lookup(env, key)); v != "" {
			return !strings.Contains(v, "utf-8") && !strings.Contains(v, "utf8")
		}
	}
	return false
}

// Paint gives s the style of a tone. s must not contain escape sequences.
func (t *Theme) Paint(tone Tone, s string) string {
	if s == "" || t.on[tone] == "" {
		return s
	}
	return t.on[tone] + s + reset
}

// Signed marks a text that is slow or failed where there are no colors: in a space at its end, apart from the text where there is room,
// or at its beginning.
func (t *Theme) Signed(tone Tone, s string) string {
	sign := t.sign(tone)
	switch {
	case sign == "" || strings.TrimSpace(s) == "":
	case strings.HasSuffix(s, "  "):
		n := len(strings.TrimRight(s, " ")) + 1
		return s[:n] + sign + s[n+1:]
	case strings.HasSuffix(s, " "):
		trimmed := strings.TrimRight(s, " ")
		return trimmed + sign + s[len(trimmed)+1:]
	case strings.HasPrefix(s, " "):
		trimmed := strings.TrimLeft(s, " ")
		return s[:len(s)-len(trimmed)-1] + sign + trimmed
	}
	return s
}

// Lead returns n spaces before a line, the last but one of them the sign of what is slow or failed where there are no colors.
func (t *Theme) Lead(tone Tone, n int) string {
	if sign := t.sign(tone); sign != "" && n > 1 {
		return fit.Spaces(n-2) + sign + " "
	}
	return fit.Spaces(n)
}

// sign is what marks a tone where there are no colors.
func (t *Theme) sign(tone Tone) string {
	if t.Colored() {
		return ""
	}
	return t.Glyphs.Sign[tone&toneMask]
}

// The values of --theme.
const (
	Auto  = "auto" // by the terminal's background
	Dark  = "dark"
	Light = "light"
)

// CheckName reports an unknown value of --theme; "" is Auto.
func CheckName(name string) error {
	if !slices.Contains([]string{"", Auto, Dark, Light}, name) {
		return fmt.Errorf("theme %q is unknown: must be one of %s, %s, %s", name, Dark, Light, Auto)
	}
	return nil
}
