package views

import (
	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"

	"github.com/kubeloupe/kubeloupe/inspect/query"
)

// part is a list as a part of a page.
type part interface {
	SetSize(w, h int)
	SetFilter(*query.Filter)
	View() string
	Fields() query.Fields
	Counts() (shown, all int)
	Count() string
	Following() bool
	Copy() (text, what string)
	Keys() []key.Binding
	Update(tea.Msg) tea.Cmd
}

// parts is a page of several lists, of which one is shown; a key continues to the next.
type parts struct {
	Look
	part // the one that is shown
	of   []part
	at   int
	next key.Binding
}

func newParts(look Look, next key.Binding, of ...part) parts {
	return parts{Look: look, part: of[0], of: of, next: next}
}

// show shows one of the lists.
func (p *parts) show(i int) { p.at, p.part = i, p.of[i] }

// SetSize implements Page.
func (p *parts) SetSize(w, h int) {
	for _, o := range p.of {
		o.SetSize(w, h)
	}
}

// SetFilter implements Page.
func (p *parts) SetFilter(q *query.Filter) {
	for _, o := range p.of {
		o.SetFilter(q)
	}
}

// Keys implements Page.
func (p *parts) Keys() []key.Binding { return append(p.part.Keys(), p.next) }

// Update implements Page.
func (p *parts) Update(msg tea.Msg) tea.Cmd {
	if k, ok := msg.(tea.KeyPressMsg); ok && key.Matches(k, p.next) {
		p.show((p.at + 1) % len(p.of))
		return send(Redraw{})
	}
	return p.part.Update(msg)
}
