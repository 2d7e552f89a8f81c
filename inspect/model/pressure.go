package model

import (
	"cmp"
	"slices"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/sorting"
)

// Pressure is the last usage of one of the node's resources.
type Pressure struct {
	At  time.Time
	Seq uint64 // its record's number
	trace.Pressure
}

// Percent returns the use in percent, -1 if the capacity is unknown.
func (p Pressure) Percent() int {
	if p.Capacity <= 0 {
		return -1
	}
	return int(100 * float64(p.Used) / float64(p.Capacity))
}

// Pressure returns the last figures per signal: memory, nodefs, imagefs, then others by name.
func (m *Model) Pressure() []Pressure {
	out := make([]Pressure, 0, len(m.pressure))
	for _, p := range m.pressure {
		out = append(out, p)
	}
	order := []trace.Signal{trace.SignalMemory, trace.SignalNodeFS, trace.SignalImageFS}
	rank := func(p *Pressure) int {
		if i := slices.Index(order, p.Signal); i >= 0 {
			return i
		}
		return len(order)
	}
	sorting.Stable(out, func(a, b *Pressure) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a.Signal, b.Signal))
	})
	return out
}

// maxSignals limits the number of signals.
const maxSignals = 64

func (m *Model) applyPressure(r *trace.Record, e *trace.Pressure) {
	if _, known := m.pressure[string(e.Signal)]; known || len(m.pressure) < maxSignals {
		m.pressure[string(e.Signal)] = Pressure{At: r.At(), Seq: r.Seq, Pressure: *e}
		m.keepPressure(m.pressure[string(e.Signal)])
	}
}

// Eviction is the last round of the eviction manager that found too little of something; its At is zero if there was none.
type Eviction struct {
	At  time.Time
	Seq uint64 // its record's number
	trace.Eviction
}

// Eviction returns the last round of the eviction manager that found too little of something.
func (m *Model) Eviction() Eviction { return m.eviction }
