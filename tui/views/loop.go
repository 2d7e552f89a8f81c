package views

import (
	"slices"
	"strconv"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/kubeloupe/kubeloupe/inspect/model"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/say"
	"github.com/kubeloupe/kubeloupe/tui/style"
	"github.com/kubeloupe/kubeloupe/tui/table"
)

// slowLoop is from when on an iteration counts as slow: syncLoop is to dispatch, not to work.
const slowLoop = 100 * time.Millisecond

// leastLoop is the least difference between iterations that is drawn.
const leastLoop = 10 * time.Millisecond

// Loop shows the iterations of syncLoop, the newest first.
type Loop struct {
	list[*model.Loop]
	history *History
	now     time.Time
	times   trend
	rows    held[model.Loop]
}

// NewLoop returns the page.
func NewLoop(look Look) *Loop {
	p := &Loop{list: list[*model.Loop]{Look: look, stream: true}}
	p.tbl = newTable(look, table.Config[*model.Loop]{
		Columns: p.columns(),
		ID:      func(l *model.Loop) string { return strconv.FormatUint(l.N, 10) + l.Begin.String() },
		Text:    func(l *model.Loop) string { return string(l.Case) + " " + string(l.Op) + " " + p.told(l) },
		Empty:   "no iteration of syncLoop seen yet",
	})
	p.open = p.children
	p.trend = func(w int) string { return p.times.line(look.Theme, w, style.Accent, leastLoop) }
	return p
}

// Name implements Page.
func (*Loop) Name() string { return "Loop" }

// Refresh implements Page.
func (p *Loop) Refresh(f Frame) {
	p.history, p.now = f.History, f.Now
	if p.above() > 0 {
		p.times.refresh(f.Now, "iteration time", f.Model.LoopTimes())
	}
	p.rows.rows = f.Model.AppendLoops(p.rows.rows[:0])
	slices.Reverse(p.rows.rows)
	p.tbl.SetRows(p.rows.addresses())
}

func (p *Loop) columns() []table.Column[*model.Loop] {
	took := duration("took", 0, slowLoop, p.lasted)
	took.Cell = p.took
	did := text("what it did", 10, 1, 0, p.told)
	did.Compare = nil
	return []table.Column[*model.Loop]{
		number("n", 7, 0, func(l *model.Loop) int64 { return int64(l.N) }, count),
		clock(p.Look, "time", 2, func(l *model.Loop) time.Time { return l.Begin }),
		text("case", 21, 0, 0, func(l *model.Loop) string {
			return p.Theme.Clean(strings.TrimSpace(string(l.Case) + " " + string(l.Op)))
		}),
		number("pods", 4, 0, func(l *model.Loop) int64 { return int64(l.Pods) }, count),
		took,
		toned(duration("idle", 1, 0, func(l *model.Loop) time.Duration { return l.Idle }), func(*model.Loop) style.Tone { return style.Dim }),
		did,
	}
}

func (p *Loop) took(l *model.Loop) table.Cell {
	d, tone := p.lasted(l), style.Plain
	if d >= slowLoop {
		tone = style.Slow
	}
	text := style.Dur(d)
	if l.Running && l.Uncertain {
		text, tone = style.Unknown, style.Dim
	}
	return table.Cell{Text: text, Tone: tone}
}

// lasted is how long an iteration took, up to now.
func (p *Loop) lasted(l *model.Loop) time.Duration {
	if l.Running {
		return max(p.now.Sub(l.Begin), 0)
	}
	return l.Dur
}

// told says what an iteration did: its own words, else what it caused.
func (p *Loop) told(l *model.Loop) string {
	if l.Detail != "" {
		return p.Theme.Clean(l.Detail)
	}
	if len(l.Caused) == 0 {
		return style.Unknown
	}
	var pods []string
	for _, e := range l.Caused {
		if pod := e.Pod.String(); pod != "" && !slices.Contains(pods, pod) {
			pods = append(pods, pod)
		}
	}
	text := l.Caused[0].Event.Kind().String()
	if len(pods) > 0 {
		text = pods[0]
	}
	if n := max(len(pods), l.Pods); n > 1 {
		text += " +" + strconv.Itoa(n-1)
	}
	return p.Theme.Clean(text)
}

// children opens what an iteration caused as a tree.
func (p *Loop) children(l *model.Loop) tea.Cmd {
	title := "syncLoop iteration " + style.Count(l.N)
	rec := p.history.Last(func(r *trace.Record) bool {
		e, ok := r.Event.(*trace.Loop)
		return ok && e.N == l.N
	})
	var root *node
	if rec != nil {
		root = causes(p.history.All(), rec.Span)
	}
	if root != nil {
		return send(Open{NewPager(p.Look, "iteration", title, outline(p.Theme, root))})
	}
	lines := []Text{{Line: "The records of this iteration are no longer kept. It caused:", Tone: style.Dim}}
	for _, e := range l.Caused {
		lines = append(lines, Text{Line: p.Theme.Clean(say.Named(e.Pod, e.Event))})
	}
	return send(Open{NewPager(p.Look, "iteration", title, lines)})
}
