package model

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
)

// Line is one line of the log view.
type Line struct {
	Seq   uint64
	At    time.Time
	Level string // debug, info, warn, error
	// Kind is the kind of the event it was made of, as log or node.event.
	Kind string
	Pod  trace.Pod
	// Reason is the CamelCase reason of a node event, else "".
	Reason string
	Text   string
}

// Lines returns the last log lines, node events, source errors and changes of the
// agent's state, oldest first.
func (m *Model) Lines() []Line { return m.lines.List() }

func (m *Model) addLine(r *trace.Record) {
	l := Line{Seq: r.Seq, At: r.At(), Level: "info", Kind: r.Event.Kind().String(), Pod: r.Pod}
	switch e := r.Event.(type) {
	case *trace.Log:
		l.Level, l.Text = cmp.Or(e.Level, "info"), e.Message
		for _, a := range e.Attrs {
			l.Text += " " + a.K + "=" + a.V
		}
	case *trace.NodeEvent:
		if e.Type == "Warning" {
			l.Level = "warn"
		}
		l.Reason, l.Text = e.Reason, nodeEventText(e)
	case *trace.SourceError:
		l.Text = SourceErrorText(e)
		if e.Message != "" {
			l.Level = "error"
		}
	case *trace.Agent:
		l.Text = strings.TrimSpace("agent " + e.State + " " + e.Reason)
		if e.State == "degraded" {
			l.Level = "warn"
		}
	case *trace.PLEGMode:
		l.Text = strings.TrimSpace("PLEG " + e.Mode + " " + e.Reason)
	default:
		return
	}
	m.lines.Push(l)
}

// nodeEventText is a node event's message, after the container that its field names.
func nodeEventText(e *trace.NodeEvent) string {
	if _, rest, ok := strings.Cut(e.Field, "{"); ok {
		return strings.TrimSuffix(rest, "}") + ": " + e.Message
	}
	return e.Message
}

// SourceErrorText is a source error in one line, as compilers print theirs, or that
// it is over.
func SourceErrorText(e *trace.SourceError) string {
	text := cmp.Or(e.Path, e.Source)
	switch {
	case e.Message == "" && e.Gone:
		return text + " is gone"
	case e.Message == "":
		return text + " is good again"
	}
	if e.Line > 0 {
		text = fmt.Sprintf("%s:%d", text, e.Line)
	}
	if e.Field != "" {
		text += ": " + e.Field
	}
	text += ": " + e.Message
	if e.Kept {
		text += " (the earlier version stays in force)"
	}
	return text
}
