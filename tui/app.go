package tui

import (
	"context"
	"errors"
	"io"
	"slices"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/kubeloupe/kubeloupe/inspect/model"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/tui/keys"
	"github.com/kubeloupe/kubeloupe/tui/query"
	"github.com/kubeloupe/kubeloupe/tui/style"
	"github.com/kubeloupe/kubeloupe/tui/views"
)

// app is the whole UI: pages, what they draw from, and what is around them. It
// is used by one goroutine, Bubble Tea's event loop.
type app struct {
	cfg  Config
	ctx  context.Context // ends commands that wait
	look views.Look
	pump *pump

	model   *model.Model
	history *views.History
	backlog backlog
	now     time.Time
	ended   error // why the stream ended

	w, h    int
	tabs    []tab
	active  int
	before  int // the tab to which Esc returns
	stack   []views.Page
	filters map[views.Page]string
	places  []place
	pod     *views.Pod
	cri     *views.CRI
	step    *views.Step

	prompt   *prompt
	say      views.Say
	sayUntil time.Time
}

// newApp returns the UI of a configuration.
func newApp(ctx context.Context, cfg Config, theme *style.Theme, p *pump) *app {
	look := views.Look{Theme: theme, Keys: keys.New("1", "2", "3", "4", "5", "6", "7", "9", "v", "t", "p")}
	a := &app{
		cfg: cfg, ctx: ctx, look: look, pump: p,
		model: model.New(model.Options{}), history: views.NewHistory(), filters: map[views.Page]string{},
		pod: views.NewPod(look), cri: views.NewCRI(look), step: views.NewStep(look, cfg.Stepper),
		now: cfg.Now(),
	}
	a.tabs = []tab{
		{digit: "1", page: views.NewOverview(look)},
		{digit: "2", page: views.NewLoop(look)},
		{digit: "3", page: views.NewWorkers(look)},
		{digit: "4", page: a.cri},
		{digit: "5", page: views.NewGC(look)},
		{digit: "6", page: a.pod},
		{digit: "7", page: a.step, quiet: cfg.Stepper == nil},
		{digit: "9", page: views.NewLog(look)},
		{digit: "v", page: views.NewVolumes(look)},
		{digit: "t", page: views.NewStatus(look)},
		{digit: "p", page: views.NewProbes(look)},
	}
	if cfg.Stepper != nil {
		a.active = slices.IndexFunc(a.tabs, func(t tab) bool { return t.page == views.Page(a.step) })
	}
	for i, t := range a.tabs {
		if cfg.View > 0 && t.digit == string(rune('0'+cfg.View%10)) {
			a.active = i
		}
	}
	a.before = a.active
	return a
}

func (a *app) init() tea.Cmd {
	return tea.Batch(a.pump.next(a.ctx, 0), a.tick(), a.step.Listen(a.ctx))
}

// update takes one message.
func (a *app) update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		a.resize(msg.Width, msg.Height)
	case recsMsg:
		return a.absorb(msg)
	case tickMsg:
		a.setNow()
		a.refresh()
		return a.tick()
	case tea.KeyPressMsg:
		return a.key(msg)
	case tea.PasteMsg:
		if a.prompt != nil {
			a.prompt.insert(msg.Content)
		}
	case tea.MouseClickMsg:
		return a.click(msg)
	case tea.MouseWheelMsg:
		msg.Y -= bodyTop
		return a.top().Update(msg)
	default:
		return a.request(msg)
	}
	return nil
}

// request takes what pages and commands ask for.
func (a *app) request(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case views.Open:
		a.push(msg.Page)
	case views.OpenPod:
		a.pod.Show(msg.Pod)
		a.jump(a.pod)
	case views.OpenCalls:
		a.cri.ShowCalls()
		a.jump(a.cri)
		_ = a.setFilter("method=" + query.Word(msg.Method)) // a word is valid
	case views.Say:
		a.tell(msg)
	case views.Ask:
		a.prompt = &prompt{label: msg.Label, then: msg.Then}
	case views.Redraw:
		a.refresh()
	case views.Leave:
		return tea.Quit
	case views.Stepped:
		cmd := a.step.Take(a.ctx, msg)
		a.refresh()
		return cmd
	case views.StepReply:
		return a.step.Reply(msg)
	}
	return nil
}

// absorb takes in what came, or puts it aside while the screen is frozen.
func (a *app) absorb(msg recsMsg) tea.Cmd {
	switch {
	case msg.err == nil:
	case errors.Is(msg.err, io.EOF), errors.Is(msg.err, trace.ErrClosed):
		a.tell(views.Say{Text: "the stream of events has ended; this is how it was at the end"})
	default:
		a.tell(views.Say{Text: "the stream of events broke: " + msg.err.Error(), Bad: true})
	}
	a.ended = msg.err
	if a.backlog.frozen {
		a.backlog.add(msg.chunks)
	} else {
		a.apply(msg.chunks)
		a.setNow()
		a.refresh()
	}
	if a.ended != nil {
		return nil
	}
	return a.pump.next(a.ctx, frame)
}

func (a *app) apply(chunks []chunk) {
	for _, c := range chunks {
		a.model.Lost(c.lost)
		for i := range c.recs {
			a.model.Apply(&c.recs[i])
			a.history.Add(&c.recs[i])
		}
	}
}

// setNow moves the time that pages see: not while frozen, and not past the end
// of a stream that has ended.
func (a *app) setNow() {
	switch {
	case a.backlog.frozen:
	case a.ended != nil && !a.model.Node().Last.IsZero():
		a.now = a.model.Node().Last
	default:
		a.now = a.cfg.Now()
	}
}

// top is the page that is shown.
func (a *app) top() views.Page {
	if n := len(a.stack); n > 0 {
		return a.stack[n-1]
	}
	return a.tabs[a.active].page
}

func (a *app) refresh() {
	a.top().Refresh(views.Frame{Model: a.model, History: a.history, Now: a.now})
}

type tickMsg struct{}

// tick makes ages grow: slowly when nothing is under way.
func (a *app) tick() tea.Cmd {
	every := time.Second
	if a.model.Counts().Starting > 0 || len(a.model.InFlight()) > 0 {
		every = time.Second / 4
	}
	return tea.Tick(every, func(time.Time) tea.Msg { return tickMsg{} })
}

func (a *app) tell(s views.Say) {
	a.say, a.sayUntil = s, a.cfg.Now().Add(sayFor)
}

// sayFor is how long a message stays at the bottom of the screen.
const sayFor = 6 * time.Second
