package model

import (
	"cmp"
	"slices"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/evidence"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/sorting"
)

// The limits of source errors: files, and errors of each.
const (
	maxSourceFiles  = 200
	maxErrorsOfFile = 10
)

// SourceError is a current error of one manifest.
type SourceError struct {
	At  time.Time
	Pod trace.Pod // zero if there never was one
	trace.SourceError
}

// sourceErrors are the current errors by source and file, or pod where no file is known.
type sourceErrors map[evidence.Manifest][]SourceError

// SourceErrors returns the current errors, by source and path. A file's errors end with an error without a message for
// it, a delivery of the source from it, and the creation or removal of its pod.
func (m *Model) SourceErrors() []SourceError {
	out := make([]SourceError, 0, len(m.sources))
	for _, es := range m.sources {
		out = append(out, es...)
	}
	sorting.Stable(out, func(a, b *SourceError) int {
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
