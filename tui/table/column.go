package table

import (
	"strings"

	"github.com/kubeloupe/kubeloupe/inspect/query"
	"github.com/kubeloupe/kubeloupe/tui/style"
)

// Cell is one piece of text and its meaning. The text is clean.
type Cell struct {
	Text string
	Tone style.Tone
	// Parts are drawn in place of Text, each in its tone; nil: there are none. They fit into the column.
	Parts []Cell
}

// Column is one column over rows of type R.
type Column[R any] struct {
	Title string
	// Width is in columns of the terminal. A column that flexes gets at least Width.
	Width int
	// Flex distributes the remaining width between columns in this proportion.
	Flex int
	// Whole is up to which width its texts are shown in full: columns with a Drop are hidden first. It is for what tells rows apart.
	Whole int
	// Right aligns to the right, for figures.
	Right bool
	// Drop is the order in which columns are hidden if the table is narrow: the highest first, 0 never.
	Drop int
	// Cell returns what to write.
	Cell func(R) Cell
	// Compare orders rows; a column without it is not sorted by. Rows that compare
	// equal keep the order in which they were given.
	Compare func(a, b R) int
	// Desc says that the natural order is the largest first.
	Desc bool
	// Figure is what a filter compares the column by: seconds, bytes, a count; nil
	// where it is only text.
	Figure func(R) float64
	// Took says that the column is for how long the row took: the first such one is
	// what a filter means by >500ms.
	Took bool
}

// look is a column without its type of rows. What only needs looks is linked once, not again for each type.
type look struct {
	title                    string
	field                    string // the name by which filters know the column
	width, flex, whole, drop int
	right, desc              bool
	sorts, figure, took      bool // it can be sorted by, it has figures, it is for how long rows took
}

func (c *Column[R]) look() look {
	return look{
		title: c.Title, field: strings.ReplaceAll(strings.ToLower(c.Title), " ", "-"),
		width: c.Width, flex: c.Flex, whole: c.Whole, drop: c.Drop, right: c.Right, desc: c.Desc,
		sorts: c.Compare != nil, figure: c.Figure != nil, took: c.Took,
	}
}

// value is what filters compare.
func (c *Column[R]) value(r R) query.Value {
	v := query.Value{Text: c.Cell(r).Text}
	if c.Figure != nil {
		v.Figure, v.Known = c.Figure(r), v.Text != style.Unknown
	}
	return v
}
