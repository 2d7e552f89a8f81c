package table

import (
	"regexp"
	"slices"

	"github.com/kubeloupe/kubeloupe/tui/style"
)

// gap is the space before each column. The first one holds the mark.
const gap = 1

// Config describes a table.
type Config[R any] struct {
	Theme   *style.Theme
	Columns []Column[R]
	// ID names a row for good. The cursor stays with it.
	ID func(R) string
	// Text is what the filter is matched against.
	Text func(R) string
	// Tail keeps the cursor at the end while rows arrive there, as tail -f does;
	// otherwise it stays at the beginning.
	Tail bool
	// Empty is said when there are no rows.
	Empty string
}

// Table draws rows of type R. It is for one goroutine.
type Table[R any] struct {
	cfg    Config[R]
	w, h   int
	all    []R
	shown  []R
	filter *regexp.Regexp
	sort   int // column, -1 for the order given
	cur    int // index into shown
	top    int // first row drawn
	sel    string
	moved  bool // the cursor left the edge that it follows
}

// New returns an empty table.
func New[R any](cfg Config[R]) *Table[R] { return &Table[R]{cfg: cfg, sort: -1} }

// SetSize gives the box to draw in, heading included.
func (t *Table[R]) SetSize(w, h int) { t.w, t.h = max(w, 0), max(h, 0) }

// SetFilter shows only rows whose text matches; nil shows all.
func (t *Table[R]) SetFilter(re *regexp.Regexp) {
	t.filter = re
	t.arrange()
}

// SetRows replaces the rows. The table keeps no reference to the slice.
func (t *Table[R]) SetRows(rows []R) {
	t.all = append(t.all[:0], rows...)
	t.arrange()
}

// Sort moves on to the next column that is drawn and can be sorted by, and at
// last back to the order given. It returns the column's title, "" for that order.
func (t *Table[R]) Sort() string {
	widths := layout(t.cfg.Columns, t.w)
	for t.sort++; t.sort < len(t.cfg.Columns); t.sort++ {
		if t.cfg.Columns[t.sort].Compare != nil && widths[t.sort] > 0 {
			break
		}
	}
	if t.sort >= len(t.cfg.Columns) {
		t.sort = -1
	}
	t.arrange()
	if t.sort < 0 {
		return ""
	}
	return t.cfg.Columns[t.sort].Title
}

// Selected returns the row under the cursor.
func (t *Table[R]) Selected() (row R, ok bool) {
	if t.cur < 0 || t.cur >= len(t.shown) {
		return row, false
	}
	return t.shown[t.cur], true
}

// Len returns how many rows are shown and how many there are.
func (t *Table[R]) Len() (shown, all int) { return len(t.shown), len(t.all) }

// Following reports whether the cursor moves with the newest row.
func (t *Table[R]) Following() bool { return !t.moved }

// arrange filters and sorts, and finds the cursor's row again.
func (t *Table[R]) arrange() {
	t.shown = t.shown[:0]
	for _, r := range t.all {
		if t.filter == nil || t.filter.MatchString(t.cfg.Text(r)) {
			t.shown = append(t.shown, r)
		}
	}
	if t.sort >= 0 {
		c := t.cfg.Columns[t.sort]
		slices.SortStableFunc(t.shown, func(a, b R) int {
			if c.Desc {
				return c.Compare(b, a)
			}
			return c.Compare(a, b)
		})
	}
	t.find()
}

func (t *Table[R]) find() {
	if !t.moved {
		t.cur = 0
		if t.cfg.Tail {
			t.cur = max(len(t.shown)-1, 0)
		}
		return
	}
	old := t.cur
	t.cur = slices.IndexFunc(t.shown, func(r R) bool { return t.cfg.ID(r) == t.sel })
	if t.cur < 0 { // its row is gone: stay at the same place
		t.moveTo(old)
		return
	}
	t.top += t.cur - old // keep it at the same line of the screen
}
