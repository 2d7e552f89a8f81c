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
	Following() bool
	Copy() (text, what string)
	Keys() []key.Binding
	Update(tea.Msg) tea.Cmd
}

// parts is a page of several lists, of which one is shown; a key continues to the next.
type parts struct {
	Look
	of     []part
	at     int
	toggle key.Binding
}

func (p *parts) shown() part { return p.of[p.at] }

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

// View implements Page.
func (p *parts) View() string { return p.shown().View() }

// Fields implements Fielder.
func (p *parts) Fields() query.Fields { return p.shown().Fields() }

// Counts returns how many rows are shown and how many there are.
func (p *parts) Counts() (shown, all int) { return p.shown().Counts() }

// Following implements Follower.
func (p *parts) Following() bool { return p.shown().Following() }

// Copy implements Copier.
func (p *parts) Copy() (text, what string) { return p.shown().Copy() }

// Keys implements Page.
func (p *parts) Keys() []key.Binding { return append(p.shown().Keys(), p.toggle) }

// Update implements Page.
func (p *parts) Update(msg tea.Msg) tea.Cmd {
	if k, ok := msg.(tea.KeyPressMsg); ok && key.Matches(k, p.toggle) {
		p.at = (p.at + 1) % len(p.of)
		return send(Redraw{})
	}
	return p.shown().Update(msg)
}
