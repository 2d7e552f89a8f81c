package model

import (
	"cmp"

	"github.com/kubeloupe/kubeloupe/inspect/internal/ring"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/sorting"
)

// pressureSamples is how many figures of a signal are kept: ten minutes, at one every 10 s.
const pressureSamples = 60

// PressureHistory returns the last figures of a signal, oldest first.
func (m *Model) PressureHistory(signal string) []Pressure {
	h := m.pressed[signal]
	if h == nil {
		return nil
	}
	return h.List()
}

// Shortages returns the last verdict on each signal with an eviction threshold, by signal.
func (m *Model) Shortages() []Decision {
	out := make([]Decision, 0, len(m.short))
	for _, d := range m.short {
		out = append(out, d)
	}
	sorting.Stable(out, func(a, b *Decision) int { return cmp.Compare(a.Subject, b.Subject) })
	return out
}

func (m *Model) keepPressure(p Pressure) {
	h := m.pressed[string(p.Signal)]
	if h == nil {
		h = new(ring.New[Pressure](pressureSamples))
		m.pressed[string(p.Signal)] = h
	}
	h.Push(p)
}

// judged records a verdict on a shortage.
func (m *Model) judged(r *trace.Record, e *trace.Decision) {
	if e.By != trace.ByPressure {
		return
	}
	if _, known := m.short[e.Subject]; known || len(m.short) < maxSignals {
		m.short[e.Subject] = Decision{Seq: r.Seq, At: r.At(), Pod: r.Pod, Decision: *e}
	}
}
