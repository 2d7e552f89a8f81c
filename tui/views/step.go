package views

import (
	"context"
	"slices"
	"strings"
	"time"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"

	"github.com/kubeloupe/kubeloupe/inspect/model"
	"github.com/kubeloupe/kubeloupe/inspect/step"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/tui/keys"
	"github.com/kubeloupe/kubeloupe/tui/query"
)

// Stepper is a pod that is being stepped, as tui.Stepper.
type Stepper interface {
	Stops() <-chan step.Stop
	Do(ctx context.Context, line string) (string, error)
}

// Stepped tells that the stepped pod waits anew, or that no more stops come.
type Stepped struct {
	Stop step.Stop
	OK   bool
}

// StepReply is the answer to a command.
type StepReply struct {
	Line, Text string
	Err        error
	moved      bool // it was to let the waiting action go
}

// Step shows a pod being stepped: its plan, the request that comes next and what
// changed.
type Step struct {
	Look
	stepper Stepper
	keys    stepKeys
	ctx     context.Context // ends commands; set by Listen
	w, h    int
	filter  *query.Filter

	stop    step.Stop
	have    bool   // a stop was told
	busy    bool   // the action was let go and no stop came yet
	over    bool   // no more stops
	done    bool   // nothing waits any more: all containers run
	leaving bool   // cleaning up before the end
	running string // what the pod does while busy
	scroll  int    // of the request
}

type stepKeys struct{ next, cont, brk, print, quit, leave key.Binding }

// NewStep returns the page; without a stepper it says how to step.
func NewStep(look Look, s Stepper) *Step {
	return &Step{Look: look, stepper: s, keys: stepKeys{
		next:  keys.Bind("n", "do this action, stop before the next", "n"),
		cont:  keys.Bind("c", "go on to the next breakpoint or the end", "c"),
		brk:   keys.Bind("b", "set a breakpoint", "b"),
		print: keys.Bind("p", "print the request in full", "p"),
		quit:  keys.Bind("q", "delete the pod, clean up and quit", "q"),
		leave: keys.Bind("^C", "quit without that", "ctrl+c"),
	}}
}

// Name implements Page.
func (*Step) Name() string { return "Step" }

// SetSize implements Page.
func (p *Step) SetSize(w, h int) { p.w, p.h = w, h }

// SetFilter implements Page: the lines of the request are filtered.
func (p *Step) SetFilter(q *query.Filter) { p.filter, p.scroll = q, 0 }

// Refresh implements Page. Where the pod waits comes with Stepped; what it does
// between two stops comes from the stream.
func (p *Step) Refresh(f Frame) {
	if !p.have || !p.busy {
		return
	}
	pod, ok := f.Model.Pod(p.stop.Pod)
	if !ok {
		return
	}
	doing := map[string]bool{}
	p.running = "nothing waits; the pod is " + string(pod.State())
	for _, a := range pod.Actions {
		doing[a.ID] = true
		p.running = "running  " + a.ID
	}
	state := pod.State()
	p.done = len(doing) == 0 && !pod.Start.Started.IsZero() && (state == model.StateReady || state == model.StateNotReady)
	if p.done {
		p.running = "all containers run"
	}
	p.took(f)
	for i := range p.stop.Actions {
		if a := &p.stop.Actions[i]; doing[a.ID] {
			a.State = step.Next
		}
	}
}

// took notes which actions have ended since the stop, and how long each took without
// the person's time.
func (p *Step) took(f Frame) {
	recs, _ := f.Model.StartRecords(p.stop.Pod)
	person := map[trace.SpanID]time.Duration{}
	for i := range recs {
		if w, ok := recs[i].Event.(*trace.Wait); ok && w.For == trace.WaitGate && recs[i].Edge == trace.EdgeEnd {
			person[recs[i].Parent] += recs[i].Dur
		}
	}
	for i := range recs {
		if a, ok := recs[i].Event.(*trace.Action); ok && recs[i].Edge == trace.EdgeEnd {
			p.did(a, max(recs[i].Dur-person[recs[i].Span], 0))
		}
	}
}

// did notes that an action has ended since the stop.
func (p *Step) did(e *trace.Action, took time.Duration) {
	for i := range p.stop.Actions {
		a := &p.stop.Actions[i]
		if a.ID != e.ID {
			continue
		}
		a.State, a.Dur, a.Err = step.Done, took, e.Err
		if e.Err != "" {
			a.State = step.Failed
		}
	}
}

// Keys implements Page.
func (p *Step) Keys() []key.Binding {
	if p.stepper == nil {
		return nil
	}
	return append([]key.Binding{p.keys.next, p.keys.cont, p.keys.brk, p.keys.print, p.keys.quit, p.keys.leave}, p.Look.Keys.Moving()...)
}

// Takes implements KeyTaker: here q cleans up first, and p prints.
func (p *Step) Takes(msg tea.KeyPressMsg) bool {
	return p.stepper != nil && !p.over && key.Matches(msg, p.keys.quit, p.keys.print)
}

// Hints are the keys of this page worth a reminder.
func (p *Step) Hints() string {
	if p.stepper == nil {
		return ""
	}
	return "n next  c continue  b break  p print  q clean up and quit"
}

// Listen waits for the next stop.
func (p *Step) Listen(ctx context.Context) tea.Cmd {
	if p.stepper == nil {
		return nil
	}
	p.ctx = ctx
	stops := p.stepper.Stops()
	return func() tea.Msg {
		select {
		case s, ok := <-stops:
			return Stepped{Stop: s, OK: ok}
		case <-ctx.Done():
			return nil
		}
	}
}

// Take takes a stop and waits for the next one.
func (p *Step) Take(ctx context.Context, msg Stepped) tea.Cmd {
	p.busy, p.done = false, false
	if !msg.OK {
		p.over = true
		return nil
	}
	p.stop, p.have, p.scroll = msg.Stop, true, 0
	p.stop.Actions = slices.Clone(msg.Stop.Actions)
	return p.Listen(ctx)
}

// Reply takes the answer to a command.
func (p *Step) Reply(msg StepReply) tea.Cmd {
	if msg.Err != nil {
		p.busy = p.busy && !msg.moved
		p.leaving = false
		return send(Say{Text: msg.Line + ": " + msg.Err.Error(), Bad: true})
	}
	switch msg.Line {
	case "q":
		return send(Leave{})
	case "p":
		var lines []Text
		for _, l := range p.Theme.CleanLines(strings.TrimPrefix(msg.Text, p.stop.RequestTitle+"\n")) {
			lines = append(lines, Text{Line: l})
		}
		return send(Open{NewPager(p.Look, "request", p.Theme.Clean(p.stop.RequestTitle), lines)})
	}
	if msg.Text == "" {
		return nil
	}
	return send(Say{Text: msg.Text})
}

// Update implements Page.
func (p *Step) Update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case tea.KeyPressMsg:
		return p.key(msg)
	case tea.MouseWheelMsg:
		if msg.Button == tea.MouseWheelUp {
			p.scroll = max(p.scroll-wheel, 0)
		} else if msg.Button == tea.MouseWheelDown {
			p.scroll += wheel
		}
	}
	return nil
}

func (p *Step) key(msg tea.KeyPressMsg) tea.Cmd {
	if p.stepper == nil {
		return nil
	}
	k := p.Look.Keys
	switch {
	case key.Matches(msg, p.keys.next):
		return p.do("n", true)
	case key.Matches(msg, p.keys.cont):
		return p.do("c", true)
	case key.Matches(msg, p.keys.print):
		return p.do("p", false)
	case key.Matches(msg, p.keys.quit):
		return p.do("q", false)
	case key.Matches(msg, p.keys.brk):
		return send(Ask{Label: "stop before (empty lists, -WHAT removes): ", Then: func(s string) tea.Msg {
			return p.command(strings.TrimSpace("b "+s), false)
		}})
	case key.Matches(msg, k.Up):
		p.scroll = max(p.scroll-1, 0)
	case key.Matches(msg, k.Down):
		p.scroll++
	case key.Matches(msg, k.PageUp):
		p.scroll = max(p.scroll-p.h/2, 0)
	case key.Matches(msg, k.PageDown):
		p.scroll += p.h / 2
	case key.Matches(msg, k.Top):
		p.scroll = 0
	case key.Matches(msg, k.Bottom):
		p.scroll = 1 << 20
	}
	return nil
}

// do sends a command; moves says that it lets the waiting action go.
func (p *Step) do(line string, moves bool) tea.Cmd {
	if p.over && line != "q" {
		return send(Say{Text: "stepping is over"})
	}
	moved := moves && !p.busy
	if moved {
		p.busy, p.running = true, "running  "+p.stop.Next
	}
	p.leaving = p.leaving || line == "q"
	return func() tea.Msg { return p.command(line, moved) }
}

func (p *Step) command(line string, moved bool) tea.Msg {
	text, err := p.stepper.Do(p.ctx, line)
	return StepReply{Line: line, Text: text, Err: err, moved: moved}
}
