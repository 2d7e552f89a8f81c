package report

import (
	"fmt"
	"strings"

	"github.com/kubeloupe/kubeloupe/inspect/model"
	"github.com/kubeloupe/kubeloupe/trace/say"
)

func makeNode(m *model.Model, args Args) (*Table, error) {
	t, n := &Table{}, m.Node()
	t.fact("Node", "name", str(n.Name))
	t.fact("Agent", "version", str(n.Version))
	t.fact("Process", "pid", pid(n.PID))
	t.fact("State", "state", str(n.State))
	t.fact("Reason", "reason", text(n.Reason))
	t.fact("Since", "since", at(n.Since, args.Now))
	t.fact("Runtime", "runtime", str(strings.TrimSpace(n.Runtime+" "+n.RuntimeVersion)))
	t.fact("Endpoint", "endpoint", str(n.Endpoint))
	if n.Simulated {
		t.fact("Simulated", "simulated", yes(true))
	}
	t.fact("PLEG", "pleg_mode", str(n.PLEGMode))
	t.fact("PLEG reason", "pleg_reason", text(n.PLEGReason))
	t.fact("Last relist", "last_relist", at(n.LastRelist, args.Now))
	t.fact("Last iteration", "last_loop", at(n.LastLoop, args.Now))
	if n.Lost > 0 {
		t.fact("Lost records", "lost", number(n.Lost))
	}
	describe(t, m, args)
	t.section(podCounts(m))
	t.section(usageOf(&n, args))
	t.section(pressureOf(m))
	t.section(apiOf(m, args))
	t.section(wrongManifests(m, args))
	if len(args.Live) > 0 {
		var check map[string]any
		if err := live(args, &check); err != nil {
			return nil, err
		}
		t.section(&Table{Key: "live", Title: "Says the agent", Raw: args.Live})
	}
	return t, nil
}

func pid(n int) Value {
	if n == 0 {
		return Value{}
	}
	return count(n)
}

func podCounts(m *model.Model) *Table {
	c := m.Counts()
	t := &Table{Key: "pods", Title: "Pods"}
	for _, f := range []struct {
		name, key string
		n         int
	}{
		{"Total", "total", c.Total},
		{"Ready", "ready", c.Ready},
		{"Not ready", "not_ready", c.NotReady},
		{"Starting", "starting", c.Starting},
		{"Backing off", "backing_off", c.BackingOff},
		{"Terminating", "terminating", c.Terminating},
		{"Completed", "completed", c.Completed},
		{"Failed", "failed", c.Failed},
		{"Unknown", "unknown", c.Unknown},
	} {
		t.fact(f.name, f.key, count(f.n))
	}
	return t
}

func usageOf(n *model.Node, args Args) *Table {
	t, u := &Table{Key: "usage", Title: "Use by the agent"}, &n.Usage
	if u.At.IsZero() {
		return t
	}
	t.fact("At", "time", at(u.At, args.Now))
	t.fact("Memory", "rss_bytes", size(u.RSS))
	if u.Goroutines > 0 { // of another process they are not known
		t.fact("Goroutines", "goroutines", count(u.Goroutines))
	}
	if u.Interval > 0 {
		percent := 100 * float64(u.CPU) / float64(u.Interval)
		t.fact("CPU", "cpu_percent", Value{fmt.Sprintf("%.1f %% of one", percent), percent})
	}
	return t
}

func pressureOf(m *model.Model) *Table {
	t := &Table{Key: "pressure", Title: "Pressure", Columns: []Column{
		{Name: "SIGNAL", Key: "signal"},
		{Name: "USED", Key: "used_bytes", Right: true},
		{Name: "OF", Key: "capacity_bytes", Right: true},
		{Name: "USE", Key: "percent", Right: true},
		{Name: "RULE", Key: "rule", Long: true},
	}}
	for _, p := range m.Pressure() {
		percent := Value{}
		if n := p.Percent(); n >= 0 {
			percent = Value{fmt.Sprintf("%d%%", n), n}
		}
		t.add(str(p.Signal), amount(&p, p.Used), amount(&p, p.Capacity), percent, text(say.Thresholds(p.Signal, p.Thresholds)))
	}
	return t
}

func apiOf(m *model.Model, args Args) *Table {
	t, a, n := &Table{Key: "api", Title: "API server"}, m.API(), m.NodeObject()
	if a.OK.IsZero() && a.Failed.IsZero() && a.Open == 0 {
		return t
	}
	t.fact("Last answer", "ok", at(a.OK, args.Now))
	if a.Failing > 0 {
		t.fact("Fails since", "failing_since", at(a.Since, args.Now))
		t.fact("Failures in a row", "failing", count(a.Failing))
	}
	if a.Err != "" {
		t.fact("Last failure", "error", text(a.Call+": "+a.Err))
		t.fact("At", "failed", at(a.Failed, args.Now))
	}
	t.fact("Watches", "watches", count(a.Watches))
	t.fact("Requests in progress", "open", count(a.Open))
	t.fact("Lease renewed", "lease", at(n.Lease, args.Now))
	if n.LeaseErr != "" {
		t.fact("Lease fails", "lease_error", text(n.LeaseErr))
	}
	t.fact("Registered", "registered", at(n.Registered.At, args.Now))
	t.fact("Node status written", "status_written", at(n.Good.At, args.Now))
	if n.Last.Err != "" {
		t.fact("Node status fails", "status_error", text(n.Last.Err))
	}
	waits := &Table{Key: "waits", Title: "Waits", Columns: []Column{
		{Name: "KIND", Key: "kind"}, {Name: "ON", Key: "on"}, {Name: "FOR", Key: "since", Right: true}, {Name: "DETAIL", Key: "detail", Long: true},
	}}
	for _, w := range a.Waits {
		waits.add(str(w.For), text(w.On()), ago(w.Since, args.Now), text(w.Detail()))
	}
	t.section(waits)
	return t
}

func wrongManifests(m *model.Model, args Args) *Table {
	t := &Table{Key: "source_errors", Title: "Manifests that cannot be used", Columns: []Column{
		{Name: "FILE", Key: "path"},
		{Key: "source"},
		{Name: "LINE", Key: "line", Right: true},
		{Name: "FIELD", Key: "field"},
		{Name: "SINCE", Key: "time", Right: true},
		{Name: "MESSAGE", Key: "message", Long: true},
	}}
	for _, e := range m.SourceErrors() {
		line := Value{}
		if e.Line > 0 {
			line = count(e.Line)
		}
		t.add(str(e.Path), str(e.Source), line, str(e.Field), ago(e.At, args.Now), text(e.Message))
	}
	return t
}

// amount is a figure of a signal, in its unit.
func amount(p *model.Pressure, n int64) Value { return Value{say.Amount(p.Signal, n), n} }
