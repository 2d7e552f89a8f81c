package tui

import (
	"strings"
	"unicode/utf8"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"

	"github.com/kubeloupe/kubeloupe/trace/fit"
	"github.com/kubeloupe/kubeloupe/tui/keys"
	"github.com/kubeloupe/kubeloupe/tui/style"
)

// maxPrompt bounds what can be typed.
const maxPrompt = 200

// prompt is a line being typed at the bottom of the screen.
type prompt struct {
	label string
	text  string
	help  string               // what can be typed; "" takes no line
	hint  string               // what is wrong with the text
	live  func(string) error   // called after each change; nil: not
	then  func(string) tea.Msg // called on Enter; nil: not
	drop  func()               // called on Esc; nil: not
}

// key takes a key. done says that the prompt is over.
func (p *prompt) key(k keys.Typing, msg tea.KeyPressMsg) (done bool, cmd tea.Cmd) {
	switch {
	case key.Matches(msg, k.Done):
		if p.then == nil {
			return true, nil
		}
		text, then := p.text, p.then
		return true, func() tea.Msg { return then(text) }
	case key.Matches(msg, k.Drop):
		if p.drop != nil {
			p.drop()
		}
		return true, nil
	case key.Matches(msg, k.Erase):
		if r := []rune(p.text); len(r) > 0 {
			p.set(string(r[:len(r)-1]))
		}
	case key.Matches(msg, k.EraseAll):
		p.set("")
	case key.Matches(msg, k.EraseWord):
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

// lines is how many the prompt takes.
func (p *prompt) lines() int {
	if p.live == nil && p.help == "" {
		return 1
	}
	return 2
}

// view draws the prompt in w columns, the end of the text always in sight, and
// below it what is wrong with it or what can be typed.
func (p *prompt) view(th *style.Theme, w int) []string {
	label := " " + p.label
	room := max(w-fit.Width(label)-1, 1)
	text := th.Clean(p.text)
	for fit.Width(text) > room {
		_, size := utf8.DecodeRuneInString(text)
		text = text[size:]
	}
	out := []string{th.Paint(style.Strong, label) + text + th.Paint(style.Badge, " ")}
	switch {
	case p.lines() == 1:
	case p.hint != "":
		out = append(out, th.Paint(style.Fail, th.Cut(" "+th.Clean(p.hint), w)))
	default:
		out = append(out, th.Paint(style.Dim, th.Cut(" "+p.help, w)))
	}
	return out
}
