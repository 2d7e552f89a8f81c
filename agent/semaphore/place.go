package semaphore

import (
	"context"
	"slices"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
)

// Place is one of the slots, until it is released. All fields are guarded by the slots' lock.
type Place struct {
	slots *Slots
	turn  Turn
	since time.Time
	idle  time.Time // since when it has no work
	works []*Work
	gone  bool // released, or given away
	over  bool // given away
}

// Work is one piece of work at a place.
type Work struct {
	place *Place
	kind  string
	span  trace.Span
	began time.Time
	since time.Time // began, or when it last got on
	left  time.Time // when it overstayed
	ended time.Time
}

// Begin begins work of a kind, such as sandbox, in the slot. It returns false if the slot is no longer the caller's, because the
// work took too long, or because the slot was used for long while others wait. Then the caller has to Acquire again. End follows.
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
	if well {
		s.lately.learn(w.kind, now.Sub(w.began))
	}
}

// GetsOn says that the work is seen to get on: only the time from then on counts.
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
	p.slots.fill(now)
}

// Overstayed reports whether the slot was released because its work took too long.
func (p *Place) Overstayed() bool {
	p.slots.mu.Lock()
	defer p.slots.mu.Unlock()
	return p.over
}

// due is when the place is overstayed, and by which work; nil when it has none. Called with the lock held.
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
