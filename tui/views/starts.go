package views

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"

	"github.com/kubeloupe/kubeloupe/inspect/model"
	"github.com/kubeloupe/kubeloupe/inspect/waterfall"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/fit"
	"github.com/kubeloupe/kubeloupe/trace/sorting"
	"github.com/kubeloupe/kubeloupe/tui/style"
	"github.com/kubeloupe/kubeloupe/tui/table"
)

const (
	// startBins is how many columns the histogram of start times has.
	startBins = 40
	// startBar is how wide the bar of the longest phase is.
	startBar = 10
)

// Starts ranks all starts of the session, the slowest first.
type Starts struct {
	list[*model.Start]
	acts
	rows     held[model.Start]
	w        int
	now      time.Time
	history  *History
	stats    model.StartStats
	started  spread
	ready    spread
	starting int
}

// NewStarts returns the page.
func NewStarts(look Look) *Starts {
	p := &Starts{list: list[*model.Start]{Look: look, pod: func(r *model.Start) trace.Pod { return r.Pod }}, acts: newActs(look)}
	p.tbl = newTable(look, table.Config[*model.Start]{
		Columns: p.columns(),
		ID:      func(s *model.Start) string { return s.Pod.String() + s.Pod.UID + s.Started.String() },
		Text:    func(s *model.Start) string { return s.Pod.String() + " " + longest(s).Label() + " " + p.cause(s) },
		Fields:  ofPod(func(s *model.Start) trace.Pod { return s.Pod }),
		Flags:   map[string]func(*model.Start) bool{"ready": func(s *model.Start) bool { return s.ToReady > 0 }},
		Empty:   "no pod has started since the first event",
	})
	p.open = func(s *model.Start) tea.Cmd { return send(OpenPod{s.Pod}) }
	return p
}

// Name implements Page.
func (*Starts) Name() string { return "Starts" }

// Refresh implements Page.
func (p *Starts) Refresh(f Frame) {
	p.now, p.history = f.Now, f.History
	p.stats, p.starting = f.Model.StartStats(), f.Model.Counts().Starting
	rows := f.Model.Starts()
	sorting.Stable(rows, func(a, b *model.Start) int { return cmp.Compare(b.ToStarted, a.ToStarted) })
	p.started = spreadOf(rows, func(s *model.Start) time.Duration { return s.ToStarted })
	p.ready = spreadOf(rows, func(s *model.Start) time.Duration { return s.ToReady })
	p.tbl.SetRows(p.rows.set(rows))
}

// SetSize implements Page.
func (p *Starts) SetSize(w, h int) {
	p.w = w
	p.list.SetSize(w, h-p.top())
}

// top is how many lines stand above the table.
func (p *Starts) top() int {
	if p.Scene.Panels {
		return 3
	}
	return 2
}

// Keys implements Page.
func (p *Starts) Keys() []key.Binding {
	return append(p.list.Keys(), p.acts.keys()...)
}

// Hints are the keys of this page worth a reminder.
func (*Starts) Hints() string { return actHints }

// Update implements Page.
func (p *Starts) Update(msg tea.Msg) tea.Cmd {
	if cmd, took := p.do(msg, p.subject()); took {
		return cmd
	}
	if c, ok := msg.(tea.MouseClickMsg); ok {
		if c.Y < p.top() {
			return nil
		}
		c.Y -= p.top()
		msg = c
	}
	return p.list.Update(msg)
}

// View implements Page.
func (p *Starts) View() string {
	return p.head() + "\n" + p.list.View()
}

// spread is how durations are spread.
type spread struct {
	n                  int
	p50, p90, p99, max time.Duration
	min                time.Duration
	all                []time.Duration // the shortest first
}

func spreadOf(rows []model.Start, of func(*model.Start) time.Duration) spread {
	var ds []time.Duration
	for i := range rows {
		if d := of(&rows[i]); d > 0 {
			ds = append(ds, d)
		}
	}
	slices.Sort(ds)
	return spread{
		n: len(ds), all: ds, min: model.Percentile(ds, 0), p50: model.Percentile(ds, 50), p90: model.Percentile(ds, 90),
		p99: model.Percentile(ds, 99), max: model.Percentile(ds, 100),
	}
}

func (s spread) text(th *style.Theme) string {
	out := ""
	for _, f := range []struct {
		name string
		d    time.Duration
	}{{"p50", s.p50}, {"p90", s.p90}, {"p99", s.p99}, {"max", s.max}} {
		out += "  " + f.name + " " + th.Right(style.Known(f.d), style.DurWidth)
	}
	return out
}

// head sums up the starts: how long until the containers ran, and until the pod was ready.
func (p *Starts) head() string {
	th := p.Theme
	line := func(what string, s spread, right string) string {
		text := " " + th.Left(what, 16) + th.Right(style.Count(s.n), 5) + s.text(th)
		if room := p.w - fit.Width(text) - 2; fit.Width(right) <= room {
			text += fit.Spaces(room+1-fit.Width(right)) + right
		}
		return th.Cut(text, p.w)
	}
	right := ""
	if p.starting > 0 {
		right = fmt.Sprintf("%d starting now", p.starting)
	}
	out := line("seen to started", p.started, right) + "\n" + line("seen to ready", p.ready, "")
	if p.Scene.Panels {
		out += "\n" + p.histogram()
	}
	return out
}

// histogram draws how many starts took how long, from the shortest to the longest: each column is for times that are longer by the
// same factor.
func (p *Starts) histogram() string {
	th := p.Theme
	lead := " " + th.Left("distribution", 16)
	if p.started.n == 0 {
		return th.Paint(style.Dim, lead)
	}
	low, high := p.started.min.Seconds(), p.started.max.Seconds()
	bins := make([]float64, startBins)
	for _, d := range p.started.all {
		i := 0
		if high > low {
			i = int(math.Log(d.Seconds()/low) / math.Log(high/low) * (startBins - 1))
		}
		bins[min(max(i, 0), startBins-1)]++
	}
	for i := range bins {
		if bins[i] == 0 {
			bins[i] = -1
		}
	}
	return lead + th.Right(style.Dur(p.started.min), 5+style.DurWidth) + " " + th.Paint(style.Accent, th.Spark(bins, 1)) + " " + style.Dur(p.started.max)
}

// longest is the segment of the critical path that took longest, all of one part together.
func longest(s *model.Start) (most model.Segment) {
	sum := map[waterfall.Part]time.Duration{}
	for _, seg := range s.Segments {
		sum[seg.Part] += seg.Dur
		if d := sum[seg.Part]; d > most.Dur {
			most = model.Segment{Part: seg.Part, Dur: d}
		}
	}
	return most
}

func (p *Starts) columns() []table.Column[*model.Start] {
	th := p.Theme
	slow := func(s *model.Start) style.Tone {
		return toneIf(p.stats.P50 > 0 && s.ToStarted > 2*p.stats.P50, style.Slow)
	}
	return []table.Column[*model.Start]{
		text("pod", 18, 3, 0, func(s *model.Start) string { return th.Clean(s.Pod.String()) }),
		clock(p.Look, "seen", 4, func(s *model.Start) time.Time { return s.Seen }),
		toned(duration("start", 0, 0, func(s *model.Start) time.Duration { return s.ToStarted }), slow),
		duration("ready", 2, 0, func(s *model.Start) time.Duration { return s.ToReady }),
		duration("floor", 3, 0, func(s *model.Start) time.Duration { return s.Floor }),
		toned(text("longest", 11, 1, 0, func(s *model.Start) string { return th.Clean(longest(s).Label()) }),
			func(s *model.Start) style.Tone { return phase(longest(s).Stage()) }),
		p.took(),
		p.bar(),
		text("why", 14, 4, 0, p.cause),
	}
}

// took is how long the longest phase took. It is not what a filter means by >500ms.
func (p *Starts) took() table.Column[*model.Start] {
	c := duration("took", 0, 0, func(s *model.Start) time.Duration { return longest(s).Dur })
	c.Took = false
	return c
}

// bar draws the start as long as it is beside the slowest one, by its phases.
func (p *Starts) bar() table.Column[*model.Start] {
	return table.Column[*model.Start]{
		Title: "", Width: startBar, Drop: 5,
		Cell: func(s *model.Start) table.Cell {
			return segments(p.Theme, s, p.stats.Max, startBar)
		},
	}
}

// cause is the costliest cause that was found, else what the waterfall says of the longest segment.
func (p *Starts) cause(s *model.Start) string {
	if p.history != nil {
		if text := topText(p.history.Top(s.Pod, s.Started, s.Ready, p.now)); text != "" {
			return p.Theme.Clean(text)
		}
	}
	return p.Theme.Clean(s.Reason)
}
