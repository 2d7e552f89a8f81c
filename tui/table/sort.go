package table

import "slices"

// Choose moves the choice of a column by n columns that are drawn and can be sorted by, from the one that the rows are sorted by at
// first. It returns the column's title, "" if there is none.
func (t *Table[R]) Choose(n int) string {
	can := t.sortable()
	if len(can) == 0 {
		return ""
	}
	at := slices.Index(can, t.pick)
	if at < 0 {
		if at = slices.Index(can, t.sort); at < 0 && n < 0 {
			at = len(can)
		}
	}
	t.pick = can[max(min(at+n, len(can)-1), 0)]
	return t.cfg.Columns[t.pick].Title
}

// sortable are the columns that are drawn and can be sorted by.
func (t *Table[R]) sortable() (out []int) {
	widths := layout(t.cfg.Columns, t.w, t.sort, t.wants)
	for i := range t.cfg.Columns {
		if t.cfg.Columns[i].Compare != nil && widths[i] > 0 {
			out = append(out, i)
		}
	}
	return out
}

// Sort sorts by the chosen column; without a choice, or if it sorts by that already, by the next one, and at last in the order given.
// It returns the column's title, "" for that order.
func (t *Table[R]) Sort() string {
	can, next := t.sortable(), t.pick
	if next < 0 || next == t.sort || !slices.Contains(can, next) {
		next = -1
		if i := slices.IndexFunc(can, func(c int) bool { return c > t.sort }); i >= 0 {
			next = can[i]
		}
	}
	t.sort, t.pick, t.upside = next, -1, false
	t.arrange()
	return t.SortedBy()
}

// Reverse turns the order round.
func (t *Table[R]) Reverse() {
	t.upside = !t.upside
	t.arrange()
}

// SortedBy returns the title of the column sorted by, "" for the order given, and
// whether that order is reversed.
func (t *Table[R]) SortedBy() string {
	if t.sort < 0 {
		return ""
	}
	return t.cfg.Columns[t.sort].Title
}

// Reversed reports whether the order is reversed.
func (t *Table[R]) Reversed() bool { return t.upside }

// order sorts what is shown.
func (t *Table[R]) order() {
	if t.sort < 0 {
		if t.upside {
			slices.Reverse(t.shown)
		}
		return
	}
	c := t.cfg.Columns[t.sort]
	slices.SortStableFunc(t.shown, func(a, b R) int {
		if c.Desc != t.upside {
			return c.Compare(b, a)
		}
		return c.Compare(a, b)
	})
}

// arrow is the glyph of the order: up where figures or letters grow downwards.
func (t *Table[R]) arrow() string {
	if t.cfg.Columns[t.sort].Desc != t.upside {
		return t.cfg.Theme.Glyphs.Down
	}
	return t.cfg.Theme.Glyphs.Up
}
