package table

// layout returns the widths of all columns for a table of w columns; 0 is left
// out. The column at keep, if there is one, is not. wants is what columns that
// flex have use for.
func layout(cols []look, w, keep int, wants []int) []int {
	widths := make([]int, len(cols))
	for i, c := range cols {
		widths[i] = max(c.width, min(wants[i], c.whole), 1)
	}
	for need(widths) > w {
		worst, drop := -1, 0
		for i, c := range cols {
			if widths[i] > 0 && i != keep && c.drop > drop {
				worst, drop = i, c.drop
			}
		}
		if worst < 0 {
			break
		}
		widths[worst] = 0
	}
	spread(cols, widths, wants, w-need(widths))
	return widths
}

// need is the sum of the widths and of the gaps between and before them.
func need(widths []int) int {
	n := 0
	for _, w := range widths {
		if w > 0 {
			n += w + gap
		}
	}
	return n
}

// spread shares what is left over: first among the columns that want more, in
// proportion to their Flex, and what nobody wants goes to the last one that flexes.
func spread(cols []look, widths, wants []int, left int) {
	for left > 0 {
		parts := 0
		for i, c := range cols {
			if widths[i] > 0 && widths[i] < wants[i] {
				parts += c.flex
			}
		}
		if parts == 0 {
			break
		}
		room := left
		for i, c := range cols {
			if widths[i] > 0 && widths[i] < wants[i] && c.flex > 0 && left > 0 {
				more := min(max(room*c.flex/parts, 1), wants[i]-widths[i], left)
				widths[i] += more
				left -= more
			}
		}
	}
	for i := len(cols) - 1; i >= 0; i-- {
		if widths[i] > 0 && cols[i].flex > 0 {
			widths[i] += max(left, 0)
			return
		}
	}
}
