package tui

import (
	"strings"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"

	"github.com/kubeloupe/kubeloupe/tui/style"
)

// maxPrompt bounds what can be typed.
const maxPrompt = 200

// prompt is a line being typed at the bottom of the screen.
type prompt struct {
	label string
	text  string
	hint  string               // what is wrong with the text
	live  func(string) error   // called after each change; nil: not
	then  func(string) tea.Msg // called on Enter; nil: not
	drop  func()               // called on Esc; nil: not
}

// key takes a key. done says that the prompt is over.
func (p *prompt) key(msg tea.KeyPressMsg) (done bool, cmd tea.Cmd) {
	switch msg.String() {
	case "enter":
		if p.then == nil {
			return true, nil
		}
		text, then := p.text, p.then
		return true, func() tea.Msg { return then(text) }
	case "esc", "ctrl+c":
		if p.drop != nil {
			p.drop()
		}
		return true, nil
	case "backspace", "ctrl+h":
		if r := []rune(p.text); len(r) > 0 {
			p.set(string(r[:len(r)-1]))
		}
	case "ctrl+u":
		p.set("")
	case "ctrl+w":
		p.set(p.text[:strings.LastIndexByte(strings.TrimRight(p.text, " "), ' ')+1])
	default:
		p.insert(msg.Key().Text)
	}
	return false, nil
}

// insert adds typed or pasted text, one line of it.
func (p *prompt) insert(s string) {
	if s == "" {
		return
	}
	s, _, _ = strings.Cut(s, "\n")
	r := []rune(p.text + s)
	p.set(string(r[:min(len(r), maxPrompt)]))
}

func (p *prompt) set(s string) {
	p.text, p.hint = s, ""
	if p.live != nil {
		if err := p.live(s); err != nil {
			p.hint = err.Error()
		}
	}
}

// view draws the prompt in w columns: the end of the text is always in sight.
func (p *prompt) view(th *style.Theme, w int) string {
	label := " " + p.label
	hint := ""
	if p.hint != "" {
		hint = "  " + th.Cut(th.Clean(p.hint), max(w-style.Width(label)-min(style.Width(p.text), w/3)-4, 10))
	}
	room := max(w-style.Width(label)-style.Width(hint)-1, 1)
	text := th.Clean(p.text)
	for style.Width(text) > room {
		_, size := utf8.DecodeRuneInString(text)
		text = text[size:]
	}
	return th.Paint(style.Strong, label) + text + th.Paint(style.Selected, " ") + th.Paint(style.Fail, hint)
}
