package report

import (
	"fmt"
	"slices"

	"github.com/kubeloupe/kubeloupe/inspect/model"
)

// lastOf is how many verdicts and events of a pod are shown.
const lastOf = 10

func probesOf(m *model.Model, p *model.Pod, args Args) *Table {
	t := &Table{Key: "probes", Title: "Probes", Columns: []Column{
		{Name: "CONTAINER", Key: "container"},
		{Name: "PROBE", Key: "probe"},
		{Name: "HOW", Key: "how", Drop: 2},
		{Name: "SAYS", Key: "state"},
		{Name: "SINCE", Key: "changed", Right: true, Drop: 1},
		{Name: "LAST", Key: "result"},
		{Name: "IN A ROW"},
		{Key: "count"},
		{Key: "threshold"},
		{Name: "TOOK", Key: "dur_ns", Right: true, Drop: 3},
		{Name: "NEXT IN", Key: "next", Right: true},
		{Name: "OUTPUT", Key: "output", Long: true},
	}}
	for _, pr := range m.Probes() {
		if pr.Pod != p.Key {
			continue
		}
		row, next := Value{}, Value{}
		if pr.Threshold > 0 {
			row = str(fmt.Sprintf("%d of %d", pr.Count, pr.Threshold))
		}
		switch {
		case pr.Running:
			next = str("runs")
			next.data = nil
		case pr.Next.After(args.Now):
			next = took(pr.Next.Sub(args.Now))
			next.data = stamp(pr.Next)
		}
		t.add(str(pr.Container), str(pr.Kind), str(pr.How), str(pr.State), ago(pr.Changed, args.Now), str(pr.Result),
			row, count(pr.Count), count(pr.Threshold), took(pr.Dur), next, text(pr.Output))
	}
	return t
}

func statusOf(m *model.Model, p *model.Pod, args Args) *Table {
	t := &Table{Key: "status", Title: "Status in the API"}
	for _, s := range m.Statuses() {
		if s.Pod != p.Key || s.State() == model.StatusNotWritten {
			continue
		}
		t.fact("State", "state", str(s.State()))
		if s.Good.Known() {
			t.fact("Version", "version", number(s.Good.Version))
			t.fact("Written", "written", at(s.Good.Begin.Add(s.Good.Dur), args.Now))
			t.fact("Write took", "write_ns", took(s.Good.Dur))
		}
		if !s.Pending.IsZero() {
			t.fact("Not written since", "pending", at(s.Pending, args.Now))
		}
		if s.Last.Err != "" {
			t.fact("Last error", "error", text(s.Last.Err))
		}
	}
	return t
}

func verdictsOf(m *model.Model, p *model.Pod, args Args) *Table {
	t := verdicts("decisions", "Decisions")
	all := slices.DeleteFunc(m.Decisions(), func(d model.Decision) bool { return d.Pod != p.Key })
	for _, d := range all[max(0, len(all)-lastOf):] {
		t.add(verdict(&d, args)...)
	}
	return t
}

func eventsOf(m *model.Model, p *model.Pod, args Args) *Table {
	t := &Table{Key: "events", Title: "Events", Columns: []Column{
		{Name: "AGO", Key: "time", Right: true},
		{Name: "LEVEL", Key: "level"},
		{Name: "REASON", Key: "reason"},
		{Name: "MESSAGE", Key: "message", Long: true},
	}}
	all := slices.DeleteFunc(m.Lines(), func(l model.Line) bool { return l.Pod != p.Key })
	for _, l := range all[max(0, len(all)-lastOf):] {
		t.add(ago(l.At, args.Now), str(l.Level), str(l.Reason), text(l.Text))
	}
	return t
}
