package views

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"

	"github.com/kubeloupe/kubeloupe/inspect/cause"
	"github.com/kubeloupe/kubeloupe/inspect/model"
	"github.com/kubeloupe/kubeloupe/inspect/query"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/sorting"
	"github.com/kubeloupe/kubeloupe/tui/style"
)

// Overview is a summary of the node: pods, current starts, pods with problems, the slowest starts, adopted pods, CRI calls and
// pressure.
//
// Many fields: one for each part of the page.
type Overview struct {
	Look
	acts
	w, h   int
	filter *query.Filter
	order  startOrder

	now      time.Time
	known    bool
	counts   model.Counts
	stats    model.StartStats
	starting []model.Pod
	trouble  []model.Pod
	adopted  []model.Pod // up, and found running: they have no start
	slowest  []model.Start
	tops     []string // the costliest cause of each of slowest that is drawn, "" where none is known
	methods  []model.Method
	pressure []model.Pressure
	broken   []model.SourceError
	activity activity

	sel   string // id of the item under the cursor
	cur   int
	items []item // what the cursor can be on, as drawn last
	hits  map[int]int
}

// item is a line of the overview that opens something.
type item struct {
	id   string
	pod  trace.Pod // zero: it is about none
	open func() tea.Msg
}

// startOrder is how finished starts are listed.
type startOrder int

const (
	bySlowest startOrder = iota
	byLatest
	byName
	startOrders
)

func (o startOrder) title() string {
	return [...]string{"slowest starts", "latest starts", "starts by name"}[o]
}

// NewOverview returns the page.
func NewOverview(look Look) *Overview { return &Overview{Look: look, acts: newActs(look)} }

// Name implements Page.
func (*Overview) Name() string { return "Overview" }

// SetSize implements Page.
func (p *Overview) SetSize(w, h int) {
	p.w, p.h = w, h
	p.layout()
}

// SetFilter implements Page.
func (p *Overview) SetFilter(q *query.Filter) { p.filter = q }

// Keys implements Page.
func (p *Overview) Keys() []key.Binding {
	k := p.Look.Keys
	return append(append(k.Moving(), k.Sort, k.Enter), p.acts.keys()...)
}

// Refresh implements Page.
func (p *Overview) Refresh(f Frame) {
	p.now, p.known = f.Now, f.Model.Node().Records > 0
	p.counts, p.stats = f.Model.Counts(), f.Model.StartStats()
	p.starting, p.trouble, p.adopted = p.starting[:0], p.trouble[:0], p.adopted[:0]
	for _, pod := range f.Model.Pods() {
		switch {
		case !p.matches(pod.Key):
		case inTrouble(&pod, f.Now):
			p.trouble = append(p.trouble, pod)
		case pod.State() == model.StateStarting:
			p.starting = append(p.starting, pod)
		case adopted(&pod):
			p.adopted = append(p.adopted, pod)
		}
	}
	p.slowest = slices.DeleteFunc(f.Model.Starts(), func(s model.Start) bool { return !p.matches(s.Pod) })
	p.sortStarts()
	p.methods = f.Model.Methods(f.Now)
	sorting.Stable(p.methods, func(a, b *model.Method) int { return cmp.Compare(weight(b), weight(a)) })
	p.pressure, p.broken = worthShowing(f.Model.Pressure()), f.Model.SourceErrors()
	if p.Scene.Panels {
		p.activity.refresh(f)
	}
	p.findTops(f)
	p.layout()
}

// weight orders methods: what changes the node before what only asks.
func weight(m *model.Method) int {
	order := []string{"PullImage", "RunPodSandbox", "CreateContainer", "StartContainer", "StopContainer", "StopPodSandbox"}
	if i := slices.Index(order, m.Name); i >= 0 {
		return 1<<20 - i
	}
	return m.Count
}

// Fields implements Fielder.
func (*Overview) Fields() query.Fields {
	return query.Fields{All: []query.Field{{Name: "name", Kind: query.Text}, {Name: "ns", Kind: query.Text}, {Name: "pod", Kind: query.Text}}}
}

// matches reports whether the filter lets a pod through.
func (p *Overview) matches(pod trace.Pod) bool {
	return p.filter.Match(query.Row{Text: pod.String, Field: func(name string) query.Value {
		switch name {
		case "ns":
			return query.Value{Text: pod.Namespace}
		case "name":
			return query.Value{Text: pod.Name}
		}
		return query.Value{Text: pod.String()}
	}})
}

func (p *Overview) sortStarts() {
	sorting.Stable(p.slowest, func(a, b *model.Start) int {
		switch p.order {
		case byLatest:
			return b.Started.Compare(a.Started)
		case byName:
			return cmp.Compare(a.Pod.String(), b.Pod.String())
		case bySlowest, startOrders:
		}
		return cmp.Compare(b.ToStarted, a.ToStarted)
	})
}

// findTops looks up the causes of the starts that are drawn.
func (p *Overview) findTops(f Frame) {
	p.tops = p.tops[:0]
	for _, s := range p.slowest[:min(p.share().slowest, len(p.slowest))] {
		p.tops = append(p.tops, topText(f.History.Top(s.Pod, s.Started, s.Ready, f.Now)))
	}
}

// topText is a finding in a line that may be cut.
func topText(f *cause.Finding) string {
	if f == nil {
		return ""
	}
	return f.ID + " " + f.Name + ": " + f.Sentence
}

// adopted reports whether the pod is up and was found running.
func adopted(pod *model.Pod) bool {
	s := pod.State()
	return pod.Start.Adopted && (s == model.StateReady || s == model.StateStarted || s == model.StateNotReady)
}

// patience is how long a pod may have started without being ready.
const patience = 10 * time.Second

// inTrouble reports whether a person should look at the pod.
func inTrouble(pod *model.Pod, now time.Time) bool {
	return pod.State() == model.StateBackingOff || trouble(pod, now) != ""
}

// complaint returns the reason for which a container is not as it should be, "" if there is none.
func complaint(c *trace.ContainerStatus) string {
	switch c.Reason {
	case "Completed", "ContainerCreating", "PodInitializing":
		return ""
	}
	return c.Reason
}

// trouble returns what a pod in trouble suffers from, "" when nothing is known.
func trouble(pod *model.Pod, now time.Time) string {
	for _, c := range pod.Containers {
		if reason := complaint(&c); reason != "" {
			return strings.TrimSpace(reason + " " + c.Name + ": " + cmp.Or(c.Message, fmt.Sprintf("exit code %d", c.ExitCode)))
		}
	}
	if pod.Phase == trace.PodFailed {
		return strings.TrimSpace("Failed " + pod.Reason + " " + pod.Message)
	}
	if pod.Backoff.Active() {
		if detail := pod.Backoff.Detail(); pod.Backoff.Target.Kind == trace.TargetRetry && detail != "" {
			return "back-off: " + detail
		}
		return strings.TrimSpace("back-off " + pod.Backoff.On() + " " + pod.Backoff.Detail())
	}
	if d := now.Sub(pod.Start.Started); pod.State() == model.StateNotReady && !pod.Start.Started.IsZero() && d > patience {
		what := " after its containers started"
		if pod.Start.Adopted {
			what = " after it was adopted"
		}
		return "not ready " + style.Dur(d.Truncate(time.Second)) + what
	}
	return ""
}

// Update implements Page.
func (p *Overview) Update(msg tea.Msg) tea.Cmd {
	k := p.Look.Keys
	if cmd, took := p.do(msg, p.selected()); took {
		return cmd
	}
	switch msg := msg.(type) {
	case tea.KeyPressMsg:
		switch {
		case key.Matches(msg, k.Up):
			p.move(p.cur - 1)
		case key.Matches(msg, k.Down):
			p.move(p.cur + 1)
		case key.Matches(msg, k.Top), key.Matches(msg, k.PageUp):
			p.move(0)
		case key.Matches(msg, k.Bottom), key.Matches(msg, k.PageDown):
			p.move(len(p.items) - 1)
		case key.Matches(msg, k.Enter):
			return p.enter()
		case key.Matches(msg, k.Sort):
			p.order = (p.order + 1) % startOrders
			p.sortStarts()
			p.tops = p.tops[:0] // they are of other rows now
			p.layout()
			return tea.Batch(send(Redraw{}), send(Say{Text: "finished starts: " + p.order.title()}))
		}
	case tea.MouseWheelMsg:
		if msg.Button == tea.MouseWheelUp {
			p.move(p.cur - 1)
		} else if msg.Button == tea.MouseWheelDown {
			p.move(p.cur + 1)
		}
	case tea.MouseClickMsg:
		if i, ok := p.hits[msg.Y]; ok && msg.Button == tea.MouseLeft {
			again := i == p.cur
			p.move(i)
			if again {
				return p.enter()
			}
		}
	}
	return nil
}

func (p *Overview) enter() tea.Cmd {
	if p.cur < len(p.items) {
		return p.items[p.cur].open
	}
	return nil
}

// Hints are the keys of this page worth a reminder.
func (p *Overview) Hints() string {
	if p.selected().IsZero() {
		return ""
	}
	return actHints
}

// selected is the pod under the cursor, the zero pod if the line is about none.
func (p *Overview) selected() trace.Pod {
	if p.cur < len(p.items) {
		return p.items[p.cur].pod
	}
	return trace.Pod{}
}

func (p *Overview) move(i int) {
	p.cur = max(min(i, len(p.items)-1), 0)
	if len(p.items) > 0 {
		p.sel = p.items[p.cur].id
	}
}
