package views

import (
	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"

	"github.com/kubeloupe/kubeloupe/tui/query"
	"github.com/kubeloupe/kubeloupe/tui/table"
)

// list is the common part of pages that are one table.
type list[R any] struct {
	Look
	tbl  *table.Table[R]
	open func(R) tea.Cmd // nil: rows do not open
}

// wheel is how many rows one notch of the mouse wheel moves.
const wheel = 3

// SetSize implements Page.
func (l *list[R]) SetSize(w, h int) { l.tbl.SetSize(w, h) }

// SetFilter implements Page.
func (l *list[R]) SetFilter(q *query.Filter) { l.tbl.SetFilter(q) }

// View implements Page.
func (l *list[R]) View() string { return l.tbl.View() }

// Fields implements Fielder.
func (l *list[R]) Fields() query.Fields { return l.tbl.Fields() }

// Counts returns how many rows are shown and how many there are.
func (l *list[R]) Counts() (shown, all int) { return l.tbl.Len() }

// Keys implements Page.
func (l *list[R]) Keys() []key.Binding {
	ks := append(l.Look.Keys.Moving(), l.Look.Keys.Sort)
	if l.open != nil {
		ks = append(ks, l.Look.Keys.Enter)
	}
	return ks
}

// Update implements Page.
func (l *list[R]) Update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case tea.KeyPressMsg:
		return l.key(msg)
	case tea.MouseWheelMsg:
		if msg.Button == tea.MouseWheelUp {
			l.tbl.Move(-wheel)
		} else if msg.Button == tea.MouseWheelDown {
			l.tbl.Move(wheel)
		}
	case tea.MouseClickMsg:
		if msg.Button == tea.MouseLeft && l.tbl.Click(msg.Y) {
			return l.enter()
		}
	}
	return nil
}

func (l *list[R]) key(msg tea.KeyPressMsg) tea.Cmd {
	k := l.Look.Keys
	switch {
	case key.Matches(msg, k.Up):
		l.tbl.Move(-1)
	case key.Matches(msg, k.Down):
		l.tbl.Move(1)
	case key.Matches(msg, k.PageUp):
		l.tbl.Page(-1)
	case key.Matches(msg, k.PageDown):
		l.tbl.Page(1)
	case key.Matches(msg, k.Top):
		l.tbl.Home()
	case key.Matches(msg, k.Bottom):
		l.tbl.End()
	case key.Matches(msg, k.Enter):
		return l.enter()
	case key.Matches(msg, k.Sort):
		if by := l.tbl.Sort(); by != "" {
			return send(Say{Text: "sorted by " + by})
		}
		return send(Say{Text: "in order of arrival"})
	}
	return nil
}

func (l *list[R]) enter() tea.Cmd {
	row, ok := l.tbl.Selected()
	if !ok || l.open == nil {
		return nil
	}
	return l.open(row)
}
