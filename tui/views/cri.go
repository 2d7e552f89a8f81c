package views

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/kubeloupe/kubeloupe/inspect/model"
	"github.com/kubeloupe/kubeloupe/inspect/waterfall"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/human"
	"github.com/kubeloupe/kubeloupe/tui/keys"
	"github.com/kubeloupe/kubeloupe/tui/style"
	"github.com/kubeloupe/kubeloupe/tui/table"
)

// slowCall is from when on a call to the runtime counts as slow.
const slowCall = time.Second

// CRI shows the calls to the runtime, the newest first, or figures per method.
type CRI struct {
	parts
	calls   list[*model.Call]
	methods methods
	now     time.Time
	rows    held[model.Call]
	times   trend
	about   string // the method that the trend is of, "" all
}

// perMethod is the part of a page that shows figures per method.
const perMethod = 1

// methods is the table per method of the last minute.
type methods struct {
	list[*model.Method]
	rows held[model.Method]
}

// NewCRI returns the page.
func NewCRI(look Look) *CRI {
	p := &CRI{calls: list[*model.Call]{Look: look, stream: true}}
	p.parts = newParts(look, keys.Of("calls, or figures per method", "m"), &p.calls, &p.methods)
	p.calls.tbl = newTable(look, table.Config[*model.Call]{
		Columns: p.columns(),
		ID:      func(c *model.Call) string { return strconv.FormatUint(c.Seq, 10) },
		Text: func(c *model.Call) string {
			return c.Method + " " + c.Pod.String() + " " + p.target(c) + " " + p.result(c)
		},
		Failed: func(c *model.Call) bool { return c.Failed() },
		Fields: ofPod(func(c *model.Call) trace.Pod { return c.Pod }),
		Empty:  "no call to the runtime seen yet",
	})
	p.calls.open = p.bodies
	p.methods.Look = look
	p.methods.tbl = newTable(look, table.Config[*model.Method]{
		Columns: methodColumns(look.Theme),
		ID:      func(m *model.Method) string { return m.Name },
		Text:    func(m *model.Method) string { return m.Name },
		Failed:  func(m *model.Method) bool { return m.Errors > 0 },
		Empty:   "no call to the runtime in the last minute",
	})
	p.calls.trend, p.methods.trend = p.latency, p.latency
	p.methods.open = func(m *model.Method) tea.Cmd { return send(OpenCalls{m.Name}) }
	return p
}

// Name implements Page.
func (*CRI) Name() string { return "CRI" }

// ShowCalls goes back from the figures per method to the calls.
func (p *CRI) ShowCalls() { p.show(0) }

// Refresh implements Page.
func (p *CRI) Refresh(f Frame) {
	p.now, p.about = f.Now, ""
	if p.at == perMethod {
		p.methods.tbl.SetRows(p.methods.rows.set(f.Model.Methods(f.Now)))
		if m, ok := p.methods.tbl.Selected(); ok {
			p.about = m.Name
		}
	} else {
		p.rows.rows = f.Model.AppendCalls(p.rows.rows[:0])
		slices.Reverse(p.rows.rows)
		p.calls.tbl.SetRows(p.rows.addresses())
		if c, ok := p.calls.tbl.Selected(); ok && !p.calls.tbl.Following() {
			p.about = c.Method
		}
	}
	if p.calls.above() == 0 {
		return
	}
	of := "latency of all calls"
	if p.about != "" {
		of = "latency of " + p.about
	}
	p.times.refresh(f.Now, of, f.Model.CallTimes(p.about))
}

// leastCall is the least difference between calls that is drawn.
const leastCall = 100 * time.Millisecond

// latency draws how long the calls of the selected method took; of all methods while the newest call is followed.
func (p *CRI) latency(w int) string {
	tone := phase(waterfall.CallStage(p.about))
	if tone == style.Plain {
		tone = style.Accent
	}
	return p.times.line(p.Theme, w, tone, leastCall)
}

// Hints are the keys of this page worth a reminder.
func (*CRI) Hints() string { return "m methods" }

func (p *CRI) columns() []table.Column[*model.Call] {
	failed := func(c *model.Call) style.Tone { return toneIf(c.Failed(), style.Fail) }
	return []table.Column[*model.Call]{
		clock(p.Look, "time", 3, func(c *model.Call) time.Time { return c.Begin }),
		toned(text("method", 16, 0, 0, func(c *model.Call) string { return p.Theme.Clean(c.Method) }), func(c *model.Call) style.Tone {
			if c.Failed() {
				return style.Fail
			}
			return phase(waterfall.CallStage(c.Method))
		}),
		duration("took", 0, slowCall, func(c *model.Call) time.Duration { return max(c.Age(p.now), 1) }),
		toned(text("result", 11, 1, 0, p.result), failed),
		text("pod", 18, 2, 1, func(c *model.Call) string { return p.Theme.Clean(c.Pod.String()) }),
		text("on", 13, 2, 2, p.target),
	}
}

func methodColumns(th *style.Theme) []table.Column[*model.Method] {
	dur := func(title string, of func(*model.Method) time.Duration) table.Column[*model.Method] {
		return duration(title, 0, slowCall, of)
	}
	return []table.Column[*model.Method]{
		toned(text("method", 18, 1, 0, func(m *model.Method) string { return th.Clean(m.Name) }), func(m *model.Method) style.Tone {
			return phase(waterfall.CallStage(m.Name))
		}),
		number("last minute", 11, 0, func(m *model.Method) int64 { return int64(m.Count) }, count),
		oddity("failed", 6, 0, style.Fail, func(m *model.Method) int64 { return int64(m.Errors) }),
		oddity("open", 4, 0, style.Plain, func(m *model.Method) int64 { return int64(m.InFlight) }),
		dur("p50", func(m *model.Method) time.Duration { return m.P50 }),
		dur("p99", func(m *model.Method) time.Duration { return m.P99 }),
		dur("max", func(m *model.Method) time.Duration { return m.Max }),
	}
}

// result is how a call ended.
func (p *CRI) result(c *model.Call) string {
	switch {
	case c.InFlight && c.Uncertain:
		return "open?"
	case c.InFlight:
		return "open"
	case c.Failed() && c.Err != "":
		return p.Theme.Clean(c.Code + " " + c.Err)
	case c.Items > 0:
		return p.Theme.Clean(c.Code) + " " + style.Count(c.Items)
	}
	return p.Theme.Clean(c.Code)
}

func (p *CRI) target(c *model.Call) string {
	if c.Image != "" {
		return p.Theme.Clean(human.Image(c.Image))
	}
	return p.Theme.Clean(ShortID(c.Target))
}

// ShortID cuts an id to what people compare.
func ShortID(id string) string {
	if len(id) == 64 {
		return id[:12]
	}
	return id
}

// bodies opens a call's request and response.
func (p *CRI) bodies(c *model.Call) tea.Cmd {
	th := p.Theme
	var lines []Text
	fact := func(label, value string, tone style.Tone) {
		if value != "" {
			lines = append(lines, Text{Line: th.Left(label, 10) + th.Clean(value), Tone: tone})
		}
	}
	fact("pod", c.Pod.String(), style.Plain)
	fact("sandbox", c.Sandbox, style.Plain)
	fact("container", c.Container, style.Plain)
	fact("image", c.Image, style.Plain)
	fact("began", style.Clock(c.Begin), style.Plain)
	fact("took", style.Dur(c.Age(p.now)), toneIf(c.Age(p.now) >= slowCall, style.Slow))
	fact("code", c.Code, toneIf(c.Failed(), style.Fail))
	fact("error", c.Err, style.Fail)
	lines = append(lines, Text{}, Text{Line: "request", Tone: style.Strong})
	lines = append(lines, body(th, c.Request)...)
	lines = append(lines, Text{}, Text{Line: "response", Tone: style.Strong})
	if c.InFlight {
		lines = append(lines, Text{Line: "not yet", Tone: style.Dim})
	} else {
		lines = append(lines, body(th, c.Response)...)
	}
	return send(Open{NewPager(p.Look, "call", th.Clean(c.Method), lines).Of(c.Method)})
}

// body writes a kept message, pretty.
func body(th *style.Theme, b trace.Body) []Text {
	if b.IsZero() {
		return []Text{{Line: "not kept", Tone: style.Dim}}
	}
	raw, err := b.MarshalJSON()
	var out bytes.Buffer
	if err == nil {
		err = json.Indent(&out, raw, "", "  ")
	}
	if err != nil {
		return []Text{{Line: "cannot be shown: " + th.Clean(err.Error()), Tone: style.Fail}}
	}
	var lines []Text
	for _, l := range th.CleanLines(out.String()) {
		lines = append(lines, Text{Line: l})
	}
	return lines
}
