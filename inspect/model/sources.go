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
	At  time.Time
	Pod trace.Pod // zero when it never became one
	trace.SourceError
}

// sourceErrors are the current errors by source and file, or pod where no file is known.
type sourceErrors map[[2]string]SourceError

func sourceKey(source, path string, pod trace.Pod) [2]string {
	return [2]string{source, cmp.Or(path, pod.String())}
}

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
	k := sourceKey(e.Source, e.Path, r.Pod)
	if _, known := s[k]; known || len(s) < maxSourceErrors {
		s[k] = SourceError{At: r.At(), Pod: r.Pod, SourceError: *e}
	}
}

// source clears the error of a file from which a pod came meanwhile.
func (s sourceErrors) source(r *trace.Record, e *trace.Source) {
	if e.Path != "" || !r.Pod.IsZero() {
		delete(s, sourceKey(e.Source, e.Path, r.Pod))
	}
}
