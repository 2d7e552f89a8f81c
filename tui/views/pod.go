package views

import (
	"cmp"
	"errors"
	"slices"
	"strings"
	"time"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"

	"github.com/kubeloupe/kubeloupe/inspect/cause"
	"github.com/kubeloupe/kubeloupe/inspect/model"
	"github.com/kubeloupe/kubeloupe/inspect/query"
	"github.com/kubeloupe/kubeloupe/inspect/waterfall"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/tui/keys"
	"github.com/kubeloupe/kubeloupe/tui/style"
)

// Pod shows one pod: the waterfall of its start, what it does now, its
// containers and the verdicts about it.
//
// Many fields: one for each part of the page.
type Pod struct {
	Look
	w, h       int
	filter     *query.Filter
	next, prev key.Binding
	teach      key.Binding

	chosen  trace.Pod // zero: the one seen last
	all     []trace.Pod
	pod     model.Pod
	known   bool
	verdict []model.Decision
	found   []cause.Finding
	sought  bool // causes were
	fall    *waterfall.Waterfall
	noFall  string
	history *History
	records []trace.Record
	now     time.Time

	aside    bool // beside a list that has the cursor
	cur, top int
	lines    []podLine
	columns  waterfall.Layout
}

// podLine is a line of the page; one with a span or a finding opens.
type podLine struct {
	Text
	bar     *waterfall.Line
	branch  string // before the bar's label
	span    trace.SpanID
	finding *cause.Finding
}

// NewPod returns the page.
func NewPod(look Look) *Pod {
	return &Pod{
		Look: look,
		next: keys.Bind("] →", "next pod", "]", "right"), prev: keys.Bind("[ ←", "previous pod", "[", "left"),
		teach: teachKey(),
	}
}

// Name implements Page.
func (*Pod) Name() string { return "Pod" }

// Show chooses the pod.
func (p *Pod) Show(pod trace.Pod) {
	p.chosen, p.cur, p.top = pod, 0, 0
}

// SetSize implements Page.
func (p *Pod) SetSize(w, h int) {
	p.w, p.h = w, h
	if p.Scene.Panels {
		p.w, p.h = w-style.PanelSides, h-style.PanelSides
	}
	p.lay()
}

// Panels implements Paneled: the pod is the title of its panel.
func (p *Pod) Panels() {}

// SetFilter implements Page.
func (p *Pod) SetFilter(q *query.Filter) {
	p.filter = q
	p.lay()
}

// Keys implements Page.
func (p *Pod) Keys() []key.Binding {
	return append(p.Look.Keys.Moving(), p.Look.Keys.Enter, p.next, p.prev, p.teach)
}

// Hints are the keys of this page worth a reminder.
func (*Pod) Hints() string { return "[ ] pod  L learn" }

// Refresh implements Page.
func (p *Pod) Refresh(f Frame) {
	p.history, p.now = f.History, f.Now
	p.all = p.all[:0]
	for _, pod := range f.Model.Pods() {
		p.all = append(p.all, pod.Key)
	}
	p.pod, p.known = f.Model.Pod(p.shown())
	p.fall, p.noFall, p.records = nil, "", nil
	p.found, p.sought = nil, false
	if p.known {
		p.explain(f)
		p.found, p.sought = f.History.Findings(p.pod.Key, f.Now)
	}
	p.verdict = p.verdict[:0]
	for _, d := range f.Model.Decisions() {
		if d.Pod == p.pod.Key && p.known {
			p.verdict = append(p.verdict, d)
		}
	}
	p.lay()
}

// shown is the pod to show: the chosen one, else the one seen last.
func (p *Pod) shown() trace.Pod {
	if p.chosen.IsZero() && len(p.all) > 0 {
		return p.all[len(p.all)-1]
	}
	return p.chosen
}

func (p *Pod) explain(f Frame) {
	recs, cut := f.Model.StartRecords(p.pod.Key)
	fall, err := f.Model.Waterfall(p.pod.Key, f.Now)
	switch {
	case errors.Is(err, waterfall.ErrAdopted), err != nil && p.pod.Start.Adopted:
		p.noFall = "Its containers were found running: this agent did not see it start."
	case errors.Is(err, waterfall.ErrNoRecords):
		p.noFall = "The records of its start are not kept: it started before the first event, or too long ago."
	case err != nil:
		p.noFall = err.Error()
	default:
		fall.Incomplete, fall.Phase = fall.Incomplete || cut, p.phase(fall.Phase)
		p.fall, p.records = fall, recs
	}
}

// phase is the pod's phase as it is now, with what that does not say of its state; was is as the start told it.
func (p *Pod) phase(was string) string {
	phase := cmp.Or(string(p.pod.Phase), was)
	switch s := p.pod.State(); s {
	case model.StateGone:
		if phase != "" {
			return "gone (last phase " + phase + ")"
		}
		return "gone"
	case model.StateBackingOff, model.StateNotReady, model.StateStarted, model.StateTerminating:
		return strings.TrimPrefix(phase+", "+string(s), ", ")
	case model.StateUnknown, model.StateStarting, model.StateReady, model.StateCompleted, model.StateFailed: // the phase says it
	}
	return phase
}

// Update implements Page.
func (p *Pod) Update(msg tea.Msg) tea.Cmd {
	k := p.Look.Keys
	p.stay()
	switch msg := msg.(type) {
	case tea.KeyPressMsg:
		switch {
		case key.Matches(msg, p.next):
			return p.step(1)
		case key.Matches(msg, p.prev):
			return p.step(-1)
		case key.Matches(msg, p.teach):
			p.Scene.Learn = !p.Scene.Learn
		case key.Matches(msg, k.Up):
			p.move(p.cur - 1)
		case key.Matches(msg, k.Down):
			p.move(p.cur + 1)
		case key.Matches(msg, k.PageUp):
			p.move(p.cur - p.rows() + 1)
		case key.Matches(msg, k.PageDown):
			p.move(p.cur + p.rows() - 1)
		case key.Matches(msg, k.Top):
			p.move(0)
		case key.Matches(msg, k.Bottom):
			p.move(len(p.lines) - 1)
		case key.Matches(msg, k.Enter):
			return p.enter()
		}
	case tea.MouseWheelMsg:
		if msg.Button == tea.MouseWheelUp {
			p.move(p.cur - wheel)
		} else if msg.Button == tea.MouseWheelDown {
			p.move(p.cur + wheel)
		}
	case tea.MouseClickMsg:
		i := p.top + msg.Y - podHead
		if msg.Button != tea.MouseLeft || msg.Y < podHead || msg.Y >= podHead+p.rows() || i >= len(p.lines) {
			return nil
		}
		again := i == p.cur
		p.move(i)
		if again {
			return p.enter()
		}
	}
	return nil
}

func (p *Pod) move(i int) { p.cur = max(min(i, len(p.lines)-1), 0) }

// stay keeps to the pod that is shown, once the user looks at it more closely.
func (p *Pod) stay() { p.chosen = p.shown() }

// step goes to the next or the previous pod.
func (p *Pod) step(by int) tea.Cmd {
	if len(p.all) == 0 {
		return nil
	}
	i := slices.Index(p.all, p.shown())
	p.Show(p.all[(max(i, 0)+by+len(p.all))%len(p.all)])
	return send(Redraw{})
}

// enter opens what happened within the bar under the cursor, or what a finding rests on.
func (p *Pod) enter() tea.Cmd {
	if p.cur < len(p.lines) && p.lines[p.cur].finding != nil {
		return p.openFinding(p.lines[p.cur].finding)
	}
	if p.cur >= len(p.lines) || p.lines[p.cur].span == 0 {
		return send(Say{Text: "nothing to open on this line"})
	}
	line := p.lines[p.cur]
	recs := p.history.All()
	if len(p.records) > 0 {
		recs = func(yield func(*trace.Record) bool) {
			for i := range p.records {
				if !yield(&p.records[i]) {
					return
				}
			}
		}
	}
	root := causes(recs, line.span)
	if root == nil {
		return send(Say{Text: "the records of this are no longer kept"})
	}
	title := p.Theme.Clean(p.pod.Key.String() + "  " + strings.TrimSpace(line.bar.Label+" "+line.bar.Detail))
	return send(Open{NewPager(p.Look, "span", title, outline(p.Theme, root))})
}
