package model

import (
	"cmp"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/say"
	"github.com/kubeloupe/kubeloupe/trace/sorting"
)

// Line is one line of the log view.
type Line struct {
	Seq   uint64
	At    time.Time
	Level trace.LogLevel
	// Kind is the kind of its event, for example log or node.event.
	Kind string
	Pod  trace.Pod
	// Reason is the CamelCase reason of a node event, otherwise "".
	Reason string
	Text   string
}

// Lines returns the last log lines, node events, source errors and changes of the
// agent's state, oldest first.
func (m *Model) Lines() []Line {
	all := append(m.lines.List(), m.alarms.List()...)
	sorting.Stable(all, func(a, b *Line) int { return cmp.Compare(a.Seq, b.Seq) })
	return all
}

func (m *Model) addLine(r *trace.Record) {
	l := Line{Seq: r.Seq, At: r.At(), Level: trace.LevelInfo, Kind: r.Event.Kind().String(), Pod: r.Pod}
	switch e := r.Event.(type) {
	case *trace.Log:
		l.Level, l.Text = cmp.Or(e.Level, trace.LevelInfo), say.Log(e)
	case *trace.NodeEvent:
		if e.Type == trace.EventWarning {
			l.Level = trace.LevelWarn
		}
		l.Reason, l.Text = e.Reason, say.NodeEvent(e)
	case *trace.SourceError:
		l.Text = say.SourceError(e)
		if e.Message != "" {
			l.Level = trace.LevelError
		}
	case *trace.Agent:
		l.Text = say.Agent(e)
		if e.State == trace.AgentDegraded {
			l.Level = trace.LevelWarn
		}
	case *trace.Eviction:
		if e.Outcome == trace.EvictionNear {
			return
		}
		l.Level, l.Text = trace.LevelWarn, say.Eviction(e)
	case *trace.DevicePlugin:
		l.Text = say.DevicePlugin(e)
		if e.Op != trace.PluginRegistered && e.Op != trace.PluginDevices {
			l.Level = trace.LevelWarn
		}
	case *trace.DRAPlugin:
		l.Text = say.DRAPlugin(e)
		if e.Err != "" || e.Op == trace.DRAGone || e.Op == trace.DRADisconnected {
			l.Level = trace.LevelWarn
		}
	case *trace.Shutdown:
		if l.Text = say.Shutdown(e, r.Edge == trace.EdgeBegin); e.State != trace.ShutdownHeld && e.State != trace.ShutdownLast {
			l.Level = trace.LevelWarn
		}
	case *trace.SpanExport:
		if l.Text = say.SpanExport(e); e.State == trace.ExportFailing {
			l.Level = trace.LevelWarn
		}
	case *trace.PLEGMode:
		l.Text = say.PLEG(e)
	case *trace.OOMKill:
		l.Level, l.Text = trace.LevelWarn, say.OOM(e)
	default:
		return
	}
	if l.Level == trace.LevelWarn || l.Level == trace.LevelError {
		m.alarms.Push(l)
		return
	}
	m.lines.Push(l)
}
