package klog

import (
	"strings"
	"time"

	"github.com/kubeloupe/kubeloupe/trace/human"
)

// The bounds of one entry. What is beyond them is left out, and [Entry.Cut] is set.
const (
	MaxEntry  = 256 << 10 // bytes of an entry, with its further lines
	maxFields = 64        // keys of an entry
	maxDepth  = 64        // brackets in brackets
	maxList   = 4096      // elements of a list
)

// Severity is how bad an entry is: I, W, E or F.
type Severity byte

// The severities.
const (
	Info    Severity = 'I'
	Warning Severity = 'W'
	Error   Severity = 'E'
	Fatal   Severity = 'F'
)

// Entry is one entry of a log.
type Entry struct {
	// Time is when it was made. In text the header has neither a year nor a zone: [Clock] adds them.
	Time     time.Time
	Severity Severity
	// PID is the process's number in text; 0 in JSON, which has none.
	PID int
	// File is the source file, Line its line. They differ between versions: nothing should depend on them.
	File string
	Line int
	// Msg is the message; Free says that it is free text, without keys.
	Msg  string
	Free bool
	// V is the verbosity that JSON tells; -1 where it is not known.
	V      int
	Logger string
	Fields []Field
	// Cut says that something is missing: the entry was too long, or ends within a value.
	Cut bool
}

// Field is a key with its value.
type Field struct {
	Key string
	// Value is a string without its quotes, or the text of any other value.
	Value string
}

// Size is about how many bytes the entry has.
func (e *Entry) Size() int {
	n := len(e.Msg)
	for i := range e.Fields {
		n += len(e.Fields[i].Key) + len(e.Fields[i].Value)
	}
	return n
}

// Get returns the value of a key, "" where there is none.
func (e *Entry) Get(key string) string {
	for i := range e.Fields {
		if e.Fields[i].Key == key {
			return e.Fields[i].Value
		}
	}
	return ""
}

// List returns the elements of a list that is the value of a key: ["a/b","c/d"], or [a/b c/d] as before Kubernetes 1.26.
func (e *Entry) List(key string) []string {
	v := strings.TrimSpace(e.Get(key))
	v, ok := strings.CutPrefix(v, "[")
	if !ok {
		return nil
	}
	return elements(strings.TrimSuffix(v, "]"))
}

// elements divides what is between the brackets of a list.
func elements(v string) (out []string) {
	for len(out) < maxList {
		v = strings.TrimLeft(v, " ,")
		switch {
		case v == "":
			return out
		case v[0] == '"':
			s, rest, ok := unquote(v)
			if out = append(out, human.Visible(s)); !ok {
				return out
			}
			v = rest
		case v[0] == '{':
			n, _ := bracket(v)
			out, v = append(out, object(v[:n])), v[n:]
		default:
			n := strings.IndexAny(v, " ,")
			if n < 0 {
				n = len(v)
			}
			out, v = append(out, v[:n]), v[n:]
		}
	}
	return out
}
