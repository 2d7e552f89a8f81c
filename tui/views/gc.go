package views

import (
	"fmt"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/kubeloupe/kubeloupe/inspect/model"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/fit"
	"github.com/kubeloupe/kubeloupe/tui/style"
	"github.com/kubeloupe/kubeloupe/tui/table"
)

// GC shows the passes of garbage collection, the newest first.
type GC struct {
	list[*model.Pass]
	rows held[model.Pass]
	now  time.Time
}

// NewGC returns the page.
func NewGC(look Look) *GC {
	p := &GC{list: list[*model.Pass]{Look: look, stream: true}}
	p.tbl = newTable(look, table.Config[*model.Pass]{
		Columns: p.columns(),
		ID:      func(r *model.Pass) string { return string(r.What) + r.Begin.String() },
		Text:    func(r *model.Pass) string { return string(r.What) + " " + string(r.Cause) + " " + p.outcome(r) },
		Failed:  func(r *model.Pass) bool { return r.Err != "" },
		Empty:   "no garbage collection pass seen yet; containers every minute, images every five",
	})
	p.open = p.verdicts
	return p
}

// Name implements Page.
func (*GC) Name() string { return "GC" }

// Refresh implements Page.
func (p *GC) Refresh(f Frame) {
	p.now = f.Now
	rows := f.Model.Passes()
	slices.Reverse(rows)
	p.tbl.SetRows(p.rows.set(rows))
}

func (p *GC) columns() []table.Column[*model.Pass] {
	failed := func(r *model.Pass) style.Tone { return toneIf(r.Err != "", style.Fail) }
	return []table.Column[*model.Pass]{
		clock(p.Look, "time", 2, func(r *model.Pass) time.Time { return r.Begin }),
		text("what", 9, 0, 0, func(r *model.Pass) string { return p.Theme.Clean(string(r.What)) }),
		text("cause", 8, 0, 3, func(r *model.Pass) string { return p.Theme.Clean(string(r.Cause)) }),
		number("seen", 5, 0, func(r *model.Pass) int64 { return int64(r.Considered) }, count),
		number("removed", 7, 0, func(r *model.Pass) int64 { return int64(r.Removed) }, count),
		number("freed", 8, 0, func(r *model.Pass) int64 { return r.Freed }, style.Bytes),
		{Title: "usage", Width: 5, Right: true, Drop: 1, Cell: usage},
		duration("took", 0, 10*time.Second, func(r *model.Pass) time.Duration { return r.Dur }),
		toned(text("outcome", 10, 1, 0, p.outcome), failed),
	}
}

func usage(r *model.Pass) table.Cell {
	if r.Usage == 0 {
		return table.Cell{Text: style.Unknown, Tone: style.Dim}
	}
	return table.Cell{Text: fmt.Sprintf("%d%%", r.Usage)}
}

func (p *GC) outcome(r *model.Pass) string {
	switch {
	case r.Running:
		return "running"
	case r.Err != "":
		return "failed: " + p.Theme.Clean(r.Err)
	case r.Removed == 0:
		return "nothing to remove"
	}
	return fmt.Sprintf("%d kept", max(r.Considered-r.Removed, 0))
}

// verdicts opens what a pass considered and what became of it.
func (p *GC) verdicts(r *model.Pass) tea.Cmd {
	th := p.Theme
	title := fmt.Sprintf("%s GC at %s: %d considered, %d removed, %s freed",
		r.What, style.Clock(r.Begin), r.Considered, r.Removed, style.Bytes(r.Freed))
	var lines []Text
	if r.Err != "" {
		lines = append(lines, Text{Line: "failed: " + th.Clean(r.Err), Tone: style.Fail})
	}
	for _, d := range r.Decisions {
		lines = append(lines, verdict(th, d)...)
	}
	if r.Omitted > 0 {
		lines = append(lines, Text{Line: fmt.Sprintf("and %d more that are not kept", r.Omitted), Tone: style.Dim})
	}
	if len(lines) == 0 {
		lines = []Text{{Line: "this run has no decisions", Tone: style.Dim}}
	}
	return send(Open{NewPager(p.Look, "verdicts", th.Clean(title), lines)})
}

// verdict writes a decision: the verdict in one line, why and on what figures below.
func verdict(th *style.Theme, d model.Decision) []Text {
	size := ""
	if d.Bytes > 0 {
		size = style.Bytes(d.Bytes)
	}
	head := th.Left(th.Clean(string(d.Verdict)), 8) + " " + th.Right(size, 8) + "  " + th.Clean(d.Subject)
	lines := []Text{{Line: head, Tone: toneIf(d.Verdict == trace.VerdictRemove || d.Verdict == trace.VerdictReject, style.Strong)}}
	if d.Reason != "" {
		lines = append(lines, Text{Line: fit.Spaces(19) + th.Clean(d.Reason)})
	}
	var inputs []string
	for _, kv := range d.Inputs {
		inputs = append(inputs, kv.K+"="+kv.V)
	}
	if len(inputs) > 0 {
		lines = append(lines, Text{Line: fit.Spaces(19) + th.Clean(strings.Join(inputs, "  ")), Tone: style.Dim})
	}
	return lines
}
