package table

import "slices"

// Choose moves the choice of a column by n columns that are drawn and can be sorted by, from the one that the rows are sorted by at
// first. It returns the column's title, "" if there is none.
func (f *frame) Choose(n int) string {
	can := f.sortable()
	if len(can) == 0 {
		return ""
	}
	at := slices.Index(can, f.pick)
	if at < 0 {
		if at = slices.Index(can, f.sort); at < 0 && n < 0 {
			at = len(can)
		}
	}
	f.pick = can[max(min(at+n, len(can)-1), 0)]
	return f.looks[f.pick].title
}

// sortable are the columns that are drawn and can be sorted by.
func (f *frame) sortable() (out []int) {
	widths := layout(f.looks, f.w, f.sort, f.wants)
	for i := range f.looks {
		if f.looks[i].sorts && widths[i] > 0 {
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
func (f *frame) SortedBy() string {
	if f.sort < 0 {
		return ""
	}
	return f.looks[f.sort].title
}

// Reversed reports whether the order is reversed.
func (f *frame) Reversed() bool { return f.upside }

// arrow is the glyph of the order: up where figures or letters grow downwards.
func (f *frame) arrow() string {
	if f.looks[f.sort].desc != f.upside {
		return f.theme.Glyphs.Down
	}
	return f.theme.Glyphs.Up
}

// order sorts rows.
func (t *Table[R]) order(rows []R) {
	if t.sort < 0 {
		if t.upside {
			slices.Reverse(rows)
		}
		return
	}
	compare, backward := t.cfg.Columns[t.sort].Compare, t.looks[t.sort].desc != t.upside
	slices.SortStableFunc(rows, func(a, b R) int {
		if backward {
			return compare(b, a)
		}
		return compare(a, b)
	})
}
