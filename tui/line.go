package tui

import (
	"charm.land/bubbles/v2/textinput"
	tea "charm.land/bubbletea/v2"

	"github.com/kubeloupe/kubeloupe/trace/fit"
	"github.com/kubeloupe/kubeloupe/tui/keys"
	"github.com/kubeloupe/kubeloupe/tui/style"
)

// maxLine bounds what can be typed, in characters.
const maxLine = 200

// line is a line that is typed.
type line struct{ input textinput.Model }

func newLine(k *keys.Map, text string) line {
	in := textinput.New()
	in.CharLimit = maxLine
	in.KeyMap = textinput.KeyMap{
		CharacterForward: k.Typing.Right, CharacterBackward: k.Typing.Left, LineStart: k.Typing.Begin, LineEnd: k.Typing.End,
		DeleteCharacterBackward: k.Typing.Erase, DeleteWordBackward: k.Typing.EraseWord, DeleteBeforeCursor: k.Typing.EraseAll,
	}
	in.SetVirtualCursor(false) // it is drawn here, and does not blink
	in.SetValue(text)
	in.CursorEnd()
	in.Focus() // its command is to blink
	return line{in}
}

// text is what was typed.
func (l *line) text() string { return l.input.Value() }

// set replaces the text.
func (l *line) set(text string) {
	l.input.SetValue(text)
	l.input.CursorEnd()
}

// take takes a key or pasted text and reports whether the text changed.
func (l *line) take(msg tea.Msg) (changed bool) {
	before := l.text()
	l.input, _ = l.input.Update(msg) // its commands are to blink
	return l.text() != before
}

// view draws the line in w columns; what is around the cursor is always in sight.
func (l *line) view(th *style.Theme, w int) string {
	text := []rune(l.text())
	at := min(l.input.Position(), len(text))
	before, under, after := th.Clean(string(text[:at])), " ", ""
	if at < len(text) {
		under, after = th.Clean(string(text[at])), th.Clean(string(text[at+1:]))
	}
	room := max(w-fit.Width(under), 0)
	for r := []rune(before); fit.Width(before) > room && len(r) > 0; before = string(r) {
		r = r[1:]
	}
	return before + th.Paint(style.Badge, under) + fit.Cut(after, max(room-fit.Width(before), 0), "")
}
