package views

import (
	"cmp"
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

// Loop shows the iterations of syncLoop, the newest first.
type Loop struct {
	list[model.Loop]
	history *History
	now     time.Time
}

// NewLoop returns the page.
func NewLoop(look Look) *Loop {
	p := &Loop{list: list[model.Loop]{Look: look, stream: true}}
	p.tbl = newTable(look, table.Config[model.Loop]{
		Columns: p.columns(),
		ID:      func(l model.Loop) string { return strconv.FormatUint(l.N, 10) + l.Begin.String() },
		Text:    func(l model.Loop) string { return string(l.Case) + " " + string(l.Op) + " " + p.told(l) },
		Empty:   "no iteration of syncLoop seen yet",
	})
	p.open = p.children
	return p
}

// Name implements Page.
func (*Loop) Name() string { return "Loop" }

// Refresh implements Page.
func (p *Loop) Refresh(f Frame) {
	p.history, p.now = f.History, f.Now
	rows := f.Model.Loops()
	slices.Reverse(rows)
	p.tbl.SetRows(rows)
}

func (p *Loop) columns() []table.Column[model.Loop] {
	plain := func(s string) table.Cell { return table.Cell{Text: s} }
	return []table.Column[model.Loop]{
		{
			Title: "n", Width: 7, Right: true, Desc: true,
			Cell:    func(l model.Loop) table.Cell { return plain(style.Count(l.N)) },
			Compare: func(a, b model.Loop) int { return cmp.Compare(a.N, b.N) },
			Figure:  func(l model.Loop) float64 { return float64(l.N) },
		},
		clock(p.Look, "time", 2, func(l model.Loop) time.Time { return l.Begin }),
		text("case", 21, 0, 0, func(l model.Loop) string {
			return p.Theme.Clean(strings.TrimSpace(string(l.Case) + " " + string(l.Op)))
		}),
		{
			Title: "pods", Width: 4, Right: true, Desc: true,
			Cell:    func(l model.Loop) table.Cell { return plain(style.Count(l.Pods)) },
			Compare: func(a, b model.Loop) int { return cmp.Compare(a.Pods, b.Pods) },
			Figure:  func(l model.Loop) float64 { return float64(l.Pods) },
		},
		{
			Title: "took", Width: 6, Right: true, Desc: true, Cell: p.took,
			Compare: func(a, b model.Loop) int { return cmp.Compare(p.lasted(a), p.lasted(b)) },
			Figure:  func(l model.Loop) float64 { return p.lasted(l).Seconds() }, Took: true,
		},
		{
			Title: "idle", Width: 6, Right: true, Desc: true, Drop: 1,
			Cell:    func(l model.Loop) table.Cell { return table.Cell{Text: style.Known(l.Idle), Tone: style.Dim} },
			Compare: func(a, b model.Loop) int { return cmp.Compare(a.Idle, b.Idle) },
			Figure:  func(l model.Loop) float64 { return l.Idle.Seconds() },
		},
		{
			Title: "what it did", Width: 10, Flex: 1,
			Cell: func(l model.Loop) table.Cell { return plain(p.told(l)) },
		},
	}
}

func (p *Loop) took(l model.Loop) table.Cell {
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
func (p *Loop) lasted(l model.Loop) time.Duration {
	if l.Running {
		return max(p.now.Sub(l.Begin), 0)
	}
	return l.Dur
}

// told says what an iteration did: its own words, else what it caused.
func (p *Loop) told(l model.Loop) string {
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
func (p *Loop) children(l model.Loop) tea.Cmd {
	title := "syncLoop iteration " + style.Count(l.N)
	rec := p.history.Last(func(r *trace.Record) bool {
		e, ok := r.Event.(*trace.Loop)
		return ok && e.N == l.N
	})
	var root *node
	if rec != nil {
		root = causes(p.history, rec.Span)
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
