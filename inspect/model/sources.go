package model

import (
	"cmp"
	"slices"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/evidence"
	"github.com/kubeloupe/kubeloupe/trace"
)

// How many source errors are remembered: files, and errors of each.
const (
	maxSourceFiles  = 200
	maxErrorsOfFile = 10
)

// SourceError is what is wrong with one manifest now.
type SourceError struct {
	At  time.Time
	Pod trace.Pod // zero when it never became one
	trace.SourceError
}

// sourceErrors are the current errors by source and file, or pod where no file is known.
type sourceErrors map[evidence.Manifest][]SourceError

// SourceErrors returns the errors that are not known to be mended, by source and
// path. A file's errors are taken as mended by an error without message for it, by
// what the source delivers from it, and by a pod that is made of it or gone.
func (m *Model) SourceErrors() []SourceError {
	out := make([]SourceError, 0, len(m.sources))
	for _, es := range m.sources {
		out = append(out, es...)
	}
	slices.SortStableFunc(out, func(a, b SourceError) int {
		return cmp.Or(cmp.Compare(a.Source, b.Source), cmp.Compare(a.Path, b.Path), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Message, b.Message))
	})
	return out
}

func (s sourceErrors) add(r *trace.Record, e *trace.SourceError) {
	k := evidence.ManifestOf(e.Source, e.Path, r.Pod)
	if e.Message == "" {
		delete(s, k)
		return
	}
	es, known := s[k]
	if !known && len(s) >= maxSourceFiles {
		return
	}
	es = slices.DeleteFunc(es, func(o SourceError) bool {
		return o.Line == e.Line && o.Field == e.Field && o.Message == e.Message
	})
	if len(es) < maxErrorsOfFile {
		es = append(es, SourceError{At: r.At(), Pod: r.Pod, SourceError: *e})
	}
	s[k] = es
}

// delivered clears the errors of what a source delivered.
func (s sourceErrors) delivered(r *trace.Record, e *trace.Source) {
	if evidence.Delivered(r, e) {
		delete(s, evidence.ManifestOf(e.Source, e.Path, r.Pod))
	}
}
