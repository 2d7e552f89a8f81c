package table

import "slices"

// Move moves the cursor by n rows.
func (t *Table[R]) Move(n int) { t.moveTo(t.cur + n) }

// Page moves the cursor by n screens.
func (t *Table[R]) Page(n int) { t.Move(n * max(t.rows()-1, 1)) }

// Home moves to the first row.
func (t *Table[R]) Home() { t.moveTo(0) }

// End moves to the last row.
func (t *Table[R]) End() { t.moveTo(len(t.shown) - 1) }

// Click moves to the row drawn at line y of the box. It reports whether the
// cursor was there before, which means: open it.
func (t *Table[R]) Click(y int) (again bool) {
	i := t.top + y - 1
	if y < 1 || y > t.rows() || i >= len(t.shown) {
		return false
	}
	again = i == t.cur
	t.moveTo(i)
	return again
}

// Select moves to the row of that id and reports whether there is one.
func (t *Table[R]) Select(id string) bool {
	for i, r := range t.shown {
		if t.cfg.ID(r) == id {
			t.moveTo(i)
			return true
		}
	}
	return false
}

// SelectWhere moves to the first row of which that is true and reports whether there is one.
func (t *Table[R]) SelectWhere(is func(R) bool) bool {
	i := slices.IndexFunc(t.shown, is)
	if i < 0 {
		return false
	}
	t.moveTo(i)
	return true
}

// moveTo puts the cursor on a row. At the edge where rows arrive it follows them.
func (t *Table[R]) moveTo(i int) {
	i = max(min(i, len(t.shown)-1), 0)
	t.cur = i
	if len(t.shown) == 0 {
		t.moved, t.sel = false, ""
		return
	}
	t.sel = t.cfg.ID(t.shown[i])
	t.moved = i != t.edge(len(t.shown))
}

// edge is where new rows arrive, of shown ones.
func (f *frame) edge(shown int) int {
	if f.tail != (f.upside && f.sort < 0) {
		return max(shown-1, 0)
	}
	return 0
}

// Follow makes the cursor stay with the newest row, or, when it does already, with
// the one it is on.
func (t *Table[R]) Follow() {
	if t.Following() {
		t.Hold()
		return
	}
	t.sort = -1
	t.arrange()
	t.moveTo(t.edge(len(t.shown)))
}

// Hold makes the cursor stay on its row, wherever that moves.
func (t *Table[R]) Hold() {
	if r, ok := t.Selected(); ok {
		t.sel, t.moved = t.cfg.ID(r), true
	}
}

// Following reports whether the cursor moves with the newest row.
func (f *frame) Following() bool { return !f.moved && f.sort < 0 }

// rows is how many rows fit below the heading.
func (f *frame) rows() int { return max(f.h-1, 0) }

// scroll brings the cursor into view.
func (f *frame) scroll(shown int) {
	n := f.rows()
	f.top = min(f.top, f.cur)
	if f.cur >= f.top+n {
		f.top = f.cur - n + 1
	}
	f.top = max(min(f.top, shown-n), 0)
}

// Blur has the table drawn without its cursor: keys go to another one.
func (f *frame) Blur(blurred bool) { f.blurred = blurred }

// Ends reports whether the cursor is on the first row, and on the last one.
func (t *Table[R]) Ends() (first, last bool) { return t.cur <= 0, t.cur >= len(t.shown)-1 }
