package views

import (
	"cmp"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/query"
	"github.com/kubeloupe/kubeloupe/tui/style"
	"github.com/kubeloupe/kubeloupe/tui/table"
)

// What follows is not inlined: its functions would be linked again for each column.

// text is a column of words. It sorts by them.
//
//go:noinline
func text[R any](title string, width, flex, drop int, of func(R) string) table.Column[R] {
	return table.Column[R]{
		Title: title, Width: width, Flex: flex, Drop: drop,
		Cell:    func(r R) table.Cell { return table.Cell{Text: cmp.Or(of(r), style.Unknown)} },
		Compare: func(a, b R) int { return cmp.Compare(of(a), of(b)) },
	}
}

// number is a column of figures, the largest first.
//
//go:noinline
func number[R any](title string, width, drop int, of func(R) int64, write func(int64) string) table.Column[R] {
	return table.Column[R]{
		Title: title, Width: width, Right: true, Drop: drop, Desc: true,
		Cell:    func(r R) table.Cell { return table.Cell{Text: write(of(r))} },
		Compare: func(a, b R) int { return cmp.Compare(of(a), of(b)) },
		Figure:  func(r R) float64 { return float64(of(r)) },
	}
}

// duration is a column of durations, the longest first; slow says from when on
// one gets the color for slow, 0 never.
func duration[R any](title string, drop int, slow time.Duration, of func(R) time.Duration) table.Column[R] {
	c := number(title, style.DurWidth, drop, func(r R) int64 { return int64(of(r)) }, nil)
	c.Took, c.Figure = true, func(r R) float64 { return of(r).Seconds() }
	c.Cell = func(r R) table.Cell {
		d := of(r)
		if slow > 0 && d >= slow {
			return table.Cell{Text: style.Dur(d), Tone: style.Slow}
		}
		return table.Cell{Text: style.Known(d)}
	}
	return c
}

// clock is a column of instants, written as the scene says; filters compare times of day.
//
//go:noinline
func clock[R any](look Look, title string, drop int, of func(R) time.Time) table.Column[R] {
	return table.Column[R]{
		Title: title, Width: 12, Drop: drop,
		Cell:   func(r R) table.Cell { return table.Cell{Text: look.Scene.Time(of(r)), Tone: style.Dim} },
		Figure: func(r R) float64 { return query.SecondsOfDay(of(r)) },
	}
}

// toned gives the cells of a column a tone that depends on the row.
//
//go:noinline
func toned[R any](c table.Column[R], tone func(R) style.Tone) table.Column[R] {
	plain := c.Cell
	c.Cell = func(r R) table.Cell {
		cell := plain(r)
		if t := tone(r); t != style.Plain {
			cell.Tone = t
		}
		return cell
	}
	return c
}

// count writes a whole number.
func count(n int64) string { return style.Count(n) }

// oddity is a column of figures that are zero when all is well: zero is dim,
// anything else has the tone.
func oddity[R any](title string, width, drop int, tone style.Tone, of func(R) int64) table.Column[R] {
	return toned(number(title, width, drop, of, count), func(r R) style.Tone {
		if of(r) == 0 {
			return style.Dim
		}
		return tone
	})
}
