package report

import (
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/model"
	"github.com/kubeloupe/kubeloupe/trace/human"
)

func makeWorkers(m *model.Model, args Args) (*Table, error) {
	t := &Table{None: "No workers.", Columns: []Column{
		{Name: "POD", Key: "pod", Ends: true},
		{Name: "STATE", Key: "state"},
		{Name: "SINCE", Key: "since", Right: true, Drop: 1},
		{Name: "PASS", Key: "pass", Right: true},
		{Name: "RUNS", Key: "running", Drop: 3},
		{Name: "WHY", Key: "why"},
		{Name: "CAUSE", Key: "cause", Wide: true},
		{Name: "FOR", Key: "begun", Right: true},
		{Name: "LAST TOOK", Key: "last_ns", Right: true, Drop: 2},
		{Name: "LAST ENDED", Key: "last_end", Right: true, Wide: true},
		{Name: "DOING", Key: "doing", Long: true},
		{Name: "ERROR", Key: "error", Long: true},
	}}
	pods := m.Pods()
	for i := range pods {
		p := &pods[i]
		if !args.wants(p.Key) {
			continue
		}
		w := &p.Worker
		pass, begun := w.Last, Value{}
		if w.Current.Running {
			pass, begun = w.Current, ago(w.Current.Begin, args.Now)
		}
		n := Value{}
		if pass.N > 0 {
			n = count(pass.N)
		}
		t.add(str(p.Key.String()), str(w.State), ago(w.Since, args.Now), n, yes(w.Current.Running), str(pass.Why), text(pass.Cause),
			begun, took(w.Last.Dur), ago(ended(&w.Last), args.Now), text(doing(p, args.Now)), text(w.Last.Err))
	}
	return t, nil
}

// ended is when a pass ended; zero when none is known.
func ended(s *model.Sync) time.Time {
	if s.Begin.IsZero() {
		return time.Time{}
	}
	return s.Begin.Add(s.Dur)
}

func workerOf(p *model.Pod, args Args) *Table {
	t, w := &Table{Key: "worker", Title: "Worker"}, &p.Worker
	if w.State == "" && w.Last.Begin.IsZero() && !w.Current.Running {
		return t
	}
	t.fact("State", "state", str(w.State))
	t.fact("Since", "since", at(w.Since, args.Now))
	t.fact("Reason", "reason", text(w.Reason))
	if w.Grace > 0 {
		t.fact("Grace period", "grace_s", Value{human.Duration(time.Duration(w.Grace) * time.Second), w.Grace})
	}
	for _, s := range []struct {
		name, key string
		*model.Sync
	}{{"Pass now", "current", &w.Current}, {"Last pass", "last", &w.Last}} {
		if !s.Begin.IsZero() {
			t.section(passOf(s.name, s.key, s.Sync, args))
		}
	}
	return t
}

func passOf(name, key string, s *model.Sync, args Args) *Table {
	t := &Table{Key: key, Title: name}
	t.fact("Number", "n", count(s.N))
	t.fact("Why", "why", str(s.Why))
	t.fact("Cause", "cause", text(s.Cause))
	t.fact("Began", "begun", at(s.Begin, args.Now))
	if !s.Running {
		t.fact("Took", "dur_ns", took(s.Dur))
	}
	if s.Merged > 0 {
		t.fact("Answers also", "merged", count(s.Merged))
	}
	if s.Err != "" {
		t.fact("Error", "error", text(s.Err))
	}
	return t
}
