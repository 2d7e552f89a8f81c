package views

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/kubeloupe/kubeloupe/inspect/model"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/fit"
	"github.com/kubeloupe/kubeloupe/trace/say"
	"github.com/kubeloupe/kubeloupe/tui/style"
	"github.com/kubeloupe/kubeloupe/tui/table"
)

// Sources shows where pods come from: each source in a row, and below it each of its manifests that cannot be used.
type Sources struct {
	list[*sourceRow]
	rows held[sourceRow]
	now  time.Time
	api  model.API
}

// sourceRow is a source, or one of its errors.
type sourceRow struct {
	model.Source
	err *model.SourceError // nil for the source itself
}

// NewSources returns the page.
func NewSources(look Look) *Sources {
	p := &Sources{list: list[*sourceRow]{Look: look}}
	p.tbl = newTable(look, table.Config[*sourceRow]{
		Columns: p.columns(),
		ID: func(r *sourceRow) string {
			if r.err == nil {
				return string(r.Name)
			}
			return string(r.Name) + r.err.Path + fmt.Sprint(r.err.Line) + r.err.Field + r.err.Message
		},
		Text:   func(r *sourceRow) string { return p.name(r) + " " + p.state(r) + " " + p.says(r) },
		Failed: func(r *sourceRow) bool { return r.err != nil || r.Failing() != nil },
		Empty:  "no pod source has reported yet",
	})
	p.open = p.details
	return p
}

// Name implements Page.
func (*Sources) Name() string { return "Sources" }

// Refresh implements Page.
func (p *Sources) Refresh(f Frame) {
	p.now, p.api = f.Now, f.Model.API()
	rows := p.rows.rows[:0]
	for _, s := range f.Model.Sources() {
		rows = append(rows, sourceRow{Source: s})
		for i := range s.Errors {
			if !s.Errors[i].WholeSource() {
				rows = append(rows, sourceRow{Source: s, err: &s.Errors[i]})
			}
		}
	}
	p.rows.rows = rows
	p.tbl.SetRows(p.rows.addresses())
}

func (p *Sources) columns() []table.Column[*sourceRow] {
	th := p.Theme
	known := func(r *sourceRow, n int) string {
		if r.err != nil || r.At.IsZero() {
			return style.Unknown
		}
		return style.Count(n)
	}
	pods := number("pods", 4, 0, func(r *sourceRow) int64 { return int64(r.Pods) }, count)
	pods.Cell = func(r *sourceRow) table.Cell { return table.Cell{Text: known(r, r.Pods)} }
	changes := number("changes", 7, 3, func(r *sourceRow) int64 { return int64(r.Changes) }, count)
	changes.Cell = func(r *sourceRow) table.Cell { return table.Cell{Text: known(r, r.Changes)} }
	return []table.Column[*sourceRow]{
		text("source", 14, 2, 0, p.name),
		toned(text("state", 12, 0, 0, p.state), sourceTone),
		pods,
		clock(p.Look, "last", 1, func(r *sourceRow) time.Time {
			if r.err != nil {
				return r.err.At
			}
			return r.At
		}),
		text("cause", 8, 0, 2, func(r *sourceRow) string {
			if r.err != nil {
				return ""
			}
			return th.Clean(string(r.Cause))
		}),
		changes,
		toned(text("says", 20, 3, 0, p.says), func(r *sourceRow) style.Tone {
			return toneIf(r.err != nil || r.Failing() != nil, style.Fail)
		}),
	}
}

func (p *Sources) name(r *sourceRow) string {
	if r.err == nil {
		return p.Theme.Clean(string(r.Name))
	}
	path := r.err.Path
	if dir := strings.TrimSuffix(r.Path, "/") + "/"; r.Path != "" {
		path = strings.TrimPrefix(path, dir)
	}
	if path = path[strings.LastIndexByte(path, '/')+1:]; path == "" {
		path = r.err.Pod.String()
	}
	return "  " + p.Theme.Clean(path)
}

func (p *Sources) state(r *sourceRow) string {
	switch {
	case r.err == nil:
		return string(r.State())
	case r.err.Kept:
		return "old in force"
	}
	return "not used"
}

func sourceTone(r *sourceRow) style.Tone {
	switch {
	case r.err != nil, r.State() == model.SourceFailing:
		return style.Fail
	case r.State() == model.SourceBackingOff, r.State() == model.SourceWithErrors:
		return style.Slow
	}
	return style.Plain
}

// says is what there is to say of a source, or what is wrong with a manifest.
func (p *Sources) says(r *sourceRow) string {
	th := p.Theme
	if r.err != nil {
		text := r.err.Message
		if r.err.Field != "" {
			text = r.err.Field + ": " + text
		}
		if r.err.Line > 0 {
			text = fmt.Sprintf("line %d: %s", r.err.Line, text)
		}
		return th.Clean(text)
	}
	if e := r.Failing(); e != nil {
		text := e.Message
		if w := r.Wait; !w.Since.IsZero() {
			text = "waits " + style.Age(p.now.Sub(w.Since)) + ", " + cmp.Or(w.Detail(), text)
		}
		return th.Clean(text)
	}
	if r.At.IsZero() {
		return "has not delivered anything yet"
	}
	text := r.Path
	if r.Name == trace.SourceAPI {
		text = fmt.Sprintf("%d watches open", p.api.Watches)
	}
	if r.Op != "" {
		text += "  last " + string(r.Op) + " " + r.Pod.String()
	}
	return th.Clean(strings.TrimSpace(text))
}

// details opens all that is known of a source, or of what is wrong with a manifest.
func (p *Sources) details(r *sourceRow) tea.Cmd {
	if r.err != nil {
		return send(Open{NewPager(p.Look, "manifest", "a manifest that cannot be used", sourceErrorText(p.Theme, r.err, 100))})
	}
	f := facts{th: p.Theme}
	ago := func(t time.Time) string {
		if t.IsZero() {
			return style.Unknown
		}
		return style.Clock(t) + ", " + style.Age(p.now.Sub(t)) + " ago"
	}
	f.add("source", string(r.Name), style.Plain)
	f.add("from", r.Path, style.Plain)
	f.add("state", string(r.State()), sourceTone(r))
	f.add("delivered", ago(r.At), style.Plain)
	f.add("because", cmp.Or(string(r.Cause), style.Unknown), style.Plain)
	if !r.At.IsZero() {
		f.add("pods", style.Count(r.Pods), style.Plain)
		f.add("times", style.Count(r.Sets), style.Plain)
	}
	if r.Changes > 0 {
		f.add("changes", style.Count(r.Changes)+", the last "+string(r.Op)+" "+r.Pod.String()+" at "+ago(r.Changed), style.Plain)
	}
	if r.Name == trace.SourceAPI {
		f.add("watches", style.Count(p.api.Watches), style.Plain)
		f.add("answered", ago(p.api.OK), style.Plain)
	}
	if !r.Wait.Since.IsZero() {
		f.waits([]model.Wait{r.Wait}, nil, p.now)
	}
	for i := range r.Errors {
		f.lines = append(f.lines, Text{})
		f.lines = append(f.lines, sourceErrorText(p.Theme, &r.Errors[i], 100)...)
	}
	return send(Open{NewPager(p.Look, "source", "source "+p.Theme.Clean(string(r.Name)), f.lines)})
}

// sourceErrorLine is what is wrong with a manifest, or a source, in one line.
func sourceErrorLine(e *model.SourceError) string {
	if e.WholeSource() && e.Message != "" {
		return strings.TrimSpace(string(e.Source)+" source "+e.Path) + ": " + e.Message
	}
	return say.SourceError(&e.SourceError)
}

// sourceErrorText is what is wrong with a manifest, or a source, in lines of w columns.
func sourceErrorText(th *style.Theme, e *model.SourceError, w int) []Text {
	whole := e.WholeSource()
	lines := []Text{{Line: th.Clean(cmp.Or(e.Path, e.Pod.String(), "the "+string(e.Source)+" source")), Tone: style.Strong}}
	if e.Line > 0 {
		lines = append(lines, Text{Line: fmt.Sprintf("line      %d", e.Line)})
	}
	if e.Field != "" {
		lines = append(lines, Text{Line: "field     " + th.Clean(e.Field)})
	}
	lines = append(lines, Text{Line: "seen      " + style.Clock(e.At)}, Text{})
	for _, l := range fit.Wrap(th.Clean(e.Message), w-2) {
		lines = append(lines, Text{Line: l, Tone: style.Fail})
	}
	kept := "No earlier version of it is in force."
	switch {
	case whole && e.Kept:
		kept = "The pods that it delivered before stay as they are until it answers again."
	case whole:
		kept = "It has delivered no pod yet."
	case e.Kept:
		kept = "The earlier version stays in effect."
	}
	return append(lines, Text{}, Text{Line: kept})
}
