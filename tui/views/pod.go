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
	"github.com/kubeloupe/kubeloupe/inspect/why"
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
	acts
	w, h       int
	filter     *query.Filter
	next, prev key.Binding
	folds      folds

	chosen  trace.Pod // zero: the one seen last
	all     []trace.Pod
	pod     model.Pod
	known   bool
	verdict []model.Decision
	events  []model.Line
	probes  []model.Probe
	report  *why.Report // nil: its records are not kept
	usual   usual
	fall    *waterfall.Waterfall
	noFall  string
	history *History
	records []trace.Record
	now     time.Time

	aside    bool            // beside a list that has the cursor
	folded   map[string]bool // sections
	within   string          // the section to which lines are added
	cur, top int
	lines    []podLine
	columns  waterfall.Layout
}

// podLine is a line of the page; one with a span or a finding opens, the title of a section closes it.
type podLine struct {
	Text
	lead    int    // how much of the text is its label
	section string // to which it belongs
	title   bool   // of the section
	count   string // what the section has
	bar     *waterfall.Line
	branch  string // before the bar's label
	span    trace.SpanID
	finding *cause.Finding
}

// NewPod returns the page.
func NewPod(look Look) *Pod {
	return &Pod{
		Look: look, acts: newActs(look), folds: newFolds(), folded: map[string]bool{},
		next: keys.Of("next pod", "]"), prev: keys.Of("previous pod", "["),
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
	return append(append(p.Look.Keys.Moving(), p.acts.keys()...), p.Look.Keys.Enter, p.folds.fold, p.folds.unfold, p.next, p.prev)
}

// Hints are the keys of this page worth a reminder.
func (*Pod) Hints() string { return actHints + "  [ ] pod  L learn" }

// Refresh implements Page.
func (p *Pod) Refresh(f Frame) {
	p.history, p.now = f.History, f.Now
	p.all = p.all[:0]
	for _, pod := range f.Model.Pods() {
		p.all = append(p.all, pod.Key)
	}
	p.pod, p.known = f.Model.Pod(p.shown())
	p.fall, p.noFall, p.records = nil, "", nil
	p.report, p.usual = nil, 0
	p.verdict, p.events, p.probes = p.verdict[:0], p.events[:0], p.probes[:0]
	if p.known {
		p.explain(f)
		p.about(f)
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

// about reads what is known of the pod beside its start.
func (p *Pod) about(f Frame) {
	p.report, p.usual = f.History.Report(p.pod.Key, f.Now), usualOf(f.Model.Starts(), p.pod.Key)
	mine := func(pod trace.Pod) bool { return pod == p.pod.Key }
	for _, d := range f.Model.Decisions() {
		if mine(d.Pod) {
			p.verdict = append(p.verdict, d)
		}
	}
	for _, l := range f.Model.Lines() {
		if mine(l.Pod) && l.Reason != "" {
			p.events = append(p.events, l)
		}
	}
	for _, pr := range f.Model.Probes() {
		if mine(pr.Pod) {
			p.probes = append(p.probes, pr)
		}
	}
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
	if cmd, took := p.do(msg, p.chosen); took {
		return cmd
	}
	switch msg := msg.(type) {
	case tea.KeyPressMsg:
		switch {
		case p.foldKey(msg):
		case key.Matches(msg, p.next):
			return p.step(1)
		case key.Matches(msg, p.prev):
			return p.step(-1)
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

// enter opens what happened within the bar under the cursor, or what a finding rests on; on a title it closes or opens the section.
func (p *Pod) enter() tea.Cmd {
	if p.cur < len(p.lines) && p.lines[p.cur].title {
		name := p.lines[p.cur].section
		p.toggle(name, !p.folded[name])
		return nil
	}
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
	return send(Open{NewPager(p.Look, "span", title, outline(p.Theme, root)).Of(strings.TrimSpace(line.bar.Label))})
}
