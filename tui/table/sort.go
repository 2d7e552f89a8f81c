package table

import "slices"

// Sort moves on to the next column that is drawn and can be sorted by, and at
// last back to the order given. It returns the column's title, "" for that order.
func (t *Table[R]) Sort() string {
	widths := layout(t.cfg.Columns, t.w, t.sort, t.wants)
	for t.sort++; t.sort < len(t.cfg.Columns); t.sort++ {
		if t.cfg.Columns[t.sort].Compare != nil && widths[t.sort] > 0 {
			break
		}
	}
	if t.sort >= len(t.cfg.Columns) {
		t.sort = -1
	}
	t.upside = false
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
