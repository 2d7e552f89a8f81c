package table

import (
	"strings"

	"github.com/kubeloupe/kubeloupe/trace/fit"
	"github.com/kubeloupe/kubeloupe/tui/style"
)

// View draws the table: a heading and as many rows as fit. It has at most the
// box's height in lines, each at most the box's width.
func (t *Table[R]) View() string {
	if t.h <= 0 || t.w <= 0 {
		return ""
	}
	t.scroll(len(t.shown))
	rows := t.drawn() // before the layout, which needs their widths
	return t.draw(rows, len(t.shown), t.empty)
}

// draw draws the rows in sight, or in their place the text for none if none are shown.
func (f *frame) draw(rows [][]Cell, shown int, empty func() string) string {
	widths := layout(f.looks, f.w, f.sort, f.wants)
	var b strings.Builder
	f.heading(&b, widths)
	if shown == 0 && f.h > 1 {
		b.WriteString("\n" + f.theme.Paint(style.Dim, f.theme.Cut(" "+empty(), f.w)))
	}
	for i, cells := range rows {
		b.WriteByte('\n')
		f.line(&b, cells, widths, f.top+i == f.cur && !f.blurred)
	}
	return b.String()
}

// drawn returns the cells of the rows in sight, and notes how wide they are.
func (t *Table[R]) drawn() [][]Cell {
	var out [][]Cell
	for _, r := range t.shown[t.top:min(t.top+t.rows(), len(t.shown))] {
		cells := make([]Cell, len(t.cfg.Columns))
		for i, c := range t.cfg.Columns {
			cells[i] = c.Cell(r)
			if c.Flex > 0 {
				t.wants[i] = max(t.wants[i], fit.Width(cells[i].Text))
			}
		}
		out = append(out, cells)
	}
	return out
}

// Room returns how wide the column with this title is drawn; 0 if it is left out or there is none.
func (t *Table[R]) Room(title string) int {
	if t.h <= 0 || t.w <= 0 {
		return 0
	}
	t.scroll(len(t.shown))
	t.drawn() // before the layout, which needs their widths
	return t.room(title)
}

func (f *frame) room(title string) int {
	for i, w := range layout(f.looks, f.w, f.sort, f.wants) {
		if f.looks[i].title == title {
			return w
		}
	}
	return 0
}

func (t *Table[R]) empty() string {
	if len(t.all) > 0 {
		return "nothing matches the filter"
	}
	if t.cfg.None != nil {
		return t.cfg.None()
	}
	if t.cfg.Note == nil || t.cfg.Note() == "" {
		return t.cfg.Empty
	}
	return t.cfg.Empty + "; " + t.cfg.Theme.Clean(t.cfg.Note())
}

func (f *frame) heading(b *strings.Builder, widths []int) {
	th := f.theme
	left, text, last := f.w, "", style.Head
	flush := func() {
		cut := th.Cut(text, left)
		left, text = left-fit.Width(cut), ""
		b.WriteString(th.Paint(last, cut))
	}
	paint := func(tone style.Tone, s string) {
		if tone != last {
			flush()
		}
		text, last = text+s, tone
	}
	for i, c := range f.looks {
		if widths[i] == 0 {
			continue
		}
		title := strings.ToUpper(c.title)
		if i == f.sort {
			title = title[:min(len(title), widths[i]-1)] + f.arrow()
		}
		lead := " "
		switch { // the mark is for those who see no tones
		case i != f.pick:
		case c.right && fit.Width(title) < widths[i]:
			title = th.Glyphs.Mark + title
		default:
			lead = th.Glyphs.Mark
		}
		if c.right {
			title = th.Right(title, widths[i])
		} else {
			title = th.Left(title, widths[i])
		}
		tone := style.Head
		if i == f.pick {
			tone = style.Accent
		}
		paint(tone, lead+title)
	}
	flush()
}

// line draws one row. The one under the cursor has its own ground, and a mark for those who do not see that.
func (f *frame) line(b *strings.Builder, cells []Cell, widths []int, selected bool) {
	th := f.theme
	lead, width := " ", 0
	if selected {
		lead = th.Glyphs.Mark
	}
	paint := func(tone style.Tone, text string) {
		width += fit.Width(text)
		if selected {
			tone = tone.Selected()
		}
		b.WriteString(th.Paint(tone, text))
	}
	for i := range f.looks {
		if widths[i] == 0 {
			continue
		}
		paint(style.Plain, lead)
		lead = " "
		f.cell(&cells[i], widths[i], f.looks[i].right, paint)
	}
	if selected {
		paint(style.Plain, fit.Spaces(f.w-width))
	}
}

// cell draws one cell in w columns.
func (f *frame) cell(c *Cell, w int, right bool, paint func(style.Tone, string)) {
	th := f.theme
	if len(c.Parts) == 0 {
		text := th.Left(c.Text, w)
		if right {
			text = th.Right(c.Text, w)
		}
		paint(c.Tone, th.Signed(c.Tone, text))
		return
	}
	for _, part := range c.Parts {
		text := th.Cut(part.Text, w)
		w -= fit.Width(text)
		paint(part.Tone, text)
	}
	paint(style.Plain, fit.Spaces(w))
}

// Cells returns the texts of all columns of a row, including hidden ones.
func (t *Table[R]) Cells(r R) []string {
	var out []string
	for _, c := range t.cfg.Columns {
		out = append(out, c.Cell(r).Text)
	}
	return out
}
