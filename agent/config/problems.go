package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kubeloupe/kubeloupe/trace/human"
	"github.com/kubeloupe/kubeloupe/trace/sorting"
)

// A Problem is one thing that is wrong with the configuration.
type Problem struct {
	// File is where the value was written; empty for a flag, or if it was not written anywhere.
	File string
	// Line counts from 1; 0 if unknown.
	Line int
	// Field is the field path, for example evictionHard["memory.available"], or a flag, for example --node-labels.
	Field string
	// Flag is the flag, with its dashes, that set the field, if one did.
	Flag string
	// Detail describes the error and what would be right.
	Detail string
}

// Errors has all problems of a configuration. Load returns it as its error.
type Errors struct {
	// File is the --config file, or empty.
	File string
	// Problems has at least one entry: files first, in the order in which they were read, each by line.
	Problems []Problem
}

// Error returns a header with the file's name, then one line for each problem.
func (e *Errors) Error() string {
	var b strings.Builder
	subject := "configuration"
	if e.File != "" {
		subject += " " + e.File
	}
	noun := "problem"
	if len(e.Problems) != 1 {
		noun += "s"
	}
	fmt.Fprintf(&b, "%s is not valid (%d %s):", subject, len(e.Problems), noun)
	for _, p := range e.Problems {
		b.WriteString("\n  ")
		b.WriteString(p.within(e.File))
	}
	return b.String()
}

// String returns the problem on one line, with its location.
func (p Problem) String() string { return p.within("") }

// within omits the file's name if header already has it.
func (p Problem) within(header string) string {
	var parts []string
	switch {
	case p.File != "" && p.File != header && p.Line > 0:
		parts = append(parts, fmt.Sprintf("%s line %d", p.File, p.Line))
	case p.File != "" && p.File != header:
		parts = append(parts, p.File)
	case p.Line > 0:
		parts = append(parts, fmt.Sprintf("line %d", p.Line))
	}
	switch {
	case p.Field != "" && p.Flag != "":
		parts = append(parts, fmt.Sprintf("%s (%s)", p.Field, p.Flag))
	case p.Field != "":
		parts = append(parts, p.Field)
	case p.Flag != "":
		parts = append(parts, p.Flag)
	}
	// A key of a file can contain line breaks, and so can the text about its value.
	return human.Line(strings.Join(append(parts, p.Detail), ": "))
}

// origin is where a field's value was written.
type origin struct {
	file string
	line int
	flag string
}

// report collects problems and remembers where each field was written.
type report struct {
	problems []Problem
	at       map[string]origin
}

func newReport() *report { return &report{at: map[string]origin{}} }

// add adds a problem with the field, at the line where the field, or its parent, was written.
func (r *report) add(field, format string, args ...any) {
	p := Problem{Field: field, Detail: fmt.Sprintf(format, args...)}
	for path := field; path != ""; path = parent(path) {
		if o, ok := r.at[path]; ok {
			p.File, p.Line, p.Flag = o.file, o.line, o.flag
			break
		}
	}
	r.problems = append(r.problems, p)
}

// errors returns nil if there are no problems. files has the order in which files were read.
func (r *report) errors(main string, files []string) error {
	if len(r.problems) == 0 {
		return nil
	}
	rank := func(p *Problem) int {
		if i := slices.Index(files, p.File); i >= 0 {
			return i
		}
		return len(files)
	}
	sorting.Stable(r.problems, func(a, b *Problem) int {
		if d := rank(a) - rank(b); d != 0 {
			return d
		}
		return a.Line - b.Line
	})
	return &Errors{File: main, Problems: r.problems}
}

// parent returns the path of the field's parent, or empty.
func parent(path string) string {
	if strings.HasSuffix(path, "]") {
		if i := strings.LastIndex(path, "["); i >= 0 {
			return path[:i]
		}
	}
	if i := strings.LastIndex(path, "."); i >= 0 {
		return path[:i]
	}
	return ""
}

// forgetBelow removes the origins of the entries of a list or map that a flag has replaced.
func (r *report) forgetBelow(path string) {
	for p := range r.at {
		if strings.HasPrefix(p, path+"[") {
			delete(r.at, p)
		}
	}
}
