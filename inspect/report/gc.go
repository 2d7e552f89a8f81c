package report

import (
	"fmt"

	"github.com/kubeloupe/kubeloupe/inspect/model"
	"github.com/kubeloupe/kubeloupe/trace"
)

func makeGC(m *model.Model, args Args) (*Table, error) {
	t := &Table{None: "No garbage collection yet.", Columns: []Column{
		{Name: "PASS", Key: "pass", Right: true},
		{Name: "WHAT", Key: "what"},
		{Name: "CAUSE", Key: "cause"},
		{Name: "AGO", Key: "begun", Right: true},
		{Name: "TOOK", Key: "dur_ns", Right: true},
		{Name: "LOOKED AT", Key: "considered", Right: true, Drop: 1},
		{Name: "REMOVED", Key: "removed", Right: true},
		{Name: "FREED", Key: "freed_bytes", Right: true},
		{Name: "DISK", Key: "usage_percent", Right: true},
		{Name: "ERROR", Key: "error", Long: true},
	}}
	seen := map[uint64]bool{}
	said := verdicts("verdicts", "Verdicts")
	said.Columns = append([]Column{{Name: "PASS", Key: "pass", Right: true}}, said.Columns...)
	for i, p := range m.Passes() {
		dur, usage := took(p.Dur), Value{}
		if p.Running {
			dur = Value{text: "runs"}
		}
		if p.Usage > 0 {
			usage = Value{fmt.Sprintf("%d%%", p.Usage), p.Usage}
		}
		t.add(count(i+1), str(p.What), str(p.Cause), ago(p.Begin, args.Now), dur, count(p.Considered), count(p.Removed),
			size(p.Freed), usage, text(p.Err))
		for j := range p.Decisions {
			seen[p.Decisions[j].Seq] = true
			said.add(append([]Value{count(i + 1)}, verdict(&p.Decisions[j], args)...)...)
		}
		if p.Omitted > 0 {
			said.add(count(i+1), Value{}, Value{}, str("and"), str(fmt.Sprintf("%d more", p.Omitted)), Value{}, Value{})
		}
	}
	for _, d := range m.Decisions() {
		if !seen[d.Seq] && frees(d.By) {
			said.add(append([]Value{{}}, verdict(&d, args)...)...)
		}
	}
	t.section(said)
	return t, nil
}

// frees reports whether who decides removes things from the node.
func frees(by trace.Decider) bool {
	return by == trace.ByContainerGC || by == trace.ByImageGC || by == trace.ByOrphans
}

func verdicts(key, title string) *Table {
	return &Table{Key: key, Title: title, Columns: []Column{
		{Name: "AGO", Key: "time", Right: true},
		{Name: "BY", Key: "by", Drop: 1},
		{Name: "VERDICT", Key: "verdict"},
		{Name: "SUBJECT", Key: "subject", Ends: true},
		{Name: "BYTES", Key: "bytes", Right: true},
		{Name: "REASON", Key: "reason", Long: true},
	}}
}

func verdict(d *model.Decision, args Args) []Value {
	freed := Value{}
	if d.Bytes > 0 {
		freed = size(d.Bytes)
	}
	return []Value{ago(d.At, args.Now), str(d.By), str(d.Verdict), str(d.Subject), freed, text(d.Reason)}
}
