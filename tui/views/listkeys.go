package views

import (
	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"
)

// rows is a table, whatever its rows are. What only needs this is linked once, not again for each type of rows.
type rows interface {
	Move(n int)
	Page(n int)
	Home()
	End()
	Choose(n int) string
	Sort() string
	SortedBy() string
	Reverse()
	Reversed() bool
	Follow()
	Following() bool
}

// pressed does what a key of a list is for.
func (l *Look) pressed(msg tea.KeyPressMsg, t rows, stream bool, enter func() tea.Cmd) tea.Cmd {
	k := l.Keys
	switch {
	case key.Matches(msg, k.Up):
		t.Move(-1)
	case key.Matches(msg, k.Down):
		t.Move(1)
	case key.Matches(msg, k.PageUp):
		t.Page(-1)
	case key.Matches(msg, k.PageDown):
		t.Page(1)
	case key.Matches(msg, k.Top):
		t.Home()
	case key.Matches(msg, k.Bottom):
		t.End()
	case key.Matches(msg, k.Enter):
		return enter()
	case key.Matches(msg, k.ColumnLeft):
		return choose(t, -1)
	case key.Matches(msg, k.ColumnRight):
		return choose(t, 1)
	case key.Matches(msg, k.Sort):
		t.Sort()
		return send(Say{Text: order(t)})
	case key.Matches(msg, k.Reverse):
		t.Reverse()
		return send(Say{Text: order(t)})
	case key.Matches(msg, k.Follow) && stream:
		return follow(t)
	}
	return nil
}

// choose chooses the column to sort by.
func choose(t rows, n int) tea.Cmd {
	title := t.Choose(n)
	if title == "" {
		return send(Say{Text: "no column to sort by"})
	}
	return send(Say{Text: "s sorts by " + title})
}

// order says how rows are ordered.
func order(t rows) string {
	by := t.SortedBy()
	text := "sorted by " + by
	if by == "" {
		text = "in the usual order"
	}
	if t.Reversed() {
		text += ", reversed"
	}
	return text
}

func follow(t rows) tea.Cmd {
	t.Follow()
	if t.Following() {
		return send(Say{Text: "following the newest row"})
	}
	return send(Say{Text: "staying with this row"})
}
