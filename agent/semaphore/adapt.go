package semaphore

import (
	"fmt"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
)

// load integrates the number of pieces of work in progress over time.
type load struct {
	busy int
	area time.Duration
	at   time.Time
}

func (l *load) step(now time.Time, by int) {
	if l.busy > 0 {
		l.area += time.Duration(l.busy) * now.Sub(l.at)
	}
	l.busy += by
	l.at = now
}

// adapting is the state of slots whose number adapts. Guarded by the slots' mu.
type adapting struct {
	fixed   int // the number of slots at first
	bounds  Bounds
	widths  map[string]*width // by class
	load    load
	resizes int    // how often the number of slots changed
	begun   uint64 // grants when somebody began to wait
}

// mark is the state of the slots when a piece of work began.
type mark struct {
	area      time.Duration
	size      int
	resizes   int
	saturated bool
}

// mark returns the current state. The first turns of a burst do not count: all of them make the same calls at the same time.
// Called with mu, after load.step.
func (s *Slots) mark() mark {
	return mark{area: s.load.area, size: s.size, resizes: s.resizes, saturated: s.waiting > 0 && s.grants-s.begun > uint64(s.size)}
}

// Width returns the current number of slots.
func (s *Slots) Width() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.size
}

// widthOf returns the width of a class; nil if it does not adapt. Large work and work that overstayed before says nothing about
// the width. Called with mu.
func (s *Slots) widthOf(t *Turn) *width {
	if s.bounds.Max == 0 || t.Large || t.Slow {
		return nil
	}
	w := s.widths[t.Class]
	if w == nil && len(s.widths) < maxKinds {
		if s.widths == nil {
			s.widths = map[string]*width{}
		}
		first := s.fixed
		if t.Class == s.wide && t.Class != "" {
			first = s.bounds.Max
		}
		w = newWidth(first, s.bounds)
		s.widths[t.Class] = w
	}
	return w
}

// resize makes the number of slots that of the classes which work or wait: the smallest, if there are several. Called with mu.
func (s *Slots) resize() {
	size := 0
	for name := range s.classes {
		if w := s.widths[name]; w != nil && (size == 0 || w.size < size) {
			size = w.size
		}
	}
	if size != 0 && size != s.size {
		s.size = size
		s.resizes++
	}
}

// adapt gives a piece of successful work to its class's width, if others waited for the same slots all the time. Called with
// mu, after load.step.
func (s *Slots) adapt(w *Work, now time.Time) {
	wide := s.widthOf(&w.place.turn)
	took := now.Sub(w.began)
	if wide == nil || took <= 0 || w.place.gone || !w.mark.saturated || s.waiting == 0 || w.mark.resizes != s.resizes {
		return
	}
	c, changed := wide.observe(sample{
		kind: w.kind, took: took, busy: float64(s.load.area-w.mark.area) / float64(took), width: s.size, at: now,
	})
	if changed {
		s.changed(w.span, w.place.turn.Class, c)
		s.fill(now)
	}
}

// hangs voids the measurement of a class whose work overstayed. Called with mu.
func (s *Slots) hangs(p *Place) {
	if w := s.widthOf(&p.turn); w != nil {
		if c, ok := w.void(); ok {
			s.changed(trace.Span{Pod: p.turn.Pod}, p.turn.Class, c)
		}
	}
}

// changed publishes a new width. Called with mu.
func (s *Slots) changed(span trace.Span, class string, c change) {
	s.resize()
	d := trace.Decision{
		By: trace.BySlots, Subject: class, Verdict: trace.VerdictWidth, Reason: c.why.reason(s.name),
		Inputs: []trace.KV{{K: "from", V: fmt.Sprint(c.from)}, {K: "to", V: fmt.Sprint(c.to)}, {K: "samples", V: fmt.Sprint(c.samples)}},
	}
	if c.gain > 0 {
		d.Inputs = append(d.Inputs, trace.KV{K: "throughput", V: fmt.Sprintf("×%.2f", c.gain)}, trace.KV{K: "duration", V: fmt.Sprintf("×%.2f", c.slower)})
	}
	trace.Point(s.bus, span, d)
}

func (a adaptation) reason(slots string) string {
	switch a {
	case adopts:
		return "the tried number of slots of the " + slots + " is better: it stays"
	case returns:
		return "the tried number of slots of the " + slots + " is not better: the earlier one is used again"
	case voids:
		return "work hangs or the measurement is too old: the earlier number of slots of the " + slots + " is used again"
	case tries:
	}
	return "another number of slots of the " + slots + " is tried, and its throughput is measured"
}
