package model

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/sorting"
)

// maxSources limits the number of sources: a node has four or fewer.
const maxSources = 16

// Source is the known state of a source of pods.
type Source struct {
	Name trace.SourceName
	// At is when it last delivered its complete set, of Pods pods; Cause is why it looked for changes, Path where.
	// Zero: not yet.
	At    time.Time
	Pods  int
	Cause trace.SourceCause
	Path  string
	// Running says that it is reading now.
	Running bool
	Sets    int // number of deliveries
	// Changes counts the changes of its pods, such as ADD or REMOVE; the last was Op of Pod, at Changed.
	Changes int
	Op      trace.SourceOp
	Pod     trace.Pod
	Changed time.Time
	// Errors are the current errors. Wait is the wait for the next attempt; its Since is zero if there is none.
	Errors []SourceError
	Wait   Wait
}

// State returns a source's state in one word, for lists.
func (s *Source) State() SourceState {
	switch {
	case !s.Wait.Since.IsZero():
		return SourceBackingOff
	case s.Failing() != nil:
		return SourceFailing
	case s.Running && s.At.IsZero():
		return SourceReading
	case s.At.IsZero():
		return SourceWaiting
	case len(s.Errors) > 0:
		return SourceWithErrors
	}
	return SourceGood
}

// Failing returns why the source as a whole does not deliver, nil if it does.
func (s *Source) Failing() *SourceError {
	for i := range s.Errors {
		if s.Errors[i].WholeSource() {
			return &s.Errors[i]
		}
	}
	return nil
}

// WholeSource reports whether the source itself cannot be read, not only one manifest.
func (e *SourceError) WholeSource() bool {
	return e.Pod.IsZero() && e.Field == "" && e.Line == 0 && (e.Source == trace.SourceAPI || e.Source == trace.SourceHTTP && strings.Contains(e.Path, "://"))
}

// Sources returns the known sources, by name.
func (m *Model) Sources() []Source {
	found := maps.Clone(m.origins)
	if found == nil {
		found = map[string]Source{}
	}
	for _, e := range m.SourceErrors() {
		s := found[string(e.Source)]
		s.Name, s.Errors = e.Source, append(s.Errors, e)
		found[string(e.Source)] = s
	}
	for _, w := range slices.Concat(m.api.waits.now(), m.urls.now()) {
		for name, s := range found {
			if holdsUp(&w, &s) {
				s.Wait = w
				found[name] = s
			}
		}
	}
	all := slices.Collect(maps.Values(found))
	sorting.Stable(all, func(a, b *Source) int { return cmp.Compare(a.Name, b.Name) })
	return all
}

// holdsUp reports whether a wait is a source's wait for its next attempt.
func holdsUp(w *Wait, s *Source) bool {
	if w.For != trace.WaitBackoff {
		return false
	}
	return s.Name == trace.SourceAPI && w.Target.Kind == trace.TargetWatch ||
		s.Name == trace.SourceHTTP && w.Target.Kind == trace.TargetAddress && (w.Target.Name == s.Path || slices.ContainsFunc(s.Errors, func(e SourceError) bool { return e.Path == w.Target.Name }))
}

func (m *Model) applySource(r *trace.Record, e *trace.Source) {
	s, known := m.origins[string(e.Source)]
	if !known && len(m.origins) >= maxSources {
		return
	}
	s.Name = e.Source
	switch {
	case e.Op != trace.OpSet:
		s.Changes++
		s.Op, s.Pod, s.Changed = e.Op, r.Pod, r.At()
	case r.Edge == trace.EdgeBegin:
		s.Running = true
	default:
		s.Running, s.At, s.Pods, s.Cause = false, r.At(), e.Pods, e.Cause
		if e.Path != "" && (s.Path == "" || !strings.HasPrefix(e.Path, s.Path+"/")) { // otherwise it is a single file
			s.Path = e.Path
		}
		s.Sets++
	}
	m.origins[string(e.Source)] = s
}
