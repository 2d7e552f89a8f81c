package views

import (
	"strings"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"

	"github.com/kubeloupe/kubeloupe/inspect/query"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/tui/style"
	"github.com/kubeloupe/kubeloupe/tui/table"
)

// list is the common part of pages that are one table.
type list[R any] struct {
	Look
	tbl    *table.Table[R]
	open   func(R) tea.Cmd    // nil: rows do not open
	pod    func(R) trace.Pod  // of rows that are about pods, nil: they are not
	stream bool               // rows are a stream, and can be followed
	trend  func(w int) string // a line above the table, on screens with panels; nil: none
	w      int
}

// above is how many lines are above the table.
func (l *list[R]) above() int {
	if l.trend != nil && l.Scene.Panels {
		return 1
	}
	return 0
}

// newTable returns a table of a page.
func newTable[R any](look Look, cfg table.Config[R]) *table.Table[R] {
	cfg.Theme = look.Theme
	cfg.Note = func() string { return look.Scene.Note }
	return table.New(cfg)
}

// ofPod are the fields of rows that are about a pod.
func ofPod[R any](pod func(R) trace.Pod) map[string]func(R) string {
	return map[string]func(R) string{
		"ns":   func(r R) string { return pod(r).Namespace },
		"name": func(r R) string { return pod(r).Name },
	}
}

// wheel is how many rows one notch of the mouse wheel moves.
const wheel = 3

// SetSize implements Page.
func (l *list[R]) SetSize(w, h int) {
	l.w = w
	l.tbl.SetSize(w, h-l.above())
}

// SetFilter implements Page.
func (l *list[R]) SetFilter(q *query.Filter) { l.tbl.SetFilter(q) }

// View implements Page.
func (l *list[R]) View() string {
	if l.above() > 0 {
		return l.trend(l.w) + "\n" + l.tbl.View()
	}
	return l.tbl.View()
}

// Fields implements Fielder.
func (l *list[R]) Fields() query.Fields { return l.tbl.Fields() }

// Counts returns how many rows are shown and how many there are.
func (l *list[R]) Counts() (shown, all int) { return l.tbl.Len() }

// Count writes how many rows are shown, of how many.
func (l *list[R]) Count() string {
	shown, all := l.Counts()
	if shown < all {
		return style.Count(shown) + " of " + style.Count(all)
	}
	return style.Count(all)
}

// Following implements Follower.
func (l *list[R]) Following() bool { return l.stream && l.tbl.Following() }

// Copy implements Copier: the row under the cursor.
func (l *list[R]) Copy() (text, what string) {
	row, ok := l.tbl.Selected()
	if !ok {
		return "", ""
	}
	return strings.Join(l.tbl.Cells(row), "  "), "the row"
}

// Keys implements Page.
func (l *list[R]) Keys() []key.Binding {
	ks := append(l.Look.Keys.Moving(), l.Look.Keys.ColumnLeft, l.Look.Keys.ColumnRight, l.Look.Keys.Sort, l.Look.Keys.Reverse)
	if l.stream {
		ks = append(ks, l.Look.Keys.Follow)
	}
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
		if msg.Button == tea.MouseLeft && l.tbl.Click(msg.Y-l.above()) {
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
	case key.Matches(msg, k.ColumnLeft):
		return l.choose(-1)
	case key.Matches(msg, k.ColumnRight):
		return l.choose(1)
	case key.Matches(msg, k.Sort):
		l.tbl.Sort()
		return send(Say{Text: l.order()})
	case key.Matches(msg, k.Reverse):
		l.tbl.Reverse()
		return send(Say{Text: l.order()})
	case key.Matches(msg, k.Follow) && l.stream:
		return l.follow()
	}
	return nil
}

// choose chooses the column to sort by.
func (l *list[R]) choose(n int) tea.Cmd {
	title := l.tbl.Choose(n)
	if title == "" {
		return send(Say{Text: "no column to sort by"})
	}
	return send(Say{Text: "s sorts by " + title})
}

// order says how rows are ordered.
func (l *list[R]) order() string {
	by := l.tbl.SortedBy()
	text := "sorted by " + by
	if by == "" {
		text = "in the usual order"
	}
	if l.tbl.Reversed() {
		text += ", reversed"
	}
	return text
}

func (l *list[R]) follow() tea.Cmd {
	l.tbl.Follow()
	if l.tbl.Following() {
		return send(Say{Text: "following the newest row"})
	}
	return send(Say{Text: "staying with this row"})
}

func (l *list[R]) enter() tea.Cmd {
	row, ok := l.tbl.Selected()
	if !ok || l.open == nil {
		return nil
	}
	return l.open(row)
}
