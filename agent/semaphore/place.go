package semaphore

import (
	"context"
	"slices"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
)

// Place is one of the slots, until it is released. All fields are guarded by the slots' mu.
type Place struct {
	slots *Slots
	turn  Turn
	since time.Time
	idle  time.Time // since when it has had no work
	works []*Work
	gone  bool // released, or taken away
	over  bool // taken away
}

// Work is one piece of work in a slot.
type Work struct {
	place *Place
	kind  string
	span  trace.Span
	began time.Time
	since time.Time // began, or last made progress
	left  time.Time // when it overstayed
	ended time.Time
	mark  mark
}

// Begin begins work of a kind, such as sandbox, in the slot. It returns false if the slot is no longer the caller's,
// because the work took too long, or because the slot was in use for too long while others wait. Then the caller must
// call Acquire again. End must follow.
func (p *Place) Begin(ctx context.Context, kind string) (*Work, bool) {
	s := p.slots
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	if !p.gone && s.waiting > 0 && len(p.works) == 0 && now.Sub(p.since) >= s.pace.Ceiling {
		p.over = true
		p.release(now)
	}
	if p.gone {
		return nil, false
	}
	w := &Work{place: p, kind: kind, span: trace.FromContext(ctx), began: now, since: now}
	s.load.step(now, 1)
	w.mark = s.mark()
	p.works = append(p.works, w)
	s.fill(now) // it may be due before all others
	return w, true
}

// End ends the work; well says that its duration is a sample of such work.
func (w *Work) End(well bool) {
	s := w.place.slots
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	w.ended = now
	w.place.works = slices.DeleteFunc(w.place.works, func(o *Work) bool { return o == w })
	if len(w.place.works) == 0 {
		w.place.idle = now
		delete(s.outside, w.place)
	}
	s.load.step(now, -1)
	if well {
		s.lately.learn(w.kind, now.Sub(w.began))
		s.adapt(w, now)
	}
}

// GetsOn says that the work makes progress: its duration is counted from then on.
func (w *Work) GetsOn() {
	s := w.place.slots
	s.mu.Lock()
	defer s.mu.Unlock()
	w.since = time.Now()
}

// Release releases the slot. Work that is still in progress continues without a slot. A second Release has no effect.
func (p *Place) Release() {
	p.slots.mu.Lock()
	defer p.slots.mu.Unlock()
	p.release(time.Now())
}

func (p *Place) release(now time.Time) {
	if p.gone {
		return
	}
	p.gone = true
	p.slots.free(p)
	p.slots.tail(now)
	p.slots.fill(now)
}

// Overstayed reports whether the slot was released because its work took too long.
func (p *Place) Overstayed() bool {
	p.slots.mu.Lock()
	defer p.slots.mu.Unlock()
	return p.over
}

// due returns when the slot will be overstayed, and by which work; nil if it has none. Called with mu.
func (p *Place) due() (at time.Time, by *Work) {
	s := p.slots
	for _, w := range p.works {
		if t := w.since.Add(s.pace.patience(s.lately.taken(w.kind))); by == nil || t.Before(at) {
			at, by = t, w
		}
	}
	if by == nil {
		at = p.idle.Add(s.pace.Ceiling)
	}
	return at, by
}
