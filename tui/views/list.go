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

// list is the common part of pages that are one table. R is an address: the code for addresses is linked once, that for values once
// for each type.
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

// held are the rows of a table of addresses. It keeps its memory from frame to frame: an address is good until the next rows come.
type held[T any] struct {
	rows []T
	at   []*T
}

// set copies rows and returns the addresses of the copies.
func (h *held[T]) set(rows []T) []*T {
	h.rows = append(h.rows[:0], rows...)
	return h.addresses()
}

// addresses are those of the rows.
func (h *held[T]) addresses() []*T {
	h.at = h.at[:0]
	for i := range h.rows {
		h.at = append(h.at, &h.rows[i])
	}
	return h.at
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
func (l *list[R]) Keys() []key.Binding { return l.keysOf(l.stream, l.open != nil) }

// keysOf are the keys of a page that is one table, whatever its rows are. It is not inlined: it would be linked again for each type of rows.
//
//go:noinline
func (l *Look) keysOf(stream, opens bool) []key.Binding {
	ks := append(l.Keys.Moving(), l.Keys.ColumnLeft, l.Keys.ColumnRight, l.Keys.Sort, l.Keys.Reverse)
	if stream {
		ks = append(ks, l.Keys.Follow)
	}
	if opens {
		ks = append(ks, l.Keys.Enter)
	}
	return ks
}

// Update implements Page.
func (l *list[R]) Update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case tea.KeyPressMsg:
		return l.pressed(msg, l.tbl, l.stream, l.enter)
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

func (l *list[R]) enter() tea.Cmd {
	row, ok := l.tbl.Selected()
	if !ok || l.open == nil {
		return nil
	}
	return l.open(row)
}
