package table

import "github.com/kubeloupe/kubeloupe/tui/style"

// Cell is one piece of text and what it means. The text is clean.
type Cell struct {
	Text string
	Tone style.Tone
}

// Column is one column over rows of type R.
type Column[R any] struct {
	Title string
	// Width is in columns of the terminal. A column that flexes gets at least Width.
	Width int
	// Flex shares what is left over between columns in this proportion.
	Flex int
	// Right aligns to the right, for figures.
	Right bool
	// Drop orders what is left out when the table is narrow: the highest goes
	// first, 0 never goes.
	Drop int
	// Cell returns what to write.
	Cell func(R) Cell
	// Compare orders rows; a column without it is not sorted by. Rows that compare
	// equal keep the order in which they were given.
	Compare func(a, b R) int
	// Desc says that the natural order is the largest first.
	Desc bool
}

// layout returns the widths of all columns for a table of w columns; 0 is left out.
func layout[R any](cols []Column[R], w int) []int {
	widths := make([]int, len(cols))
	for i, c := range cols {
		widths[i] = max(c.Width, 1)
	}
	for need(widths) > w {
		worst := -1
		for i, c := range cols {
			if widths[i] > 0 && c.Drop > 0 && (worst < 0 || c.Drop > cols[worst].Drop) {
				worst = i
			}
		}
		if worst < 0 {
			break
		}
		widths[worst] = 0
	}
	spread(cols, widths, w-need(widths))
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

func spread[R any](cols []Column[R], widths []int, left int) {
	parts := 0
	for i, c := range cols {
		if widths[i] > 0 {
			parts += c.Flex
		}
	}
	for i, c := range cols {
		if left <= 0 || parts <= 0 {
			return
		}
		if widths[i] > 0 && c.Flex > 0 {
			share := left * c.Flex / parts
			widths[i] += share
			left -= share
			parts -= c.Flex
		}
	}
}
