package rank

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kubeloupe/kubeloupe/trace/fit"
	"github.com/kubeloupe/kubeloupe/trace/human"
)

// minWidth is the minimum width of a table.
const minWidth = 60

// Text writes the ranking as tables of at most width columns (at least 60). If there is no room, it truncates the
// cause, then the pod.
func Text(w io.Writer, r *Ranking, width int) error {
	t := &table{width: max(width, minWidth)}
	t.head(r)
	if len(r.Starts) > 0 {
		t.starts(r)
	}
	if len(r.Phases) > 0 {
		t.spreads("critical path", withAll(r))
	}
	if len(r.Groups) > 0 {
		t.spreads(r.Group, r.Groups)
	}
	if _, err := io.WriteString(w, t.String()); err != nil {
		return fmt.Errorf("write ranking: %w", err)
	}
	return nil
}

type table struct {
	strings.Builder
	width int
}

// line adds a line without trailing spaces.
func (t *table) line(s string) {
	t.WriteString(strings.TrimRight(fit.Cut(s, t.width, fit.Ellipsis), " ") + "\n")
}

func (t *table) head(r *Ranking) {
	s := fmt.Sprintf("%d starts", r.Total)
	if r.Total == 1 {
		s = "1 start"
	}
	if n := r.Total - r.Started - r.Stepped; n > 0 {
		s += fmt.Sprintf(", %d not started", n)
	}
	if r.Stepped > 0 {
		s += fmt.Sprintf(", %d stepped", r.Stepped)
	}
	if a := r.All; a.N > 0 {
		figures := fmt.Sprintf("   %s p50 %s   p99 %s   max %s", human.Line(a.Name), human.Duration(a.P50), human.Duration(a.P99), human.Duration(a.Max))
		if fit.Width(s+figures) <= t.width { // the table below has them too
			s += figures
		}
	}
	t.line(s)
}

// withAll puts what the order is by before the phases, unless it is one of them.
func withAll(r *Ranking) []Spread {
	if slices.ContainsFunc(r.Phases, func(s Spread) bool { return s.Name == r.By }) {
		return r.Phases
	}
	return append([]Spread{r.All}, r.Phases...)
}

// starts lists the slowest starts. The column that they are ranked by is the first.
func (t *table) starts(r *Ranking) {
	pod := len("pod")
	for _, s := range r.Starts {
		pod = max(pod, fit.Width(human.Line(s.Pod.String())))
	}
	number := len(fmt.Sprint(len(r.Starts)))
	extra := r.By != "started" && r.By != "ready"
	figures := number + 2 + 9 + 10
	if extra {
		figures += 2 + max(len(r.By), 8)
	}
	pod = min(pod, max((t.width-figures)*45/100, 12))
	head := fmt.Sprintf("\n%*s  ", number, "")
	if extra {
		head += fmt.Sprintf("%*s  ", max(len(r.By), 8), human.Line(r.By))
	}
	t.WriteString("\n")
	t.line(strings.TrimPrefix(head, "\n") + fmt.Sprintf("%8s  %8s  %s  cause", "started", "ready", pad("pod", pod)))
	for i, s := range r.Starts {
		row := fmt.Sprintf("%*d  ", number, i+1)
		if extra {
			row += fmt.Sprintf("%*s  ", max(len(r.By), 8), figure(s.by(r.By)))
		}
		goesOn := " "
		if s.Started < 0 && !s.Never {
			goesOn = "…"
		}
		t.line(row + fmt.Sprintf("%8s%s %8s  %s  %s", human.Duration(s.SoFar), goesOn, human.Duration(s.Ready), pad(fit.Middle(human.Line(s.Pod.String()), pod, fit.Ellipsis), pod), human.Line(s.Cause)))
	}
}

// spreads lists figures. A narrow table omits p90 and the sum.
func (t *table) spreads(title string, of []Spread) {
	wide := t.width >= 76
	cells := func(n string, p50, p90, p99, most, sum string) string {
		if !wide {
			return fmt.Sprintf(" %7s %8s %8s %8s", n, p50, p99, most)
		}
		return fmt.Sprintf(" %7s %8s %8s %8s %8s %9s", n, p50, p90, p99, most, sum)
	}
	head := cells("starts", "p50", "p90", "p99", "max", "sum")
	name := fit.Width(title)
	for _, s := range of {
		name = max(name, fit.Width(human.Line(s.Name)))
	}
	name = min(name, t.width-len(head))
	t.WriteString("\n")
	t.line(pad(title, name) + head)
	for _, s := range of {
		t.line(pad(human.Line(s.Name), name) + cells(strconv.Itoa(s.N), human.Duration(s.P50), human.Duration(s.P90),
			human.Duration(s.P99), human.Duration(s.Max), human.Duration(s.Sum)))
	}
}

// figure formats a duration, - if there is none.
func figure(d time.Duration, ok bool) string {
	if !ok {
		return "-"
	}
	return human.Duration(d)
}

// pad truncates or pads s to n characters.
func pad(s string, n int) string {
	return fit.Left(fit.Cut(s, n, fit.Ellipsis), n)
}
