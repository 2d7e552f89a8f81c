package views

import (
	"bytes"
	"cmp"
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/kubeloupe/kubeloupe/inspect/model"
	"github.com/kubeloupe/kubeloupe/inspect/waterfall"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/say"
	"github.com/kubeloupe/kubeloupe/tui/keys"
	"github.com/kubeloupe/kubeloupe/tui/style"
	"github.com/kubeloupe/kubeloupe/tui/table"
)

// Log shows the important events, the newest last, or every record.
type Log struct {
	parts
	lines   list[*logRow]
	records list[*logRow]
	rows    [2]held[logRow] // of each part
	history *History
}

// allRecords is the part of the log that shows them.
const allRecords = 1

// logRow is a line or a record.
type logRow struct {
	line model.Line
	rec  *trace.Record // nil for a line
}

// NewLog returns the page.
func NewLog(look Look) *Log {
	p := &Log{}
	p.parts = newParts(look, keys.Of("what is worth a line, or all records", "a"), &p.lines, &p.records)
	p.lines = list[*logRow]{Look: look, open: p.whole, stream: true}
	p.lines.tbl = p.table(p.columns(), "no important event yet; a shows all records")
	took := duration("took", 2, slowCall, (*logRow).took)
	p.records = list[*logRow]{Look: look, open: p.whole, stream: true}
	p.records.tbl = p.table(slices.Insert(p.columns(), 2, took), "no record seen yet")
	return p
}

func (p *Log) table(columns []table.Column[*logRow], empty string) *table.Table[*logRow] {
	return newTable(p.Look, table.Config[*logRow]{
		Columns: columns, Tail: true, Empty: empty,
		ID:     func(r *logRow) string { return strconv.FormatUint(r.seq(), 10) },
		Text:   func(r *logRow) string { return p.label(r) + " " + r.pod().String() + " " + p.text(r) },
		Failed: func(r *logRow) bool { return r.tone() == style.Fail || r.line.Level == trace.LevelWarn },
		Fields: ofPod((*logRow).pod),
	})
}

// Name implements Page.
func (*Log) Name() string { return "Log" }

// Hints are the keys of this page worth a reminder.
func (*Log) Hints() string { return "a all records" }

// Refresh implements Page.
func (p *Log) Refresh(f Frame) {
	p.history = f.History
	h := &p.rows[p.at]
	h.rows = h.rows[:0]
	if p.at == allRecords {
		h.rows = slices.Grow(h.rows, f.History.Len())
		for i := range f.History.Len() {
			h.rows = append(h.rows, logRow{rec: f.History.At(i)})
		}
		p.records.tbl.SetRows(h.addresses())
		return
	}
	for _, l := range f.Model.Lines() {
		h.rows = append(h.rows, logRow{line: l})
	}
	p.lines.tbl.SetRows(h.addresses())
}

func (p *Log) columns() []table.Column[*logRow] {
	return []table.Column[*logRow]{
		clock(p.Look, "time", 3, (*logRow).at),
		toned(text("what", 14, 0, 0, p.label), (*logRow).hue),
		text("pod", 19, 1, 1, func(r *logRow) string { return p.Theme.CutMid(p.Theme.Clean(r.pod().String()), 40) }),
		toned(table.Column[*logRow]{
			Title: "text", Width: 20, Flex: 4,
			Cell: func(r *logRow) table.Cell { return table.Cell{Text: p.text(r)} },
		}, (*logRow).tone),
	}
}

func (r *logRow) seq() uint64 {
	if r.rec != nil {
		return r.rec.Seq
	}
	return r.line.Seq
}

func (r *logRow) at() time.Time {
	if r.rec != nil {
		return r.rec.At()
	}
	return r.line.At
}

func (r *logRow) pod() trace.Pod {
	if r.rec != nil {
		return r.rec.Pod
	}
	return r.line.Pod
}

func (r *logRow) took() time.Duration {
	if r.rec != nil {
		return r.rec.Dur
	}
	return 0
}

func (r *logRow) tone() style.Tone {
	switch {
	case r.rec != nil && trace.Failure(r.rec.Event) != "":
		return style.Fail
	case r.rec != nil && r.rec.Edge == trace.EdgeBegin:
		return style.Dim
	case r.line.Level == trace.LevelError:
		return style.Fail
	case r.line.Level == trace.LevelWarn:
		return style.Slow
	case r.line.Level == trace.LevelDebug:
		return style.Dim
	}
	return style.Plain
}

// hue is the tone of what a row is about: trouble first, then its phase.
func (r *logRow) hue() style.Tone {
	trouble := r.tone()
	if trouble == style.Fail || trouble == style.Slow {
		return trouble
	}
	stage := waterfall.ReasonStage(r.line.Reason)
	if r.rec != nil {
		stage = waterfall.EventStage(r.rec.Event)
		if e, ok := r.rec.Event.(*trace.NodeEvent); ok {
			stage = waterfall.ReasonStage(e.Reason)
		}
	}
	if stage != waterfall.StageNone {
		return phase(stage)
	}
	return trouble
}

// label is the reason or level of a line, the kind of a record.
func (p *Log) label(r *logRow) string {
	if r.rec != nil {
		mark := ""
		if r.rec.Edge == trace.EdgeBegin {
			mark = "+"
		}
		return mark + r.rec.Event.Kind().String()
	}
	return p.Theme.Clean(cmp.Or(r.line.Reason, string(r.line.Level)))
}

func (p *Log) text(r *logRow) string {
	if r.rec == nil {
		return p.Theme.Clean(r.line.Text)
	}
	text := say.Brief(r.rec.Event)
	if e := trace.Failure(r.rec.Event); e != "" {
		text += " failed: " + e
	}
	return p.Theme.Clean(longID.ReplaceAllStringFunc(text, ShortID))
}

// longID is a container's or sandbox's id in full.
var longID = regexp.MustCompile(`\b[0-9a-f]{64}\b`)

// whole opens the record behind a row.
func (p *Log) whole(r *logRow) tea.Cmd {
	th := p.Theme
	rec := r.rec
	if rec == nil {
		rec = p.history.Seq(r.line.Seq)
	}
	lines := []Text{{Line: p.text(r), Tone: style.Strong}, {}}
	if rec == nil {
		lines = append(lines, Text{Line: "The record itself is no longer kept.", Tone: style.Dim})
		return send(Open{NewPager(p.Look, "record", "record "+style.Count(r.seq()), lines)})
	}
	raw, err := rec.MarshalJSON()
	var out bytes.Buffer
	if err == nil {
		err = json.Indent(&out, raw, "", "  ")
	}
	if err != nil {
		lines = append(lines, Text{Line: "cannot be shown: " + th.Clean(err.Error()), Tone: style.Fail})
	}
	for _, l := range th.CleanLines(out.String()) {
		lines = append(lines, Text{Line: l})
	}
	return send(Open{NewPager(p.Look, "record", "record "+style.Count(r.seq()), lines)})
}
