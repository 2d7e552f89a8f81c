package report

import "github.com/kubeloupe/kubeloupe/inspect/model"

func makeCRI(m *model.Model, args Args) (*Table, error) {
	t := &Table{None: "No calls in the last minute.", Columns: []Column{
		{Name: "METHOD", Key: "method"},
		{Name: "CALLS/MIN", Key: "calls", Right: true},
		{Name: "ERRORS", Key: "errors", Right: true},
		{Name: "P50", Key: "p50_ns", Right: true},
		{Name: "P99", Key: "p99_ns", Right: true},
		{Name: "MAX", Key: "max_ns", Right: true},
		{Name: "IN FLIGHT", Key: "in_flight", Right: true},
	}}
	for _, c := range m.Methods(args.Now) {
		t.add(str(c.Name), count(c.Count), count(c.Errors), took(c.P50), took(c.P99), took(c.Max), count(c.InFlight))
	}
	t.section(callsInFlight(m, args))
	t.section(failedCalls(m, args))
	return t, nil
}

func callsInFlight(m *model.Model, args Args) *Table {
	t := &Table{Key: "calls_in_flight", Title: "In flight", Columns: []Column{
		{Name: "METHOD", Key: "method"},
		{Name: "POD", Key: "pod", Ends: true},
		{Name: "FOR", Key: "begun", Right: true},
		{Name: "TARGET", Key: "target", Long: true},
		{Key: "uncertain"},
	}}
	for _, c := range m.InFlight() {
		if args.wants(c.Pod) {
			t.add(str(c.Method), str(c.Pod.String()), ago(c.Begin, args.Now), str(c.Target), yes(c.Uncertain))
		}
	}
	return t
}

// maxFailed is how many calls that failed are shown.
const maxFailed = 10

func failedCalls(m *model.Model, args Args) *Table {
	t := &Table{Key: "failed_calls", Title: "Last failures", Columns: []Column{
		{Name: "METHOD", Key: "method"},
		{Name: "POD", Key: "pod", Ends: true},
		{Name: "AGO", Key: "end", Right: true},
		{Name: "TOOK", Key: "dur_ns", Right: true},
		{Name: "CODE", Key: "code"},
		{Name: "ERROR", Key: "error", Long: true},
	}}
	var failed []model.Call
	for _, c := range m.Calls() {
		if c.Failed() && args.wants(c.Pod) {
			failed = append(failed, c)
		}
	}
	for _, c := range failed[max(0, len(failed)-maxFailed):] {
		t.add(str(c.Method), str(c.Pod.String()), ago(c.End, args.Now), took(c.Dur), str(c.Code), text(c.Err))
	}
	return t
}
