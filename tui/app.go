package tui

import (
	"context"
	"slices"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/kubeloupe/kubeloupe/inspect/model"
	"github.com/kubeloupe/kubeloupe/inspect/query"
	"github.com/kubeloupe/kubeloupe/tui/style"
	"github.com/kubeloupe/kubeloupe/tui/views"
)

// app is the whole UI: pages, what they draw from, and what is around them. It
// is used by one goroutine, Bubble Tea's event loop.
//
// Many fields: a screen has as many parts, and Bubble Tea has one model for it.
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
	budget  budget
	drawn   string // the last frame
	held    bool   // it stays on screen until there is something left to spend
	mouse   bool   // it is ours, not the terminal's

	w, h    int
	tabs    []tab
	active  int
	before  int // the tab to which Esc returns
	stack   []views.Page
	filters map[views.Page]string
	places  []place
	more    place // of the tabs that have none
	via     int   // the tab from which another page opened this one, -1 none
	pod     *views.Pod
	cri     *views.CRI
	step    *views.Step
	chosen  chosen

	float    float
	say      views.Say
	sayUntil time.Time
}

// newApp returns the UI of a configuration.
func newApp(ctx context.Context, cfg Config, theme *style.Theme, p *pump) *app {
	theme.Fit(theme.Profile(), cfg.Theme != style.Light)
	a := &app{
		cfg: cfg, ctx: ctx, look: newLook(theme), pump: p, mouse: !cfg.NoMouse,
		filters: map[views.Page]string{}, now: cfg.Now(), via: -1,
	}
	a.look.Scene.Logs = cfg.Logs
	a.restart()
	a.fill()
	a.active = a.first()
	a.before = a.active
	a.look.Scene.Note = a.note()
	return a
}

func (a *app) init() tea.Cmd {
	return tea.Batch(a.pump.next(a.ctx, 0), a.tick(), a.step.Listen(a.ctx), a.askBackground())
}

// update takes one message. What the user does is drawn at once.
func (a *app) update(msg tea.Msg) tea.Cmd {
	a.held = false
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		a.resize(msg.Width, msg.Height)
	case recsMsg:
		return a.absorb(msg)
	case tickMsg:
		a.move()
		return tea.Batch(a.tick(), a.askSize())
	case tea.KeyPressMsg:
		return a.key(msg)
	case tea.PasteMsg:
		if a.float != nil {
			a.float.paste(msg.Content)
		}
	case tea.MouseClickMsg:
		return a.click(msg)
	case tea.MouseWheelMsg:
		if a.float != nil {
			return nil
		}
		msg.Y -= bodyTop + a.above(a.top())
		return a.top().Update(msg)
	case tea.ColorProfileMsg, tea.BackgroundColorMsg:
		a.recolor(msg)
	default:
		return a.request(msg)
	}
	return nil
}

// request takes what pages and commands ask for.
func (a *app) request(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case views.Open:
		return a.begin(msg.Page)
	case views.LogsRead:
		if !slices.Contains(a.stack, views.Page(msg.Page)) { // it was closed
			return nil
		}
		cmd := msg.Page.Take(a.ctx, msg)
		a.refresh()
		return cmd
	case views.OpenPod:
		a.openPod(msg.Pod)
	case views.Other:
		a.pickStart(msg.Pod)
	case views.OpenCalls:
		a.cri.ShowCalls()
		a.jump(a.cri)
		_ = a.setFilter("method=" + query.Word(msg.Method)) // a word is valid
	case views.Say:
		a.tell(msg)
	case views.Redraw:
		a.refresh()
	case views.Leave:
		return tea.Quit
	case views.Stepped:
		cmd := a.step.Take(a.ctx, msg)
		a.refresh()
		return cmd
	case views.StepLine:
		return a.step.Typed(msg)
	case views.StepReply:
		return a.step.Reply(msg)
	}
	return nil
}

// begin shows a page on top, and lets it start.
func (a *app) begin(page views.Page) tea.Cmd {
	a.push(page)
	if s, ok := page.(views.Starter); ok {
		return s.Start(a.ctx)
	}
	return nil
}

// absorb takes in what came, or puts it aside while the screen is frozen.
func (a *app) absorb(msg recsMsg) tea.Cmd {
	if msg.rewound {
		a.restart()
	}
	a.ended = msg.err
	if a.endedWell() {
		a.tell(views.Say{Text: "the event stream has ended; this is the last state"})
	}
	if a.backlog.frozen {
		a.backlog.add(msg.chunks)
	} else {
		a.apply(msg.chunks)
		a.move()
	}
	a.pump.recycle(msg.chunks)
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
		}
	}
}

// restart forgets all that was told: it is told again, or differently.
func (a *app) restart() {
	a.model, a.backlog = model.New(model.Options{Recent: views.Recent}), backlog{}
	a.history = views.NewHistory(a.model.Kept())
}

// move shows how things are now, unless too much was written lately: then what is
// on screen stays for a while.
func (a *app) move() {
	a.setNow()
	if a.held = a.drawn != "" && !a.budget.allows(time.Now()); !a.held {
		a.refresh()
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
	s, n := a.look.Scene, a.model.Node()
	s.Now, s.Zero, s.Note = a.now, n.Since, a.note()
	if s.Zero.IsZero() {
		s.Zero = n.First
	}
	a.under().Refresh(views.Frame{Model: a.model, History: a.history, Now: a.now})
}

type tickMsg struct{}

// tick makes ages grow: slowly when nothing is under way.
func (a *app) tick() tea.Cmd {
	every := time.Second
	if a.cfg.Player != nil && a.cfg.Player.State().Playing || a.model.Counts().Starting > 0 || len(a.model.InFlight()) > 0 {
		every = time.Second / 4
	}
	return tea.Tick(every, func(time.Time) tea.Msg { return tickMsg{} })
}

// askSize asks for the terminal's size as long as it has none: kubectl exec begins without one, and the signal that tells the first can come
// before the UI listens for it.
func (a *app) askSize() tea.Cmd {
	if a.w > 0 && a.h > 0 {
		return nil
	}
	return tea.RequestWindowSize
}

func (a *app) tell(s views.Say) {
	a.say, a.sayUntil = s, a.cfg.Now().Add(sayFor)
}

// sayBriefly is tell for what need not stay.
func (a *app) sayBriefly(text string) {
	a.say, a.sayUntil = views.Say{Text: text}, a.cfg.Now().Add(sayFor/3)
}

// sayFor is how long a message stays at the bottom of the screen.
const sayFor = 6 * time.Second
