package views

import (
	"cmp"
	"fmt"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/kubeloupe/kubeloupe/inspect/model"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/sorting"
	"github.com/kubeloupe/kubeloupe/tui/style"
	"github.com/kubeloupe/kubeloupe/tui/table"
)

// Probes shows the probes of all containers, the failing ones first.
type Probes struct {
	list[*model.Probe]
	rows held[model.Probe]
	now  time.Time
}

// NewProbes returns the page.
func NewProbes(look Look) *Probes {
	p := &Probes{list: list[*model.Probe]{Look: look, pod: func(r *model.Probe) trace.Pod { return r.Pod }}}
	p.tbl = newTable(look, table.Config[*model.Probe]{
		Columns: p.columns(),
		ID: func(r *model.Probe) string {
			return r.Pod.String() + r.Pod.UID + "/" + r.Container + "/" + string(r.Kind)
		},
		Text: func(r *model.Probe) string {
			return r.Pod.String() + " " + r.Container + " " + string(r.Kind) + " " + string(r.How) + " " + string(r.State) + " " + r.Output
		},
		Failed: func(r *model.Probe) bool { return r.State == trace.ProbeDenies || failing(r) },
		Fields: ofPod(func(r *model.Probe) trace.Pod { return r.Pod }),
		Empty:  "no probe now",
	})
	p.open = func(r *model.Probe) tea.Cmd { return send(OpenPod{r.Pod}) }
	return p
}

// Name implements Page.
func (*Probes) Name() string { return "Probes" }

// Refresh implements Page.
func (p *Probes) Refresh(f Frame) {
	p.now = f.Now
	rows := f.Model.Probes()
	sorting.Stable(rows, func(a, b *model.Probe) int { return cmp.Compare(probeUrgency(a), probeUrgency(b)) })
	p.tbl.SetRows(p.rows.set(rows))
}

func probeUrgency(r *model.Probe) int {
	switch {
	case r.State == trace.ProbeDenies || failing(r):
		return 0
	case r.State != trace.ProbeSays:
		return 1
	}
	return 2
}

// failing reports whether the last attempt failed.
func failing(r *model.Probe) bool {
	return r.Result == trace.ProbeFailure || r.Result == trace.ProbeError
}

func (p *Probes) columns() []table.Column[*model.Probe] {
	th := p.Theme
	return []table.Column[*model.Probe]{
		text("pod", 16, 2, 0, func(r *model.Probe) string { return th.Clean(r.Pod.String()) }),
		text("container", 9, 1, 1, func(r *model.Probe) string { return th.Clean(r.Container) }),
		text("probe", 9, 0, 0, func(r *model.Probe) string { return th.Clean(string(r.Kind)) }),
		text("how", 9, 0, 5, func(r *model.Probe) string { return th.Clean(string(r.How)) }),
		toned(text("result", 8, 0, 0, func(r *model.Probe) string { return th.Clean(result(r)) }), func(r *model.Probe) style.Tone {
			return toneIf(r.State == trace.ProbeDenies || failing(r), style.Fail)
		}),
		text("run", 5, 0, 2, run),
		number("tries", 5, 6, func(r *model.Probe) int64 { return int64(r.Attempts) }, count),
		oddity("failures", 8, 3, style.Slow, func(r *model.Probe) int64 { return int64(r.Failures) }),
		duration("took", 4, time.Second, func(r *model.Probe) time.Duration { return r.Dur }),
		{Title: "last", Width: style.DurWidth, Right: true, Cell: p.last},
		{Title: "next", Width: style.DurWidth, Right: true, Drop: 7, Cell: p.next},
		text("output", 8, 3, 0, func(r *model.Probe) string { return th.Clean(r.Output) }),
	}
}

// result is the result of a probe that counts; "failing" is a success, or a startup probe without a result, whose last attempts failed, less
// often than the threshold.
func result(r *model.Probe) string {
	switch {
	case (r.State == trace.ProbeSays || r.State == trace.ProbeUnknown) && failing(r):
		return "failing"
	case r.State == trace.ProbeSays:
		return "success"
	case r.State == trace.ProbeDenies:
		return "failure"
	}
	return string(r.State)
}

// run is how many attempts in a row had the last result, of those that count.
func run(r *model.Probe) string {
	if r.Threshold == 0 {
		return ""
	}
	return fmt.Sprintf("%d/%d", min(r.Count, 999), r.Threshold)
}

func (p *Probes) last(r *model.Probe) table.Cell {
	switch {
	case r.Running:
		return table.Cell{Text: "now"}
	case r.At.IsZero():
		return table.Cell{Text: style.Unknown, Tone: style.Dim}
	}
	return table.Cell{Text: style.Age(p.now.Sub(r.At))}
}

func (p *Probes) next(r *model.Probe) table.Cell {
	if d := r.Next.Sub(p.now); !r.Next.IsZero() && d > 0 {
		return table.Cell{Text: style.Age(d)}
	}
	return table.Cell{Text: style.Unknown, Tone: style.Dim}
}
