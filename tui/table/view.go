package table

import (
	"strings"

	"github.com/kubeloupe/kubeloupe/tui/style"
)

// View draws the table: a heading and as many rows as fit. It has at most the
// box's height in lines, each at most the box's width.
func (t *Table[R]) View() string {
	if t.h <= 0 || t.w <= 0 {
		return ""
	}
	widths := layout(t.cfg.Columns, t.w, t.sort)
	var b strings.Builder
	t.heading(&b, widths)
	if len(t.shown) == 0 {
		if t.h > 1 {
			b.WriteString("\n" + t.cfg.Theme.Paint(style.Dim, t.cfg.Theme.Cut(" "+t.empty(), t.w)))
		}
		return b.String()
	}
	t.scroll()
	for i := t.top; i < min(t.top+t.rows(), len(t.shown)); i++ {
		b.WriteByte('\n')
		t.line(&b, t.shown[i], widths, i == t.cur)
	}
	return b.String()
}

func (t *Table[R]) empty() string {
	if len(t.all) > 0 {
		return "nothing matches the filter"
	}
	if t.cfg.Note == nil || t.cfg.Note() == "" {
		return t.cfg.Empty
	}
	return t.cfg.Empty + "; " + t.cfg.Note()
}

func (t *Table[R]) heading(b *strings.Builder, widths []int) {
	th := t.cfg.Theme
	var line strings.Builder
	for i, c := range t.cfg.Columns {
		if widths[i] == 0 {
			continue
		}
		title := strings.ToUpper(c.Title)
		if i == t.sort {
			title = title[:min(len(title), widths[i]-1)] + t.arrow()
		}
		line.WriteByte(' ')
		if c.Right {
			line.WriteString(th.Right(title, widths[i]))
		} else {
			line.WriteString(th.Left(title, widths[i]))
		}
	}
	b.WriteString(th.Paint(style.Dim, th.Cut(line.String(), t.w)))
}

// line draws one row. The one under the cursor is drawn in one tone, and marked
// for those who see no tones.
func (t *Table[R]) line(b *strings.Builder, r R, widths []int, selected bool) {
	th := t.cfg.Theme
	var line strings.Builder
	for i, c := range t.cfg.Columns {
		if widths[i] == 0 {
			continue
		}
		cell := c.Cell(r)
		text := th.Left(cell.Text, widths[i])
		if c.Right {
			text = th.Right(cell.Text, widths[i])
		}
		if selected {
			if line.Len() == 0 {
				line.WriteString(th.Glyphs.Mark)
			} else {
				line.WriteByte(' ')
			}
			line.WriteString(text)
			continue
		}
		line.WriteByte(' ')
		line.WriteString(th.Paint(cell.Tone, text))
	}
	if selected {
		b.WriteString(th.Paint(style.Selected, th.Left(line.String(), t.w)))
		return
	}
	b.WriteString(line.String())
}

// Cells returns what is written in all columns for a row, those without room too.
func (t *Table[R]) Cells(r R) []string {
	var out []string
	for _, c := range t.cfg.Columns {
		out = append(out, c.Cell(r).Text)
	}
	return out
}
