package waterfall

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/kubeloupe/kubeloupe/trace/fit"
	"github.com/kubeloupe/kubeloupe/trace/human"
)

// The widths of a layout.
const (
	minWidth  = 40
	minLabels = 18
	afterBars = 15 // the minimum space after the bars, for " 4.10s ◀ 85 %"
)

// Layout places a waterfall's rows in columns. Its only text is labels, so every drawing has the same layout, whatever
// its glyphs and colors.
type Layout struct {
	Width  int
	Labels int // columns of the labels, at the left
	Bars   int // columns of the time line, from column Labels
	Span   time.Duration
	Ticks  []Tick
	Lines  []Line
}

// Tick is a mark on the time axis.
type Tick struct {
	Col  int // from the start of the time line
	Text string
}

// Line is a row in columns.
type Line struct {
	Row
	// Branch is the tree drawing before the label.
	Branch Branch
	// Bar and Cols are the bar's first column, from the start of the time line, and its length; Cols is 0 if it is too short for
	// one column.
	Bar, Cols int
	// After is the text after the bar: duration, share of the start (if the row took half of it or more), note, error.
	After string
	share int // of the start, in percent
}

// Branch is the tree position of a row.
type Branch int

// The branches.
const (
	BranchNone Branch = iota
	BranchMore        // others follow
	BranchLast
)

// Layout places the rows in width columns (40 at least). After the bars there is room for the duration, share and note of each
// action, if a third of the width remains for the bars; spare is the number of columns that errors and the details of waits always
// get.
func (w *Waterfall) Layout(width, spare int) Layout {
	width = max(width, minWidth)
	l, rows := Layout{Width: width, Span: max(w.End, time.Microsecond)}, w.Rows()
	l.Labels = minLabels
	for _, r := range rows {
		l.Labels = max(l.Labels, fit.Width(human.Line(r.Text()))+2+2*r.Depth)
	}
	l.Labels = min(l.Labels, (width-spare)*2/5)
	l.Bars = max(width-l.Labels-afterBars-spare, 10)
	w.columns(&l, rows)
	least := max(min(l.Bars, width/3), 10)
	for over := l.over(); over > 0 && l.Bars > least; over = l.over() {
		l.Bars = max(l.Bars-over, least)
		w.columns(&l, rows)
	}
	return l
}

// over returns by how many columns the longest note is too long.
func (l *Layout) over() int {
	most := 0
	for _, ln := range l.Lines {
		if ln.Kind == RowWait || ln.Kind == RowSpan {
			ln.Note = ""
		}
		ln.Err = ""
		most = max(most, ln.Bar+max(ln.Cols, 1)+1+fit.Width(human.Line(after(ln.Row, ln.share))))
	}
	return most - (l.Width - l.Labels)
}

// columns assigns columns of the time line to the rows.
func (w *Waterfall) columns(l *Layout, rows []Row) {
	l.Ticks, l.Lines = ticks(l.Span, l.Bars), l.Lines[:0]
	longest := w.longestRow(rows)
	for i, r := range rows {
		ln := Line{Row: r, Branch: branch(rows, i)}
		ln.Label = strings.Repeat("  ", max(r.Depth-1, 0)) + r.Label
		ln.Bar = min(column(r.Start, l.Span, l.Bars), l.Bars-1)
		ln.Cols = column(r.End, l.Span, l.Bars) - ln.Bar
		if r.Dur() < l.Span/time.Duration(2*l.Bars) {
			ln.Cols = 0
		}
		if i == longest {
			ln.share = Percent(w.within(r), w.Length())
		}
		ln.After = after(r, ln.share)
		l.Lines = append(l.Lines, ln)
	}
}

// Text returns the row's label and detail, without indentation.
func (r Row) Text() string {
	if r.Detail == "" {
		return r.Label
	}
	if r.Kind == RowAction && len(r.Label) < 8 {
		return fmt.Sprintf("%-8s %s", r.Label, r.Detail)
	}
	return r.Label + " " + r.Detail
}

// longestRow returns the critical row that took most of a finished start, -1 if none took half of it.
func (w *Waterfall) longestRow(rows []Row) int {
	best := -1
	if w.Started < 0 {
		return best
	}
	for i, r := range rows {
		if d := w.within(r); r.Critical && r.Depth == 0 && d > 0 && 2*d >= w.Length() && (best < 0 || d > w.within(rows[best])) {
			best = i
		}
	}
	return best
}

// within returns how much of a row is before the pod had started.
func (w *Waterfall) within(r Row) time.Duration {
	return max(min(r.End, w.Length())-r.Start, 0)
}

func branch(rows []Row, i int) Branch {
	switch {
	case rows[i].Depth == 0:
		return BranchNone
	case i+1 < len(rows) && rows[i+1].Depth > 0:
		return BranchMore
	}
	return BranchLast
}

func after(r Row, share int) string {
	if r.Kind == RowSeen {
		return ""
	}
	text := human.Duration(r.Dur())
	if r.Open {
		text += " …"
	}
	if share > 0 {
		text += fmt.Sprintf(" ◀ %d %%", share)
	}
	if r.Note != "" {
		text += " " + r.Note
	}
	if r.Err != "" {
		text += " failed: " + r.Err
	}
	return text
}

// column returns the column of a time in a span that is not 0, rounded; also if the product of span and columns
// overflows a duration.
func column(at, span time.Duration, cols int) int {
	if at <= 0 {
		return 0
	}
	if span < math.MaxInt64/time.Duration(4*cols) && at <= span {
		return int((at*time.Duration(2*cols) + span) / (2 * span))
	}
	return min(int(float64(at)/float64(span)*float64(cols)+0.5), cols)
}

// ticks places round times on the axis, at least ten columns apart.
func ticks(span time.Duration, cols int) []Tick {
	step := time.Microsecond
	for float64(step)*float64(cols) < 10*float64(span) {
		if step = nextStep(step); step > span { // few columns, or very long times
			break
		}
	}
	var out []Tick
	for at := time.Duration(0); at >= 0 && at <= span; at += step {
		out = append(out, Tick{Col: column(at, span, cols), Text: tickText(at)})
	}
	return out
}

// nextStep returns 1, 2, 5, 10, ... in decimal units up to 10 s, then 20 s, 1 min, 2 min, ...
func nextStep(d time.Duration) time.Duration {
	if d >= 20*time.Second {
		for _, s := range []time.Duration{
			time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute, 20 * time.Minute, time.Hour, 2 * time.Hour, 6 * time.Hour, 24 * time.Hour,
		} {
			if s > d {
				return s
			}
		}
		return 2 * d
	}
	lead := d
	for lead >= 10 {
		lead /= 10
	}
	if lead == 2 {
		return d * 5 / 2
	}
	return d * 2
}

func tickText(d time.Duration) string {
	if d == 0 {
		return "0s"
	}
	switch {
	case d < time.Millisecond:
		return fmt.Sprintf("%dµs", d/time.Microsecond)
	case d < time.Second:
		return fmt.Sprintf("%dms", d/time.Millisecond)
	case d < time.Minute && d%time.Second == 0:
		return fmt.Sprintf("%ds", d/time.Second)
	case d < time.Minute:
		return fmt.Sprintf("%.1fs", d.Seconds())
	case d%time.Hour == 0:
		return fmt.Sprintf("%dh", d/time.Hour)
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", d/time.Minute, d%time.Minute/time.Second)
	}
	return fmt.Sprintf("%dh%02dm", d/time.Hour, d%time.Hour/time.Minute)
}
