package views

import (
	"context"
	"slices"
	"strings"
	"time"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"

	"github.com/kubeloupe/kubeloupe/inspect/model"
	"github.com/kubeloupe/kubeloupe/inspect/query"
	"github.com/kubeloupe/kubeloupe/inspect/step"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/tui/keys"
)

// Stepper is a step session, the same as tui.Stepper.
type Stepper interface {
	Stops() <-chan step.Stop
	Do(ctx context.Context, line string) (string, error)
}

// Stepped reports that the pod of the session is paused again, or that there are no more stops.
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
//
// Many fields: one for each state of a stepped pod that the page tells.
type Step struct {
	Look
	stepper Stepper
	keys    stepKeys
	ctx     context.Context // ends commands; set by Listen
	w, h    int
	filter  *query.Filter
	asks    *Ask

	stop    step.Stop
	have    bool       // a stop was told
	busy    bool       // the action was let go and no stop came yet
	over    bool       // no more stops
	done    bool       // nothing waits any more: all containers run
	leaving bool       // cleaning up before the end
	running string     // what the pod does while busy
	ahead   step.Ahead // commands that were typed meanwhile
	asked   bool       // one of them is carried out now
	scroll  int        // of the request
	now     time.Time
	taken   time.Time // when the stop was told
	planned time.Time // when the plan was made that is shown; zero: it is the stop's
}

type stepKeys struct {
	next, into, cont, again, brk, print, inspect, fail, delay, shell, quit, left, leave key.Binding
}

// NewStep returns the page; without a stepper it says how to step.
func NewStep(look Look, s Stepper) *Step {
	return &Step{Look: look, stepper: s, keys: stepKeys{
		next:    keys.Bind("n", "run this action, stop before the next", "n"),
		into:    keys.Bind("s", "step into: also stop before the next CRI call", "s"),
		cont:    keys.Bind("c", "continue to the next breakpoint or to the end", "c"),
		again:   keys.Bind("r", "retry the failed action", "r"),
		brk:     keys.Bind("b", "set a breakpoint", "b"),
		print:   keys.Bind("p", "print the request in full", "p"),
		inspect: keys.Bind("i", "inspect: what exists on the node for this pod now", "i"),
		fail:    keys.Bind("f", "fail here, with a gRPC code", "f"),
		delay:   keys.Bind("d", "delay here", "d"),
		shell:   keys.Bind("!", "a shell on the node, with variables of the pod", "!"),
		quit:    keys.Bind("q", "delete the pod, clean up and quit", "q"),
		left:    keys.Bind("q", "quit; the pod continues", "q"),
		leave:   keys.Bind("^C", "quit without deleting the pod", "ctrl+c"),
	}}
}

// Name implements Page.
func (*Step) Name() string { return "Step" }

// SetSize implements Page.
func (p *Step) SetSize(w, h int) { p.w, p.h = w, h }

// SetFilter implements Page: the lines of the request are filtered.
func (p *Step) SetFilter(q *query.Filter) { p.filter, p.scroll = q, 0 }

// Refresh implements Page. Stepped delivers the stops; the stream delivers the events between two stops.
func (p *Step) Refresh(f Frame) {
	p.now = f.Now
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
	p.done = len(doing) == 0 && !pod.Start.Started.IsZero() && (state == model.StateReady || state == model.StateStarted || state == model.StateNotReady)
	if p.done {
		p.running = "all containers run"
	}
	p.replan(&pod)
	p.took(f)
	for i := range p.stop.Actions {
		if a := &p.stop.Actions[i]; doing[a.ID] {
			a.State = step.Next
		}
	}
}

// replan shows the plan that was made since the stop, in place of the stop's.
func (p *Step) replan(pod *model.Pod) {
	if pod.Plan == nil || !pod.PlanAt.After(p.taken) || pod.PlanAt.Equal(p.planned) || p.shows(pod.Plan) {
		return
	}
	p.planned = pod.PlanAt
	p.stop.Actions = p.stop.Actions[:0]
	for _, s := range pod.Plan.Steps {
		p.stop.Actions = append(p.stop.Actions, step.Action{ID: s.ID, Verb: s.Verb, State: step.Todo})
	}
	p.stop.Total = len(p.stop.Actions)
}

// shows reports whether the plan on the screen is this one: it has all of its steps, and no other that is still to be done.
func (p *Step) shows(plan *trace.Plan) bool {
	for _, s := range plan.Steps {
		if !slices.ContainsFunc(p.stop.Actions, func(a step.Action) bool { return a.ID == s.ID }) {
			return false
		}
	}
	for _, a := range p.stop.Actions {
		if a.State == step.Todo && !slices.ContainsFunc(plan.Steps, func(s trace.PlanStep) bool { return s.ID == a.ID }) {
			return false
		}
	}
	return true
}

// took notes which actions have ended since the stop, and how long each took without
// the person's time. Those of an earlier plan do not count.
func (p *Step) took(f Frame) {
	recs, _ := f.Model.StartRecords(p.stop.Pod)
	person := map[trace.SpanID]time.Duration{}
	for i := range recs {
		if w, ok := recs[i].Event.(*trace.Wait); ok && w.For == trace.WaitGate && recs[i].Edge == trace.EdgeEnd {
			person[recs[i].Parent] += recs[i].Dur
		}
	}
	for i := range recs {
		if a, ok := recs[i].Event.(*trace.Action); ok && recs[i].Edge == trace.EdgeEnd && !recs[i].At().Before(p.planned) {
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
	return append(p.own(), p.Look.Keys.Moving()...)
}

// own are the keys that mean something here only.
func (p *Step) own() []key.Binding {
	k := p.keys
	quit := k.quit
	if p.stop.Attached {
		quit = k.left
	}
	return []key.Binding{k.next, k.into, k.cont, k.again, k.brk, k.print, k.inspect, k.fail, k.delay, k.shell, quit, k.leave}
}

// Takes implements KeyTaker: here q cleans up first, and p prints.
func (p *Step) Takes(msg tea.KeyPressMsg) bool {
	return p.stepper != nil && !p.over && !key.Matches(msg, p.keys.leave) && key.Matches(msg, p.own()...)
}

// Hints are the keys of this page worth a reminder.
func (p *Step) Hints() string {
	if p.stepper == nil {
		return ""
	}
	quit := "q clean up and quit"
	if p.stop.Attached {
		quit = "q leave"
	}
	short := strings.TrimSuffix(quit, " and quit")
	switch {
	case p.w >= 140:
		return "n next  s step  c continue  b break  p print  i inspect  f fail-here  d delay-here  ! shell  : more  " + quit
	case p.w >= 110:
		return "n next  s step  c continue  b break  p print  f fail  d delay  : more  " + short
	}
	return "n next  c continue  b break  p print  : more  " + short
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
	p.taken, p.planned = p.now, time.Time{}
	if !p.stop.Waits() {
		p.busy, p.running = p.stop.Total > 0 || p.stop.News() != "", p.stop.News()
	}
	if msg.Stop.Err != "" {
		if dropped := p.ahead.Drop(); dropped != "" {
			return tea.Batch(p.Listen(ctx), send(Say{Text: dropped, Bad: true}))
		}
	}
	return tea.Batch(p.Listen(ctx), p.typeAhead())
}

// runs reports whether an action runs, as far as is known.
func (p *Step) runs() bool { return p.busy && !p.done && (p.stop.Waits() || p.stop.Runs()) }

// typeAhead carries out the first command that was typed while the action ran. Its reply carries out the next one.
func (p *Step) typeAhead() tea.Cmd {
	if p.asked || p.runs() {
		return nil
	}
	line, ok := p.ahead.Next()
	if !ok {
		return nil
	}
	p.asked = true
	return p.carry(line)
}

// Reply takes the answer to a command.
func (p *Step) Reply(msg StepReply) tea.Cmd {
	p.asked = false
	if msg.Err != nil {
		p.busy = p.busy && !msg.moved
		p.leaving = false
		text := msg.Line + ": " + msg.Err.Error()
		if dropped := p.ahead.Drop(); dropped != "" { // what follows may rest on it
			text += "; " + dropped
		}
		return send(Say{Text: text, Bad: true})
	}
	return tea.Batch(p.tell(msg), p.typeAhead())
}

// tell shows the answer to a command.
func (p *Step) tell(msg StepReply) tea.Cmd {
	switch name, _ := step.Split(msg.Line); {
	case name == "quit":
		return send(Leave{})
	case msg.Line == "p":
		return send(Open{p.pager("request", p.stop.RequestTitle, strings.TrimPrefix(msg.Text, p.stop.RequestTitle+"\n"))})
	case msg.Text == "":
		return nil
	case strings.Contains(msg.Text, "\n") || name == "inspect" || name == "print":
		return send(Open{p.pager(name, msg.Line, msg.Text)})
	}
	return send(Say{Text: msg.Text})
}

func (p *Step) pager(name, title, text string) Page {
	var lines []Text
	for _, l := range p.Theme.CleanLines(text) {
		lines = append(lines, Text{Line: l})
	}
	return NewPager(p.Look, name, p.Theme.Clean(title), lines)
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
	k, own := p.Look.Keys, p.keys
	switch {
	case key.Matches(msg, own.next):
		return p.do("n")
	case key.Matches(msg, own.into):
		return p.do("s")
	case key.Matches(msg, own.cont):
		return p.do("c")
	case key.Matches(msg, own.again):
		return p.do("retry")
	case key.Matches(msg, own.print):
		return p.do("p")
	case key.Matches(msg, own.inspect):
		return p.do("i")
	case key.Matches(msg, own.quit):
		return p.do("q")
	case key.Matches(msg, own.brk):
		return p.ask("stop before (empty lists, -WHAT removes): ", "b ")
	case key.Matches(msg, own.fail):
		return p.ask("fail with code, as Unavailable: ", "fail ")
	case key.Matches(msg, own.delay):
		return p.ask("delay, as 2s: ", "delay ")
	case key.Matches(msg, own.shell):
		return p.do("!")
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

// ask asks for the rest of a command.
func (p *Step) ask(label, command string) tea.Cmd {
	p.asks = &Ask{Label: label, Then: func(text string) tea.Msg {
		line := strings.TrimSpace(command + text)
		if line == "" {
			return nil
		}
		return StepLine{line}
	}}
	return nil
}

// Asks implements Asker.
func (p *Step) Asks() *Ask {
	ask := p.asks
	p.asks = nil
	return ask
}

// StepLine is a command line that was typed.
type StepLine struct{ Line string }

// Typed takes a command line as the line mode does.
func (p *Step) Typed(msg StepLine) tea.Cmd {
	return p.do(msg.Line)
}

// shell gives the terminal to a shell on the node, or to one command.
func (p *Step) shell(line string) tea.Cmd {
	if line != "" {
		line = "{ " + line + "\n}; printf '\\n[Enter: back] '; read -r _"
	}
	cmd, err := step.Shell(p.ctx, &p.stop, line)
	if err != nil {
		return send(StepReply{Line: "shell", Err: err})
	}
	return tea.ExecProcess(cmd, func(err error) tea.Msg { return StepReply{Line: "shell", Err: err} })
}

// do takes a command; it is kept if it has to wait for the action that runs.
func (p *Step) do(line string) tea.Cmd {
	name, _ := step.Split(line)
	switch {
	case name == "quit":
		if dropped := p.ahead.Drop(); dropped != "" {
			return tea.Batch(send(Say{Text: dropped}), p.carry(line))
		}
		return p.carry(line)
	case p.over:
		return send(Say{Text: "stepping has ended"})
	case p.leaving && step.Moves(line):
		return nil
	}
	switch waits, err := p.ahead.Keep(line, p.runs()); {
	case err != nil:
		return send(Say{Text: err.Error(), Bad: true})
	case waits:
		return p.typeAhead()
	}
	return p.carry(line)
}

// carry carries out a command.
func (p *Step) carry(line string) tea.Cmd {
	name, rest := step.Split(line)
	if name == "shell" {
		return p.shell(rest)
	}
	moved := step.Moves(line) && !p.busy && p.stop.Waits()
	if moved {
		p.busy, p.running = true, "running  "+p.stop.Next
	}
	p.leaving = p.leaving || name == "quit"
	return func() tea.Msg { return p.command(line, moved) }
}

func (p *Step) command(line string, moved bool) tea.Msg {
	text, err := p.stepper.Do(p.ctx, line)
	return StepReply{Line: line, Text: text, Err: err, moved: moved}
}
