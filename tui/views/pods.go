package views

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"

	"github.com/kubeloupe/kubeloupe/inspect/model"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/sorting"
	"github.com/kubeloupe/kubeloupe/tui/style"
	"github.com/kubeloupe/kubeloupe/tui/table"
)

// Pods shows the pods: one row each, with the state of its worker.
type Pods struct {
	list[*model.Pod]
	acts
	rows   held[model.Pod]
	now    time.Time
	w, h   int
	detail *Pod // the selected one, beside the list where there is room
}

// NewPods returns the page.
func NewPods(look Look) *Pods {
	p := &Pods{list: list[*model.Pod]{Look: look, pod: func(r *model.Pod) trace.Pod { return r.Key }}, detail: NewPod(look)}
	p.detail.aside, p.acts = true, newActs(look)
	p.tbl = newTable(look, table.Config[*model.Pod]{
		Columns: p.columns(),
		ID:      podID,
		Text:    func(r *model.Pod) string { return r.Key.String() + " " + p.state(r) + " " + p.doing(r) },
		Failed:  func(r *model.Pod) bool { return r.Worker.Errors > 0 || inTrouble(r, p.now) },
		Fields:  ofPod(func(r *model.Pod) trace.Pod { return r.Key }),
		Flags:   map[string]func(*model.Pod) bool{"ready": func(r *model.Pod) bool { return r.State() == model.StateReady }},
		Empty:   "no pods now",
	})
	p.open = func(r *model.Pod) tea.Cmd { return send(OpenPod{r.Key}) }
	return p
}

func podID(r *model.Pod) string { return r.Key.String() + r.Key.UID }

// Name implements Page. The page lists pods; what a pod's worker does is a column of it.
func (*Pods) Name() string { return "Pods" }

// Refresh implements Page.
func (p *Pods) Refresh(f Frame) {
	p.now = f.Now
	rows := f.Model.Pods()
	sorting.Stable(rows, func(a, b *model.Pod) int { return cmp.Compare(urgency(a, f.Now), urgency(b, f.Now)) })
	p.tbl.SetRows(p.rows.set(rows))
	if p.Scene.Panels {
		if pod, ok := p.tbl.Selected(); ok && p.detail.chosen != pod.Key {
			p.detail.Show(pod.Key)
		}
		p.detail.Refresh(f)
	}
}

// Panels implements Paneled: the list and the selected pod.
func (p *Pods) Panels() {}

// SetSize implements Page.
func (p *Pods) SetSize(w, h int) {
	p.w, p.h = w, h
	if !p.Scene.Panels {
		p.list.SetSize(w, h)
		return
	}
	p.list.SetSize(p.listWidth()-style.PanelSides, h-style.PanelSides)
	p.detail.SetSize(w-p.listWidth(), h)
}

func (p *Pods) listWidth() int { return p.w * 48 / 100 }

// Keys implements Page.
func (p *Pods) Keys() []key.Binding { return append(p.list.Keys(), p.acts.keys()...) }

// Hints are the keys of this page worth a reminder.
func (*Pods) Hints() string { return actHints }

// Update implements Page. The pod beside the list follows the cursor.
func (p *Pods) Update(msg tea.Msg) tea.Cmd {
	if cmd, took := p.do(msg, p.ChosenPod()); took {
		return cmd
	}
	if c, ok := msg.(tea.MouseClickMsg); ok && p.Scene.Panels {
		if c.X >= p.listWidth() || c.Y < 1 || c.Y > p.h-style.PanelSides {
			return nil
		}
		c.Y--
		msg = c
	}
	before := p.ChosenPod()
	cmd := p.list.Update(msg)
	if p.Scene.Panels && p.ChosenPod() != before {
		return tea.Batch(cmd, send(Redraw{}))
	}
	return cmd
}

// View implements Page.
func (p *Pods) View() string {
	if !p.Scene.Panels {
		return p.list.View()
	}
	left := p.Theme.Panel(style.Panel{Title: p.Name(), Count: p.Count(), Focus: true}, strings.Split(p.list.View(), "\n"), p.listWidth(), p.h)
	return strings.Join(style.Beside(left, strings.Split(p.detail.View(), "\n")), "\n")
}

// urgency orders pods: trouble first, then what moves, then the rest.
func urgency(r *model.Pod, now time.Time) int {
	switch {
	case inTrouble(r, now):
		return 0
	case r.State() == model.StateReady || r.State() == model.StateStarted || r.State() == model.StateCompleted || r.State() == model.StateFailed:
		return 2
	}
	return 1
}

func (p *Pods) columns() []table.Column[*model.Pod] {
	doing := text("doing", 14, 3, 2, p.doing)
	doing.Compare = nil
	doing = toned(doing, func(r *model.Pod) style.Tone {
		if _, _, tone := now(p.Theme, r); tone != style.Dim && p.reason(r) == "" {
			return tone
		}
		return style.Plain
	})
	since := duration("for", 4, 0, p.since)
	since.Cell = func(r *model.Pod) table.Cell {
		if d := p.since(r); d > 0 {
			return table.Cell{Text: style.Age(d)}
		}
		return table.Cell{Text: style.Unknown, Tone: style.Dim}
	}
	pod := text("pod", 20, 2, 0, func(r *model.Pod) string { return p.Theme.Clean(r.Key.String()) })
	pod.Whole = 36
	return []table.Column[*model.Pod]{
		pod,
		toned(text("state", 11, 0, 0, p.state), stateTone),
		text("worker", 11, 0, 6, func(r *model.Pod) string { return p.Theme.Clean(string(r.Worker.State)) }),
		text("ready", 5, 0, 1, ready),
		oddity("restarts", 8, 3, style.Slow, func(r *model.Pod) int64 { return int64(r.Restarts) }),
		number("syncs", 5, 5, func(r *model.Pod) int64 { return int64(r.Worker.Syncs) }, count),
		oddity("errs", 4, 7, style.Fail, func(r *model.Pod) int64 { return int64(r.Worker.Errors) }),
		duration("last", 4, time.Second, func(r *model.Pod) time.Duration { return r.Worker.Last.Dur }),
		doing,
		since,
	}
}

func toneIf(cond bool, tone style.Tone) style.Tone {
	if cond {
		return tone
	}
	return style.Plain
}

func (p *Pods) state(r *model.Pod) string { return string(r.State()) }

func stateTone(r *model.Pod) style.Tone {
	switch r.State() {
	case model.StateBackingOff, model.StateFailed:
		return style.Fail
	case model.StateNotReady:
		return style.Slow
	case model.StateReady, model.StateStarted, model.StateCompleted, model.StateStarting, model.StateTerminating:
	case model.StateUnknown, model.StateGone:
		return style.Dim
	}
	return style.Plain
}

func ready(r *model.Pod) string {
	if r.StatusAt.IsZero() {
		return style.Unknown
	}
	return fmt.Sprintf("%d/%d", r.Ready, r.Total)
}

// doing says what the pod's worker does, or why the pod is in trouble.
func (p *Pods) doing(r *model.Pod) string {
	text, _, _ := now(p.Theme, r)
	if reason := p.reason(r); reason != "" {
		return p.Theme.Clean(reason)
	}
	if text == style.Unknown && r.Worker.State == trace.WorkerTerminating {
		return p.Theme.Clean(strings.TrimSpace("terminating " + r.Worker.Reason))
	}
	if text == style.Unknown && r.Worker.State != "" {
		return "idle"
	}
	return text
}

// reason is why a pod is in trouble, such as CrashLoopBackOff and its message; "" while something else goes on in it than a wait after a failure.
func (p *Pods) reason(r *model.Pod) string {
	if text, _, _ := now(p.Theme, r); text != style.Unknown && (!r.Backoff.Active() || len(r.Pulls)+len(r.Actions) > 0) {
		return ""
	}
	return trouble(r, p.now)
}

func (p *Pods) since(r *model.Pod) time.Duration {
	_, since, _ := now(p.Theme, r)
	if since.IsZero() {
		return 0
	}
	return max(p.now.Sub(since), 1)
}
