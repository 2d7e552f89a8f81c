package podsource

import (
	"strconv"
	"strings"

	"github.com/kubeloupe/kubeloupe/trace"
)

// Problem is one reason why a manifest is invalid. It is comparable and an error.
type Problem struct {
	// Path is the file, as configured.
	Path string
	// Line counts from 1; 0 if unknown.
	Line int
	// Field is the path of the field, such as spec.containers[0].image; "" means the whole document.
	Field   string
	Message string
}

// Error returns path:line: field: message, without the unknown parts.
func (p Problem) Error() string {
	var b strings.Builder
	b.WriteString(p.Path)
	if p.Line > 0 {
		b.WriteString(":" + strconv.Itoa(p.Line))
	}
	if p.Field != "" {
		b.WriteString(": " + p.Field)
	}
	b.WriteString(": " + p.Message)
	return b.String()
}

// warn publishes warnings that have not been published, and adds them to present.
func warn(bus *trace.Bus, span trace.Span, warnings []Problem, published, present map[Problem]bool) {
	for _, w := range warnings {
		if !published[w] && !present[w] {
			trace.Point(bus, span, trace.Log{Level: trace.LevelWarn, Message: w.Error()})
		}
		present[w] = true
	}
}

func (p Problem) event(source trace.SourceName, kept bool) trace.SourceError {
	return trace.SourceError{Source: source, Path: p.Path, Line: p.Line, Field: p.Field, Message: p.Message, Kept: kept}
}
