package views

import (
	"bytes"
	"cmp"
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"time"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"

	"github.com/kubeloupe/kubeloupe/inspect/model"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/tui/keys"
	"github.com/kubeloupe/kubeloupe/tui/query"
	"github.com/kubeloupe/kubeloupe/tui/style"
	"github.com/kubeloupe/kubeloupe/tui/table"
)

// Log shows what is worth a line, the newest last, or every record.
type Log struct {
	list[logRow]
	records list[logRow]
	history *History
	all     bool
	toggle  key.Binding
}

// logRow is a line or a record.
type logRow struct {
	line model.Line
	rec  *trace.Record // nil for a line
}

// NewLog returns the page.
func NewLog(look Look) *Log {
	p := &Log{list: list[logRow]{Look: look}, toggle: keys.Bind("a", "what is worth a line, or all records", "a")}
	p.tbl = p.table(p.columns(), "nothing worth a line yet; a shows all records")
	p.open = p.whole
	took := duration("took", 2, slowCall, logRow.took)
	took.Compare = nil
	p.records = list[logRow]{Look: look, open: p.whole}
	p.records.tbl = p.table(slices.Insert(p.columns(), 2, took), "no record seen yet")
	return p
}

func (p *Log) table(columns []table.Column[logRow], empty string) *table.Table[logRow] {
	return table.New(table.Config[logRow]{
		Theme: p.Theme, Columns: columns, Tail: true, Empty: empty,
		ID:   func(r logRow) string { return strconv.FormatUint(r.seq(), 10) },
		Text: func(r logRow) string { return p.label(r) + " " + r.pod().String() + " " + p.text(r) },
	})
}

// shown is the table in use.
func (p *Log) shown() *list[logRow] {
	if p.all {
		return &p.records
	}
	return &p.list
}

// SetSize implements Page.
func (p *Log) SetSize(w, h int) {
	p.list.SetSize(w, h)
	p.records.SetSize(w, h)
}

// SetFilter implements Page.
func (p *Log) SetFilter(q *query.Filter) {
	p.list.SetFilter(q)
	p.records.SetFilter(q)
}

// Fields implements Fielder.
func (p *Log) Fields() query.Fields { return p.shown().Fields() }

// Counts returns how many rows are shown and how many there are.
func (p *Log) Counts() (shown, all int) { return p.shown().Counts() }

// View implements Page.
func (p *Log) View() string { return p.shown().View() }

// Name implements Page.
func (*Log) Name() string { return "Log" }

// Keys implements Page.
func (p *Log) Keys() []key.Binding { return append(p.list.Keys(), p.toggle) }

// Hints are the keys of this page worth a reminder.
func (*Log) Hints() string { return "a all records" }

// Refresh implements Page.
func (p *Log) Refresh(f Frame) {
	p.history = f.History
	var rows []logRow
	if p.all {
		rows = make([]logRow, 0, f.History.Len())
		for i := range f.History.Len() {
			rows = append(rows, logRow{rec: f.History.At(i)})
		}
	} else {
		for _, l := range f.Model.Lines() {
			rows = append(rows, logRow{line: l})
		}
	}
	p.shown().tbl.SetRows(rows)
}

// Update implements Page.
func (p *Log) Update(msg tea.Msg) tea.Cmd {
	if k, ok := msg.(tea.KeyPressMsg); ok && key.Matches(k, p.toggle) {
		p.all = !p.all
		return send(Redraw{})
	}
	return p.shown().Update(msg)
}

func (p *Log) columns() []table.Column[logRow] {
	return []table.Column[logRow]{
		clock("time", 3, logRow.at),
		toned(text("what", 14, 0, 0, p.label), logRow.tone),
		text("pod", 19, 1, 1, func(r logRow) string { return p.Theme.CutMid(p.Theme.Clean(r.pod().String()), 40) }),
		toned(table.Column[logRow]{
			Title: "text", Width: 20, Flex: 4,
			Cell: func(r logRow) table.Cell { return table.Cell{Text: p.text(r)} },
		}, logRow.tone),
	}
}

func (r logRow) seq() uint64 {
	if r.rec != nil {
		return r.rec.Seq
	}
	return r.line.Seq
}

func (r logRow) at() time.Time {
	if r.rec != nil {
		return r.rec.At()
	}
	return r.line.At
}

func (r logRow) pod() trace.Pod {
	if r.rec != nil {
		return r.rec.Pod
	}
	return r.line.Pod
}

func (r logRow) took() time.Duration {
	if r.rec != nil {
		return r.rec.Dur
	}
	return 0
}

func (r logRow) tone() style.Tone {
	switch {
	case r.rec != nil && trace.Failure(r.rec.Event) != "":
		return style.Fail
	case r.rec != nil && r.rec.Edge == trace.EdgeBegin:
		return style.Dim
	case r.line.Level == "error":
		return style.Fail
	case r.line.Level == "warn":
		return style.Slow
	case r.line.Level == "debug":
		return style.Dim
	}
	return style.Plain
}

// label is the reason or level of a line, the kind of a record.
func (p *Log) label(r logRow) string {
	if r.rec != nil {
		mark := ""
		if r.rec.Edge == trace.EdgeBegin {
			mark = "+"
		}
		return mark + r.rec.Event.Kind().String()
	}
	return p.Theme.Clean(cmp.Or(r.line.Reason, r.line.Level))
}

func (p *Log) text(r logRow) string {
	if r.rec == nil {
		return p.Theme.Clean(r.line.Text)
	}
	text := model.Brief(r.rec.Event)
	if e := trace.Failure(r.rec.Event); e != "" {
		text += " failed: " + e
	}
	return p.Theme.Clean(longID.ReplaceAllStringFunc(text, ShortID))
}

// longID is a container's or sandbox's id in full.
var longID = regexp.MustCompile(`\b[0-9a-f]{64}\b`)

// whole opens the record behind a row.
func (p *Log) whole(r logRow) tea.Cmd {
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
