package views

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/kubeloupe/kubeloupe/inspect/model"
	"github.com/kubeloupe/kubeloupe/inspect/query"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/fit"
	"github.com/kubeloupe/kubeloupe/tui/keys"
	"github.com/kubeloupe/kubeloupe/tui/style"
)

// LogTail is the end of a container's log.
type LogTail struct {
	Container string `json:"container"`
	Attempt   uint32 `json:"attempt"` // the restart count
	Running   bool   `json:"running"`
	// Lines are the last ones, the newest last: whatever the container wrote.
	Lines []string `json:"lines"`
}

// LogReader reads the end of the log of a pod's container, or of the container before its last restart. It may block until ctx ends.
type LogReader func(ctx context.Context, pod trace.Pod, container string, previous bool) (LogTail, error)

// Starter is a page that has something to do as soon as it is shown.
type Starter interface{ Start(context.Context) tea.Cmd }

// LogsRead is what a Logs has read.
type LogsRead struct {
	Page      *Logs
	container string
	previous  bool
	tail      LogTail
	err       error
}

// Logs is the end of a container's log, which is read again once a second while the page is shown.
type Logs struct {
	*Pager
	pod        trace.Pod
	containers []string
	at         int  // the container that is shown
	chosen     bool // by the user
	previous   bool // the container before the last restart
	follow     bool // the newest line stays in view
	state      string
	next, prev key.Binding
	restarted  key.Binding
}

// NewLogs returns the page. The containers become known with the first Refresh.
func NewLogs(look Look, pod trace.Pod) *Logs {
	return &Logs{
		Pager: NewPager(look, "Logs", "", nil).Of("logs"), pod: pod, follow: true, state: "reading",
		next: keys.Of("next container", "]"), prev: keys.Of("previous container", "["),
		restarted: keys.Of("log before the last restart, or the current one", "p"),
	}
}

// Refresh implements Page: it only finds the containers.
func (p *Logs) Refresh(f Frame) {
	pod, _ := f.Model.Pod(p.pod)
	shown := p.container()
	p.containers = p.containers[:0]
	for _, init := range []bool{false, true} {
		for i := range pod.Containers {
			if pod.Containers[i].Init == init {
				p.containers = append(p.containers, pod.Containers[i].Name)
			}
		}
	}
	if !p.chosen {
		shown = firstLogged(&pod)
	}
	p.at = max(slices.Index(p.containers, shown), 0)
}

// firstLogged is the container whose log is shown first: an app container that has been created, else an init container that runs or
// was the last to be created.
func firstLogged(pod *model.Pod) (name string) {
	for _, init := range []bool{false, true} {
		for i := range pod.Containers {
			if c := &pod.Containers[i]; c.Init == init && c.ID != "" && (init || name == "") {
				name = c.Name
			}
		}
		if name != "" {
			break
		}
	}
	return name
}

func (p *Logs) container() string {
	if p.at >= len(p.containers) {
		return ""
	}
	return p.containers[p.at]
}

// Start implements Starter.
func (p *Logs) Start(ctx context.Context) tea.Cmd { return p.read(ctx) }

func (p *Logs) read(ctx context.Context) tea.Cmd {
	read, name, previous := p.Scene.Logs, p.container(), p.previous
	switch {
	case read == nil:
		p.tell(fmt.Sprintf("A recording, a log file or another kubelet does not give kubeloupe what containers write; use kubectl logs -n %s %s.", p.pod.Namespace, p.pod.Name), style.Plain)
		return nil
	case name == "":
		p.tell("no container of this pod is known yet", style.Dim)
		return p.later(ctx)
	}
	return func() tea.Msg {
		tail, err := read(ctx, p.pod, name, previous)
		return LogsRead{Page: p, container: name, previous: previous, tail: tail, err: err}
	}
}

// later reads again in a second.
func (p *Logs) later(ctx context.Context) tea.Cmd {
	return func() tea.Msg {
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			return nil
		}
		return LogsRead{Page: p}
	}
}

// Take takes what was read, or reads again. The caller does so as long as the page is shown.
func (p *Logs) Take(ctx context.Context, msg LogsRead) tea.Cmd {
	switch {
	case msg.container == "":
		return p.read(ctx)
	case msg.container != p.container(), msg.previous != p.previous: // another one was chosen meanwhile
		return p.read(ctx)
	case msg.err != nil:
		p.tell(msg.err.Error(), style.Fail)
		return p.later(ctx)
	}
	p.state = "exited"
	if msg.tail.Running {
		p.state = "running"
	}
	if n := msg.tail.Attempt; n > 0 {
		p.state += fmt.Sprintf(", restart %d", n)
	}
	p.lines = p.lines[:0]
	for _, l := range msg.tail.Lines {
		for _, l := range p.Theme.CleanLines(ansi.Strip(l)) {
			p.lines = append(p.lines, Text{Line: l})
		}
	}
	p.show()
	return p.later(ctx)
}

// tell shows a sentence in place of a log.
func (p *Logs) tell(text string, tone style.Tone) {
	p.state = ""
	p.lines = p.lines[:0]
	for _, l := range fit.Wrap(p.Theme.Clean(text), max(p.w-2, 20)) {
		p.lines = append(p.lines, Text{Line: l, Tone: tone})
	}
	p.show()
}

// show lays the lines out, long ones on several; the newest stays in view while it is followed.
func (p *Logs) show() {
	p.shown = p.shown[:0]
	for _, l := range p.lines {
		if !p.filter.MatchString(l.Line) {
			continue
		}
		room := max(p.w-1, 1)
		for rest := l.Line; ; {
			part := fit.Cut(rest, room, "")
			if part == "" {
				part = rest // a character that is wider than the page
			}
			p.shown = append(p.shown, Text{Line: part, Tone: l.Tone})
			if rest = rest[len(part):]; rest == "" {
				break
			}
		}
	}
	if p.follow {
		p.top = len(p.shown)
	}
	p.clamp()
}

// SetSize implements Page.
func (p *Logs) SetSize(w, h int) {
	p.Pager.SetSize(w, h)
	p.show()
}

// SetFilter implements Page: it hides lines.
func (p *Logs) SetFilter(q *query.Filter) {
	p.filter = q
	p.show()
}

// Keys implements Page.
func (p *Logs) Keys() []key.Binding {
	return append(p.Pager.Keys(), p.Look.Keys.Follow, p.next, p.prev, p.restarted)
}

// Takes implements KeyTaker: here p is the previous log, as in kubectl logs -p.
func (p *Logs) Takes(msg tea.KeyPressMsg) bool { return key.Matches(msg, p.restarted) }

// Following implements Follower.
func (p *Logs) Following() bool { return p.follow }

// Update implements Page.
func (p *Logs) Update(msg tea.Msg) tea.Cmd {
	k, typed := msg.(tea.KeyPressMsg)
	switch {
	case typed && key.Matches(k, p.Look.Keys.Follow):
		p.follow = !p.follow
		p.show()
	case typed && key.Matches(k, p.next):
		return p.choose(1)
	case typed && key.Matches(k, p.prev):
		return p.choose(-1)
	case typed && key.Matches(k, p.restarted):
		p.previous, p.follow = !p.previous, true
		p.reading()
	default:
		cmd := p.Pager.Update(msg)
		p.follow = p.top >= len(p.shown)-p.rows()
		return cmd
	}
	return nil
}

// choose shows another container.
func (p *Logs) choose(by int) tea.Cmd {
	if len(p.containers) < 2 {
		return send(Say{Text: "the pod has no other container"})
	}
	p.at, p.chosen, p.follow = (p.at+by+len(p.containers))%len(p.containers), true, true
	p.reading()
	return nil
}

func (p *Logs) reading() {
	which := "the log of "
	if p.previous {
		which = "the previous log of "
	}
	p.tell("reading "+which+p.container(), style.Dim)
}

// Title implements Titled.
func (p *Logs) Title() (title, count string) {
	th := p.Theme
	title = "logs " + th.Clean(p.pod.String())
	if name := p.container(); name != "" {
		title += " › " + th.Clean(name)
	}
	if n := len(p.containers); n > 1 {
		title += fmt.Sprintf(" (%d of %d: [ ])", p.at+1, n)
	}
	if p.previous {
		title += " › previous (p)"
	}
	_, count = p.Pager.Title()
	return title, strings.TrimSpace(p.state + "  " + count)
}

// Copy implements Copier: the text that is shown.
func (p *Logs) Copy() (text, what string) {
	p.title, _ = p.Title()
	return p.Pager.Copy()
}
