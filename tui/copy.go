package tui

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"

	"github.com/kubeloupe/kubeloupe/trace/human"
	"github.com/kubeloupe/kubeloupe/tui/style"
	"github.com/kubeloupe/kubeloupe/tui/views"
)

// maxCopy is what terminals take into their clipboard at once, in bytes.
const maxCopy = 64 << 10

// copy puts what is selected into the terminal's clipboard, by the escape sequence
// OSC 52. Whether the terminal obeys is not known.
func (a *app) copy() tea.Cmd {
	if !hasClipboard(a.cfg.Env) {
		a.tell(views.Say{Text: "this terminal has no clipboard; e writes the screen to a file", Bad: true})
		return nil
	}
	text, what := a.copied()
	if text == "" {
		a.tell(views.Say{Text: "nothing to copy"})
		return nil
	}
	if len(text) > maxCopy {
		text, what = head(text, maxCopy), "the first 64 KiB of "+what
	}
	a.tell(views.Say{Text: fmt.Sprintf("copied %s, %s characters, if the terminal lets programs copy", what, style.Count(utf8.RuneCountInString(text)))})
	return tea.SetClipboard(text)
}

// copied is what the page says is to be copied, else what it shows.
func (a *app) copied() (text, what string) {
	if p, ok := a.top().(views.Copier); ok {
		text, what = p.Copy()
		return human.Visible(text), what // it is pasted elsewhere
	}
	text = plainScreen(a.look.Theme.Fold(a.top().View()))
	return text, "the " + strings.ToLower(a.top().Name()) + " view"
}

// head is at most n bytes of the beginning, whole characters.
func head(s string, n int) string {
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// hasClipboard reports whether OSC 52 may be sent to a terminal: some consoles
// would print it.
func hasClipboard(env []string) bool {
	for _, kv := range slices.Backward(env) {
		if term, ok := strings.CutPrefix(kv, "TERM="); ok {
			for _, prefix := range []string{"linux", "vt", "ansi", "dumb"} {
				if strings.HasPrefix(term, prefix) {
					return false
				}
			}
			return true
		}
	}
	return true
}
