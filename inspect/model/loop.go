package model

import (
	"slices"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
)

const (
	// maxCaused limits Loop.Caused.
	maxCaused = 16
	// maxEffect is the size in bytes from which the record of an effect is cut.
	maxEffect = 4 << 10
)

// Loop is one syncLoop iteration.
type Loop struct {
	N         uint64
	Case      trace.LoopCase
	Op        trace.LoopOp
	Pods      int
	Detail    string
	Begin     time.Time
	Dur       time.Duration // 0 while it runs
	Idle      time.Duration
	Running   bool
	Uncertain bool // its end may have been lost
	// Children counts its direct effects; Caused has the first 16.
	Children int
	Caused   []Effect
}

// loop is a Loop being folded.
type loop struct {
	Loop
	span trace.SpanID
}

// Effect is something that a loop iteration caused.
type Effect struct {
	Pod   trace.Pod
	Event trace.Event // as it began; do not change it. Its long texts are cut
}

// Loops returns the last iterations, oldest first.
func (m *Model) Loops() []Loop {
	out := m.AppendLoops(make([]Loop, 0, m.loops.Len()))
	for i := range out {
		out[i].Caused = slices.Clone(out[i].Caused)
	}
	return out
}

// AppendLoops appends the last iterations to dst, oldest first. It shares their effects with the model: they must not be changed.
func (m *Model) AppendLoops(dst []Loop) []Loop {
	m.loops.Each(func(l *loop) {
		c := l.Loop
		c.Caused = slices.Clip(c.Caused) // more are only appended
		dst = append(dst, c)
	})
	return dst
}

func (m *Model) applyLoop(r *trace.Record, e *trace.Loop) {
	l := m.loopOf[r.Span]
	if l == nil {
		l = &loop{Loop: Loop{Begin: at(r.Start())}, span: r.Span}
		if old, displaced := m.loops.Push(l); displaced {
			delete(m.loopOf, old.span)
		}
		m.loopOf[r.Span] = l
	}
	l.N, l.Case, l.Op, l.Pods, l.Detail, l.Idle = e.N, e.Case, e.Op, e.Pods, e.Detail, e.Idle
	if r.Edge == trace.EdgeBegin {
		l.Running = true
		m.begin(func() { l.Running = false }, func() { l.Uncertain = true })
		return
	}
	m.end()
	l.Running, l.Uncertain, l.Dur = false, false, r.Dur
	m.node.LastLoop = r.At()
}

// countChild adds an effect to its loop iteration.
func (m *Model) countChild(r *trace.Record) {
	if r.Edge == trace.EdgeEnd || r.Parent == 0 {
		return
	}
	l := m.loopOf[r.Parent]
	if l == nil {
		return
	}
	l.Children++
	if len(l.Caused) < maxCaused {
		kept := trace.Record{Event: r.Event}
		if kept.Size() > maxEffect {
			kept.Shorten()
		}
		l.Caused = append(l.Caused, Effect{Pod: r.Pod, Event: kept.Event})
	}
}
