package views

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/kubeloupe/kubeloupe/inspect/model"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/say"
	"github.com/kubeloupe/kubeloupe/trace/sorting"
	"github.com/kubeloupe/kubeloupe/tui/keys"
	"github.com/kubeloupe/kubeloupe/tui/style"
	"github.com/kubeloupe/kubeloupe/tui/table"
)

const (
	// slowStatus is from when on a status that is not in the API counts as late.
	slowStatus = time.Second
	// statusHead is how many lines stand above the table.
	statusHead = 2
)

// Status shows the state of the API: the API server, the Node object, and each pod's status; or figures per kind of request.
type Status struct {
	parts
	pods     list[*model.Status]
	rows     held[model.Status]
	requests methods
	w        int
	now      time.Time
	api      model.API
	node     model.NodeObject
}

// NewStatus returns the page.
func NewStatus(look Look) *Status {
	p := &Status{pods: list[*model.Status]{Look: look, pod: func(s *model.Status) trace.Pod { return s.Pod }}}
	p.parts = newParts(look, keys.Of("statuses, or figures per kind of API request", "m"), &p.pods, &p.requests)
	p.pods.tbl = newTable(look, table.Config[*model.Status]{
		Columns: p.columns(),
		ID:      func(s *model.Status) string { return s.Pod.String() + s.Pod.UID },
		Text: func(s *model.Status) string {
			return s.Pod.String() + " " + string(s.Phase) + " " + string(s.State()) + " " + p.doing(s)
		},
		Failed: func(s *model.Status) bool { return s.State() == model.StatusFailing || s.Errors > 0 },
		Fields: ofPod(func(s *model.Status) trace.Pod { return s.Pod }),
		Flags:  map[string]func(*model.Status) bool{"ready": func(s *model.Status) bool { return s.Total > 0 && s.Ready == s.Total }},
		Empty:  "no pod now",
	})
	p.pods.open = p.details
	p.requests.Look = look
	columns := methodColumns(look.Theme)
	columns[0].Title = "request"
	p.requests.tbl = newTable(look, table.Config[*model.Method]{
		Columns: columns,
		ID:      func(m *model.Method) string { return m.Name },
		Text:    func(m *model.Method) string { return m.Name },
		Failed:  func(m *model.Method) bool { return m.Errors > 0 },
		Empty:   "no request to the API server in the last minute",
	})
	return p
}

// Name implements Page.
func (*Status) Name() string { return "Status" }

// Refresh implements Page.
func (p *Status) Refresh(f Frame) {
	p.now, p.api, p.node = f.Now, f.Model.API(), f.Model.NodeObject()
	p.requests.tbl.SetRows(p.requests.rows.set(f.Model.Requests(f.Now)))
	rows := f.Model.Statuses()
	sorting.Stable(rows, func(a, b *model.Status) int { return cmp.Compare(statusUrgency(a), statusUrgency(b)) })
	p.pods.tbl.SetRows(p.rows.set(rows))
}

func statusUrgency(s *model.Status) int {
	switch s.State() {
	case model.StatusFailing:
		return 0
	case model.StatusWaiting, model.StatusPending:
		return 1
	case model.StatusWriting:
		return 2
	case model.StatusDeleted, model.StatusInAPI, model.StatusNotWritten:
	}
	return 3
}

// SetSize implements Page.
func (p *Status) SetSize(w, h int) {
	p.w = w
	p.parts.SetSize(w, h-statusHead)
}

// Hints are the keys of this page worth a reminder.
func (*Status) Hints() string { return "m requests" }

// Update implements Page.
func (p *Status) Update(msg tea.Msg) tea.Cmd {
	if c, ok := msg.(tea.MouseClickMsg); ok {
		if c.Y < statusHead {
			return nil
		}
		c.Y -= statusHead
		msg = c
	}
	return p.parts.Update(msg)
}

// View implements Page.
func (p *Status) View() string {
	return p.server() + "\n" + p.object() + "\n" + p.parts.View()
}

// server is a line on the API server.
func (p *Status) server() string {
	th, a := p.Theme, p.api
	parts := []span{{text: " API"}}
	switch {
	case a.Failing > 0:
		text := fmt.Sprintf("failing %s× for %s: %s (%s)", style.Count(a.Failing), style.Age(p.now.Sub(a.Since)), a.Err, a.Call)
		parts = append(parts, span{text: th.Clean(text), tone: style.Fail})
	case a.OK.IsZero():
		return th.Paint(style.Dim, th.Cut(" API  this agent has not contacted an API server yet", p.w))
	default:
		parts = append(parts, span{text: "answered " + style.Age(p.now.Sub(a.OK)) + " ago"})
	}
	parts = append(parts, span{text: style.Count(a.Calls) + " requests"}, span{text: style.Count(a.Errors) + " failed", tone: toneIf(a.Errors > 0, style.Slow)})
	if len(a.Waits) > 0 {
		parts = append(parts, span{text: th.Clean(a.Waits[0].Text()), tone: style.Slow})
	}
	return ends(th, parts, fmt.Sprintf("%d watches  %d open ", a.Watches, a.Open), p.w)
}

// object is a line on the node's object.
func (p *Status) object() string {
	th, n := p.Theme, p.node
	if n.Writes == 0 && n.Renewals == 0 {
		return th.Paint(style.Dim, th.Cut(" node not written yet", p.w))
	}
	parts := []span{{text: " node"}}
	if g := n.Good; !g.At.IsZero() {
		ready := span{text: "not ready", tone: style.Slow}
		if g.Ready {
			ready = span{text: "Ready"}
		}
		parts = append(parts, ready, span{text: th.Clean(fmt.Sprintf("%s (%s) %s ago", g.Op, g.Cause, style.Age(p.now.Sub(g.At))))})
	}
	if n.Last.Err != "" {
		parts = append(parts, span{text: "failed: " + th.Clean(n.Last.Err), tone: style.Fail})
	}
	lease := "lease " + style.Unknown
	if !n.Lease.IsZero() {
		lease = "lease " + style.Age(p.now.Sub(n.Lease)) + " ago"
	}
	if n.LeaseErr != "" {
		parts = append(parts, span{text: "lease: " + th.Clean(n.LeaseErr), tone: style.Fail})
	}
	return ends(th, parts, lease+" ", p.w)
}

func (p *Status) columns() []table.Column[*model.Status] {
	th := p.Theme
	return []table.Column[*model.Status]{
		text("pod", 18, 2, 0, func(s *model.Status) string { return th.Clean(s.Pod.String()) }),
		text("phase", 9, 0, 2, func(s *model.Status) string { return th.Clean(string(s.Phase)) }),
		text("ready", 5, 0, 3, func(s *model.Status) string {
			if s.At.IsZero() {
				return ""
			}
			return fmt.Sprintf("%d/%d", s.Ready, s.Total)
		}),
		toned(text("API", 11, 0, 0, func(s *model.Status) string { return string(s.State()) }), statusTone),
		duration("late", 0, slowStatus, p.late),
		number("version", 7, 6, func(s *model.Status) int64 { return int64(s.Good.Version) }, count),
		number("writes", 6, 5, func(s *model.Status) int64 { return int64(s.Writes) }, count),
		oddity("errs", 4, 4, style.Fail, func(s *model.Status) int64 { return int64(s.Errors) }),
		duration("took", 1, slowStatus, func(s *model.Status) time.Duration { return s.Good.Age }),
		toned(text("changed", 14, 3, 0, p.doing), func(s *model.Status) style.Tone { return toneIf(s.State() == model.StatusFailing, style.Fail) }),
	}
}

func statusTone(s *model.Status) style.Tone {
	switch s.State() {
	case model.StatusFailing:
		return style.Fail
	case model.StatusWaiting, model.StatusPending:
		return style.Slow
	case model.StatusNotWritten, model.StatusDeleted:
		return style.Dim
	case model.StatusWriting, model.StatusInAPI:
	}
	return style.Plain
}

// late is for how long a change has been missing in the API.
func (p *Status) late(s *model.Status) time.Duration {
	if s.Pending.IsZero() {
		return 0
	}
	return max(p.now.Sub(s.Pending), 1)
}

// doing says what is in the way of a status, or what its last write changed.
func (p *Status) doing(s *model.Status) string {
	switch {
	case len(s.Waits) > 0:
		return p.Theme.Clean(s.Waits[0].Text())
	case s.State() == model.StatusFailing:
		return p.Theme.Clean(s.Last.Err)
	case s.Open.Known():
		return p.Theme.Clean(say.Changes(s.Open.Changed, s.Open.Clipped))
	}
	return p.Theme.Clean(say.Changes(s.Good.Changed, s.Good.Clipped))
}

// details opens what was written of a pod last.
func (p *Status) details(s *model.Status) tea.Cmd {
	th := p.Theme
	f := facts{th: th}
	f.add("pod", s.Pod.String(), style.Plain)
	f.add("here", strings.TrimSpace(fmt.Sprintf("%s %d/%d ready %s", orUnknown(string(s.Phase)), s.Ready, s.Total, s.Reason)), style.Plain)
	f.add("API", string(s.State()), statusTone(s))
	if d := p.late(s); d > 0 {
		f.add("late", style.Age(d), toneIf(d >= slowStatus, style.Slow))
	}
	f.add("writes", fmt.Sprintf("%s, %s failed, %s sent", style.Count(s.Writes), style.Count(s.Errors), style.Bytes(s.Bytes)), style.Plain)
	f.waits(s.Waits, s.Waited, p.now)
	p.patch(&f, "the last successful write", &s.Good)
	if s.Last.Err != "" {
		p.patch(&f, "the last write (failed)", &s.Last)
	}
	p.patch(&f, "in progress", &s.Open)
	return send(Open{NewPager(p.Look, "status", th.Clean(s.Pod.String()+"  status"), f.lines)})
}

func (p *Status) patch(f *facts, title string, w *model.Patch) {
	if !w.Known() {
		return
	}
	f.head(title)
	f.add("version", style.Count(w.Version), style.Plain)
	f.add("at", style.Clock(w.Begin), style.Plain)
	f.add("took", style.Known(w.Dur), style.Plain)
	f.add("known for", style.Known(w.Age), toneIf(w.Age >= slowStatus, style.Slow))
	f.add("attempt", style.Count(max(w.Attempt, 1)), style.Plain)
	f.add("sent", style.Bytes(int64(w.Bytes)), style.Plain)
	f.add("error", w.Err, style.Fail)
	for _, c := range say.ChangeList(w.Changed, w.Clipped) {
		f.add("changed", c, style.Plain)
	}
	var pretty bytes.Buffer
	if json.Indent(&pretty, []byte(w.Patch), "", "  ") != nil { // it was cut short
		pretty.Reset()
		pretty.WriteString(w.Patch)
	}
	for _, l := range p.Theme.CleanLines(pretty.String()) {
		f.lines = append(f.lines, Text{Line: l, Tone: style.Dim})
	}
}
