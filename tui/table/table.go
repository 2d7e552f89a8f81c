package table

import (
	"maps"
	"slices"

	"github.com/kubeloupe/kubeloupe/inspect/query"
	"github.com/kubeloupe/kubeloupe/tui/style"
)

// gap is the space before each column. The first one holds the mark.
const gap = 1

// Config describes a table.
type Config[R any] struct {
	Theme   *style.Theme
	Columns []Column[R]
	// ID identifies a row permanently. The cursor stays on it.
	ID func(R) string
	// Text is the text for the words of a filter.
	Text func(R) string
	// Failed says that a row shows an error; nil: no row does.
	Failed func(R) bool
	// Fields are what filters can ask for beyond the columns.
	Fields map[string]func(R) string
	// Flags are fields that hold or do not; one may have the name of a column too.
	Flags map[string]func(R) bool
	// Tail keeps the cursor at the end while rows arrive there, like tail -f; otherwise it stays at the beginning.
	Tail bool
	// Empty is said when there are no rows.
	Empty string
	// None is said in their place if what to say depends on the state; nil: Empty and Note are.
	None func() string
	// Note is the reason why there are no rows, for example that the stream has ended; nil: no text.
	Note func() string
}

// Table draws rows of type R, an address in the program. It is for one goroutine.
type Table[R any] struct {
	frame
	cfg    Config[R]
	all    []R
	shown  []R // all, if nothing is left out and the order is the given one
	some   []R // the memory of shown otherwise
	filter *query.Filter
}

// frame is a table without its rows. See look for why.
type frame struct {
	theme   *style.Theme
	looks   []look
	fields  []string // the names of Config.Fields
	flags   []string // and of Config.Flags
	fails   bool     // rows can show an error
	tail    bool
	w, h    int
	sort    int // column, -1 for the order given
	pick    int // column that the user has chosen to sort by, -1 none
	upside  bool
	cur     int // index into shown
	top     int // first row drawn
	sel     string
	moved   bool  // the cursor left the edge that it follows
	blurred bool  // the cursor is not drawn
	wants   []int // the widest that each column has been, in a box of this width
}

// New returns an empty table.
func New[R any](cfg Config[R]) *Table[R] {
	t := &Table[R]{cfg: cfg, frame: frame{
		theme: cfg.Theme, tail: cfg.Tail, fails: cfg.Failed != nil, sort: -1, pick: -1, wants: make([]int, len(cfg.Columns)),
		fields: slices.Sorted(maps.Keys(cfg.Fields)), flags: slices.Sorted(maps.Keys(cfg.Flags)),
	}}
	for i := range cfg.Columns {
		t.looks = append(t.looks, cfg.Columns[i].look())
	}
	return t
}

// SetSize gives the box to draw in, heading included.
func (f *frame) SetSize(w, h int) {
	if w != f.w {
		clear(f.wants)
	}
	f.w, f.h = max(w, 0), max(h, 0)
}

// SetFilter shows only rows that it accepts; nil shows all.
func (t *Table[R]) SetFilter(f *query.Filter) {
	t.filter = f
	t.arrange()
}

// SetRows replaces the rows. The table keeps no reference to the slice; of rows that are addresses it keeps these.
func (t *Table[R]) SetRows(rows []R) {
	t.all = append(t.all[:0], rows...)
	t.arrange()
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

// arrange filters and sorts, and finds the cursor's row again.
func (t *Table[R]) arrange() {
	if t.filter == nil && t.sort < 0 && !t.upside {
		t.shown = t.all
		t.find()
		return
	}
	t.some = t.some[:0]
	for _, r := range t.all {
		if t.filter == nil || t.filter.Match(t.row(r)) {
			t.some = append(t.some, r)
		}
	}
	t.order(t.some)
	t.shown = t.some
	t.find()
}

func (t *Table[R]) find() {
	if !t.moved {
		t.cur = t.edge(len(t.shown))
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
