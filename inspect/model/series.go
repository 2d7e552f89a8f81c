package model

import (
	"iter"
	"time"
)

// CallTimes yields when CRI calls ended and how long they took, the newest first: those of one method, or of all for "".
func (m *Model) CallTimes(method string) iter.Seq2[time.Time, time.Duration] {
	return func(yield func(time.Time, time.Duration) bool) {
		m.samples.Back(func(s sample) bool { return method != "" && s.method != method || yield(at(s.end), s.dur) })
	}
}

// LoopTimes yields when iterations of the loop ended and how long they took, the newest first.
func (m *Model) LoopTimes() iter.Seq2[time.Time, time.Duration] {
	return func(yield func(time.Time, time.Duration) bool) {
		m.loops.Back(func(l *loop) bool { return l.Running || yield(l.Begin.Add(l.Dur), l.Dur) })
	}
}

// usages is how many figures of the usage of the machine are kept: five minutes, at one a second.
const usages = 300

// UsageHistory yields the last figures of the usage of the machine and of the agent, the newest first.
func (m *Model) UsageHistory() iter.Seq[*Usage] {
	return func(yield func(*Usage) bool) { m.used.Back(yield) }
}
