package report

import (
	"slices"
	"strings"

	"github.com/kubeloupe/kubeloupe/trace/fit"
)

// printer writes text: facts as "Name:  value", rows in aligned columns, parts below their titles.
type printer struct {
	out   *strings.Builder
	wide  bool
	width int
}

// gap is between columns, indent before what is below a title.
const (
	gap    = "  "
	indent = 2
)

func (p *printer) table(t *Table, depth int) error {
	if t.Raw != nil {
		text, err := yamlOf(t.Raw)
		if err != nil {
			return err
		}
		for line := range strings.Lines(string(text)) {
			p.out.WriteString(strings.Repeat(" ", depth*indent) + line)
		}
		return nil
	}
	p.facts(t.Facts, depth)
	switch {
	case len(t.Rows) > 0:
		p.rows(t, depth)
	case t.None != "":
		p.line(t.None, depth)
	}
	for _, s := range t.Sections {
		if depth == 0 {
			p.out.WriteByte('\n')
		}
		p.line(s.Title+":", depth)
		if err := p.table(s, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// facts are left out where nothing is known, but for the first part of a page.
func (p *printer) facts(facts []Fact, depth int) {
	widest := 0
	for _, f := range facts {
		widest = max(widest, fit.Width(f.Name))
	}
	for _, f := range facts {
		if f.Value.text != "" {
			p.line(fit.Left(f.Name+":", widest+1)+"  "+f.Value.text, depth)
		}
	}
}

// line writes one line, cut to the width.
func (p *printer) line(s string, depth int) {
	s = strings.Repeat(" ", depth*indent) + strings.TrimRight(s, " ")
	if p.width > 0 {
		s = fit.Cut(s, p.width, fit.Ellipsis)
	}
	p.out.WriteString(s + "\n")
}

func (p *printer) rows(t *Table, depth int) {
	shown := p.shown(t)
	room := p.width - depth*indent
	shown, below := p.below(t, shown, room)
	for p.width > 0 && t.least(shown, enough) > room {
		less := t.drop(shown)
		if less == nil {
			break
		}
		shown = less
	}
	widths := t.widths(shown)
	if p.width > 0 {
		t.fit(shown, widths, room)
	}
	for _, row := range slices.Insert(slices.Clone(t.Rows), 0, t.head()) {
		p.line(t.cells(shown, widths, row), depth)
	}
	p.details(t, below, depth)
}

// below separates the columns that are written below the rows: none, if all columns fit.
func (p *printer) below(t *Table, shown []int, room int) (rest, below []int) {
	if p.width == 0 || t.least(shown, room) <= room {
		return shown, nil
	}
	for _, i := range shown {
		if t.Columns[i].Below {
			below = append(below, i)
		} else {
			rest = append(rest, i)
		}
	}
	return rest, below
}

// details writes what is known of columns below the rows, after the names of these.
func (p *printer) details(t *Table, below []int, depth int) {
	for _, i := range below {
		p.line(t.Columns[i].Name, depth)
		for _, row := range t.Rows {
			if row[i].text == "" {
				continue
			}
			for _, line := range fit.Paragraph("  ", t.title(row)+": "+row[i].text, p.width-depth*indent) {
				p.line(line, depth)
			}
		}
	}
}

// title is what tells a row apart.
func (t *Table) title(row []Value) string {
	for i, c := range t.Columns {
		if c.Ends {
			return row[i].String()
		}
	}
	return row[0].String()
}

// head are the names of the columns.
func (t *Table) head() []Value {
	head := make([]Value, len(t.Columns))
	for i, c := range t.Columns {
		head[i].text = c.Name
	}
	return head
}

// cells is a row's line.
func (t *Table) cells(shown, widths []int, row []Value) string {
	var cells []string
	for n, i := range shown {
		cut, align := fit.Cut, fit.Left
		if t.Columns[i].Ends {
			cut = fit.Middle
		}
		if t.Columns[i].Right {
			align = fit.Right
		}
		cells = append(cells, align(cut(row[i].String(), widths[n], fit.Ellipsis), widths[n]))
	}
	return strings.Join(cells, gap)
}

// shown are the columns that text has: those with a name, wide ones for -o wide, long ones where they say something.
func (p *printer) shown(t *Table) []int {
	var out []int
	for i, c := range t.Columns {
		says := slices.ContainsFunc(t.Rows, func(row []Value) bool { return row[i].text != "" })
		if c.Name != "" && (p.wide || !c.Wide) && (says || !c.Long) {
			out = append(out, i)
		}
	}
	return out
}

// How narrow a long column gets: before others are dropped, and when none are left to drop.
const (
	enough  = 24
	minimum = 10
	whole   = 20 // of a column that tells rows apart
)

// widths are those that the columns want.
func (t *Table) widths(shown []int) []int {
	out := make([]int, len(shown))
	for n, i := range shown {
		out[n] = fit.Width(t.Columns[i].Name)
		for _, row := range t.Rows {
			out[n] = max(out[n], fit.Width(row[i].String()))
		}
	}
	return out
}

// least is how wide a line is when long columns are cut to most.
func (t *Table) least(shown []int, most int) int {
	total := len(gap) * (len(shown) - 1)
	for n, w := range t.widths(shown) {
		if c := t.Columns[shown[n]]; c.Long && !c.Ends {
			w = min(w, most)
		}
		total += w
	}
	return total
}

// drop leaves out the column that is missed least; nil when none may be.
func (t *Table) drop(shown []int) []int {
	worst := -1
	for n, i := range shown {
		if d := t.Columns[i].Drop; d > 0 && (worst < 0 || d > t.Columns[shown[worst]].Drop) {
			worst = n
		}
	}
	if worst < 0 {
		return nil
	}
	return slices.Delete(slices.Clone(shown), worst, worst+1)
}

// fit makes long columns narrower, the widest first, until a line fits; then those that tell rows apart.
func (t *Table) fit(shown, widths []int, room int) {
	t.narrow(shown, widths, room, minimum, func(c *Column) bool { return c.Long && !c.Ends })
	t.narrow(shown, widths, room, whole, func(c *Column) bool { return c.Ends })
}

func (t *Table) narrow(shown, widths []int, room, least int, can func(*Column) bool) {
	total := len(gap) * (len(shown) - 1)
	for _, w := range widths {
		total += w
	}
	for ; total > room; total-- {
		widest := -1
		for n, i := range shown {
			if can(&t.Columns[i]) && widths[n] > least && (widest < 0 || widths[n] > widths[widest]) {
				widest = n
			}
		}
		if widest < 0 {
			return
		}
		widths[widest]--
	}
}
