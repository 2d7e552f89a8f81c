package cause

import (
	"slices"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/say"
)

// startFailure is a container that cannot be created or started.
type startFailure struct {
	class    trace.FailureClass
	err      string // the last error
	tries    int
	from, to time.Time
	current  bool
	// worked says that a later start succeeded: how the container exits since then has another reason.
	worked   bool
	evidence []Evidence
}

// containerNames are the containers that steps and statuses name, in their order.
func (c *Case) containerNames() (names []string) {
	add := func(name string) {
		if name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	for _, a := range ownSpans[*trace.Action](c) {
		add(a.Event.Container)
	}
	for _, s := range c.states() {
		add(s.Name)
	}
	return names
}

// startFailure is why a container cannot be created or started, if that is of a class; nil if it can.
func (c *Case) startFailure(name string, wide trace.FailureClass) *startFailure {
	var f *startFailure
	for _, a := range ownSpans[*trace.Action](c) {
		if a.Event.Container != name || a.Open || a.Event.Verb != trace.VerbStart && a.Event.Verb != trace.VerbCreate {
			continue
		}
		switch {
		case a.Err() == "" && a.Event.Verb == trace.VerbStart && f != nil:
			f.current, f.worked, f.to = false, true, a.Start
		case a.Err() == "":
		case !a.Event.Class.Of(wide):
			return nil // it fails for another reason now
		default:
			if f == nil || !f.current {
				f = &startFailure{from: a.Start}
			}
			f.class, f.err, f.current, f.to = a.Event.Class, a.Err(), true, a.Stop
			f.tries++
			f.evidence = append(f.evidence, evidence(a.Rec(), "%s: %s: %s", a.Event.ID, a.Event.Code, quoted(a.Err())))
		}
	}
	if f == nil {
		f = c.toldStartFailure(name, wide)
	}
	if f != nil && f.current {
		f.current = c.unwell()
	}
	return f
}

// toldStartFailure is the same as statuses tell it, where no step shows it.
func (c *Case) toldStartFailure(name string, wide trace.FailureClass) *startFailure {
	for _, s := range c.states() {
		if s.Name != name || s.State == trace.ContainerRunning {
			continue
		}
		f := &startFailure{class: s.Class, err: s.Message, tries: max(s.Restarts, 1), from: s.first.At(), to: s.Rec.At(), current: true}
		if e := s.exit(); !f.class.Of(wide) && e != nil {
			f.class, f.err = e.Class, e.Message
		}
		if !f.class.Of(wide) {
			continue
		}
		f.evidence = []Evidence{evidence(s.first, "container %s: %s", name, say.Container(s.ContainerStatus))}
		return f
	}
	return nil
}
