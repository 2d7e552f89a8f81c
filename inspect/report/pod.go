package report

import (
	"slices"
	"strings"

	"github.com/kubeloupe/kubeloupe/inspect/model"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/say"
)

func makePod(m *model.Model, args Args) (*Table, error) {
	p, err := findPod(m, args)
	if err != nil {
		return nil, err
	}
	t := &Table{}
	podFacts(t, m, &p, args)
	t.section(startOf(&p, args))
	t.section(workerOf(&p, args))
	t.section(backoffOf(&p, args))
	t.section(actionsOf(&p, args))
	t.section(waitsOf(&p, args))
	t.section(pullsOf(&p, args))
	t.section(planOf(&p, args))
	t.section(containersOf(&p))
	mine := Args{Pod: p.Key.String(), Now: args.Now}
	if p.Gone.IsZero() {
		t.section(part("volumes", "Volumes", volumesOf(m, mine), "pod"))
		t.section(probesOf(m, &p, args))
		t.section(statusOf(m, &p, args))
	}
	t.section(verdictsOf(m, &p, args))
	t.section(eventsOf(m, &p, args))
	return t, nil
}

func podFacts(t *Table, m *model.Model, p *model.Pod, args Args) {
	t.fact("Name", "name", str(p.Key.Name))
	t.fact("Namespace", "namespace", str(p.Key.Namespace))
	t.fact("UID", "uid", str(p.Key.UID))
	t.fact("State", "state", str(p.State()))
	t.fact("Phase", "phase", str(p.Phase))
	t.fact("Reason", "reason", text(strings.Trim(p.Reason+": "+p.Message, ": ")))
	t.fact("Ready", "ready", Value{readiness(p), readiness(p)})
	if !p.StatusAt.IsZero() {
		t.fact("Restarts", "restarts", count(p.Restarts))
	}
	t.fact("IP", "ip", str(p.IP))
	t.fact("Labels", "labels", labelsOf(p.Labels))
	t.fact("QoS class", "qos", str(p.QoS))
	t.fact("Source", "source", str(p.Start.Source))
	t.fact("Sandbox", "sandbox", str(p.SandboxID))
	if p.Spec != nil {
		t.fact("Restart policy", "restart_policy", str(p.Spec.RestartPolicy))
		t.fact("Host network", "host_network", yes(p.Spec.HostNetwork))
	}
	if !p.Terminating.IsZero() {
		t.fact("Terminating", "terminating", at(p.Terminating, args.Now))
	}
	if !p.Gone.IsZero() {
		t.fact("Gone", "gone", at(p.Gone, args.Now))
	}
	if lost := m.Node().Lost; lost > 0 {
		t.fact("Lost records", "lost", number(lost))
	}
}

func startOf(p *model.Pod, args Args) *Table {
	s := &p.Start
	t := &Table{Key: "start", Title: "Start"}
	if s.Seen.IsZero() && s.Started.IsZero() && s.Ready.IsZero() {
		return t
	}
	t.fact("Seen", "seen", at(s.Seen, args.Now))
	t.fact("Started", "started", at(s.Started, args.Now))
	t.fact("Ready", "ready", at(s.Ready, args.Now))
	t.fact("Started in", "started_in_ns", took(s.ToStarted))
	t.fact("Ready in", "ready_in_ns", took(s.ToReady))
	if s.Adopted {
		t.fact("Adopted", "adopted", yes(true))
	}
	if s.Cause != "" {
		t.fact("Mostly", "cause", text(s.Cause))
	}
	path := &Table{Key: "critical_path", Title: "Critical path", Columns: []Column{
		{Name: "PART", Key: "part"}, {Name: "TOOK", Key: "dur_ns", Right: true},
	}}
	for _, seg := range s.Segments {
		path.add(str(seg.Label()), took(seg.Dur))
	}
	t.section(path)
	return t
}

func containersOf(p *model.Pod) *Table {
	t := &Table{Key: "containers", Title: "Containers", Columns: []Column{
		{Name: "NAME", Key: "name"},
		{Name: "INIT", Key: "init", Drop: 2},
		{Name: "STATE", Key: "state"},
		{Name: "REASON", Key: "reason"},
		{Name: "EXIT", Key: "exit_code", Right: true},
		{Name: "RESTARTS", Key: "restarts", Right: true},
		{Name: "LAST EXIT", Key: "last_exit", Long: true},
		{Name: "IMAGE", Key: "image", Ends: true},
		{Name: "ID", Key: "id", Wide: true},
		{Name: "MESSAGE", Key: "message", Long: true},
	}}
	images := map[string]string{}
	if p.Spec != nil {
		for _, c := range slices.Concat(p.Spec.InitContainers, p.Spec.Containers) {
			images[c.Name] = c.Image
		}
	}
	for _, c := range p.Containers {
		exit := Value{}
		if c.State == trace.ContainerTerminated {
			exit = count(int(c.ExitCode))
		}
		t.add(str(c.Name), yes(c.Init), str(c.State), str(c.Reason), exit, count(c.Restarts), lastExit(&c), str(images[c.Name]), str(c.ID), text(c.Message))
	}
	return t
}

// lastExit is how a container exited before its current state.
func lastExit(c *trace.ContainerStatus) Value {
	if c.Last == nil {
		return Value{}
	}
	return text(say.Exit(c.Last))
}

// part makes a table a part of another, without the column that says what is known there.
func part(key, title string, t *Table, without string) *Table {
	t.Key, t.Title, t.None = key, title, ""
	i := slices.IndexFunc(t.Columns, func(c Column) bool { return c.Key == without })
	t.Columns = slices.Delete(t.Columns, i, i+1)
	for n, row := range t.Rows {
		t.Rows[n] = slices.Delete(row, i, i+1)
	}
	return t
}
