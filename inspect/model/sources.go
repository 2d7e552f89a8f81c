package model

import (
	"cmp"
	"slices"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
)

// maxSourceErrors bounds how many files' errors are remembered.
const maxSourceErrors = 200

// SourceError is what is wrong with one manifest now.
type SourceError struct {
	At time.Time
	trace.SourceError
}

// sourceErrors are the current errors by source and file.
type sourceErrors map[[2]string]SourceError

// SourceErrors returns the errors not known to be mended, by path.
func (m *Model) SourceErrors() []SourceError {
	out := make([]SourceError, 0, len(m.sources))
	for _, e := range m.sources {
		out = append(out, e)
	}
	slices.SortFunc(out, func(a, b SourceError) int {
		return cmp.Or(cmp.Compare(a.Source, b.Source), cmp.Compare(a.Path, b.Path))
	})
	return out
}

func (s sourceErrors) add(r *trace.Record, e *trace.SourceError) {
	k := [2]string{e.Source, e.Path}
	if _, known := s[k]; known || len(s) < maxSourceErrors {
		s[k] = SourceError{At: r.At(), SourceError: *e}
	}
}

// source clears the error of a file from which a pod came meanwhile.
func (s sourceErrors) source(e *trace.Source) {
	if e.Path != "" {
		delete(s, [2]string{e.Source, e.Path})
	}
}
