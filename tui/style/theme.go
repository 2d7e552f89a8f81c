package style

import (
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// Tone is what a piece of text means; a theme gives it its look.
type Tone uint8

// The tones. Slow and Fail are the only ones with a color.
const (
	Plain    Tone = iota
	Dim           // of less interest
	Strong        // headings, the critical path
	Slow          // takes longer than it should
	Fail          // failed
	Selected      // under the cursor
	toneCount
)

const reset = "\x1b[m"

// Theme is the look of one terminal.
type Theme struct {
	on [toneCount]string
	// Glyphs are the characters for lines, bars and marks.
	Glyphs Glyphs
	// ASCII says that the terminal cannot be trusted with more than ASCII.
	ASCII bool
}

// New returns the theme for a terminal that shows Unicode, or only ASCII.
func New(ascii bool) *Theme {
	t := &Theme{Glyphs: unicodeGlyphs, ASCII: ascii}
	if ascii {
		t.Glyphs = asciiGlyphs
	}
	t.on[Dim] = ansi.NewStyle().Faint().String()
	t.on[Strong] = ansi.NewStyle().Bold().String()
	t.on[Slow] = ansi.NewStyle().ForegroundColor(ansi.Yellow).String()
	t.on[Fail] = ansi.NewStyle().Bold().ForegroundColor(ansi.Red).String()
	t.on[Selected] = ansi.NewStyle().Reverse(true).String()
	return t
}

// For returns the theme for a terminal described by its environment, given as
// KEY=value. A locale that is set and is not UTF-8, the Linux console and the
// old serial terminals get ASCII.
func For(env []string) *Theme {
	get := func(key string) string {
		for _, kv := range slices.Backward(env) {
			if v, ok := strings.CutPrefix(kv, key+"="); ok {
				return v
			}
		}
		return ""
	}
	for _, prefix := range []string{"linux", "vt", "ansi", "dumb"} {
		if strings.HasPrefix(get("TERM"), prefix) {
			return New(true)
		}
	}
	for _, key := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if v := strings.ToLower(get(key)); v != "" {
			return New(!strings.Contains(v, "utf-8") && !strings.Contains(v, "utf8"))
		}
	}
	return New(false)
}

// Paint gives s the look of a tone. s must not contain escape sequences.
func (t *Theme) Paint(tone Tone, s string) string {
	if s == "" || tone >= toneCount || t.on[tone] == "" {
		return s
	}
	return t.on[tone] + s + reset
}
