package semaphore

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
)

// Slots limit concurrent work. Safe for concurrent use.
type Slots struct {
	name   string
	target trace.TargetKind
	pace   Pace
	wait   trace.WaitKind
	bus    *trace.Bus
	// modest is the class that leaves one slot to the others, wide the one that begins with as many as there may be.
	modest, wide string

	mu      sync.Mutex
	size    int    // the current number of slots
	seq     uint64 // number of arrivals
	grants  uint64
	waiting int
	classes map[string]*class
	// places are the slots in use; outside are those that were taken away while their work continues.
	places, outside map[*Place]struct{}
	left            []*Work // work that overstayed last, at most maxTold
	lately          lately
	adapting
	timer *time.Timer // fires when the next slot is overstayed; nil until somebody waits
}

// Config is the configuration of Slots.
type Config struct {
	// Name is the name of the slots in decisions and errors.
	Name string
	// Target is the target of the waits.
	Target trace.TargetKind
	// Size is the number of slots, at least 1. If Adapt has a Max, it is the first number, and changes with the durations of
	// the work, within these limits.
	Size  int
	Adapt Bounds
	Pace  Pace
	// Wait is the kind of the published waits; empty means queue.
	Wait trace.WaitKind
	Bus  *trace.Bus
	// Modest is a class that leaves one of several slots to the others, so that they always find it free. While others
	// work or wait, it has at most half of the slots, and so at most this share of the machine. Empty for none.
	Modest string
	// Wide is a class that begins with Adapt.Max slots instead of Size: its work mostly waits. While others work or wait,
	// it leaves one slot to them. Empty for none.
	Wide string
}

// New returns Slots that are all free.
func New(c Config) (*Slots, error) {
	if c.Size < 1 {
		return nil, fmt.Errorf("slots %s: %d slots: want at least 1", c.Name, c.Size)
	}
	if b := c.Adapt; b.Max != 0 && (b.Min < 1 || b.Min > c.Size || b.Max < c.Size) {
		return nil, fmt.Errorf("slots %s: from %d to %d slots, first %d: want at least 1, and the first within the limits", c.Name, b.Min, b.Max, c.Size)
	}
	if c.Wait == "" {
		c.Wait = trace.WaitQueue
	}
	return &Slots{
		target: c.Target,
		name:   c.Name, size: c.Size, adapting: adapting{fixed: c.Size, bounds: c.Adapt}, pace: c.Pace.orDefault(), wait: c.Wait, bus: c.Bus, modest: c.Modest, wide: c.Wide,
		classes: map[string]*class{}, places: map[*Place]struct{}{}, outside: map[*Place]struct{}{},
	}, nil
}

// Acquire waits for a slot. The caller must call Release. It returns ctx's error if ctx ends first.
func (s *Slots) Acquire(ctx context.Context, t Turn) (*Place, error) {
	s.mu.Lock()
	now := time.Now()
	if s.busy() < s.size && s.waiting == 0 && !s.full(t.class()) {
		defer s.mu.Unlock()
		return s.grant(t, now), nil
	}
	s.seq++
	w := &waiter{turn: t, seq: s.seq, grants: s.grants, ready: make(chan struct{})}
	s.join(w)
	busy, ahead, behind := len(s.places), s.waiting-1, s.holders()
	s.fill(now) // some may be overdue, because nobody waited
	size := s.size
	atOnce := w.place != nil && busy < size
	s.mu.Unlock()
	if atOnce { // only modest waiters exist, and leave this slot to others
		return w.place, nil
	}

	wait := trace.Wait{
		For: s.wait, Target: trace.Target{Kind: s.target}, Size: size, Busy: busy, Ahead: ahead, Large: t.Large,
		Behind: told(behind, now),
	}
	span := trace.Begin(s.bus, trace.FromContext(ctx), wait)
	defer func() {
		wait.Behind = s.stayed(behind, now)
		trace.End(s.bus, span, wait)
	}()
	select {
	case <-w.ready:
		return w.place, nil
	case <-ctx.Done():
	}
	s.mu.Lock()
	if w.index >= 0 {
		s.leave(w)
		s.fill(time.Now())
		s.mu.Unlock()
	} else {
		s.mu.Unlock()
		w.place.Release() // the slot was granted at the same moment
	}
	return nil, fmt.Errorf("waiting for a slot of %s: %w", s.name, context.Cause(ctx))
}

// Waiting reports whether anybody waits for a slot.
func (s *Slots) Waiting() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.waiting > 0
}

// Working reports whether anybody has a slot or waits for one.
func (s *Slots) Working() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.places) > 0 || s.waiting > 0
}

// Hangs reports whether work of a class has overstayed and still runs.
func (s *Slots) Hangs(class string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for p := range s.outside {
		if p.turn.Class == class {
			return true
		}
	}
	return false
}

// full reports whether a class has all the slots that it may have while others are free. Large work has one, when
// nobody else works, or after a number of turns of others. The modest class has all but one, or half of them while
// others work or wait. Called with mu.
func (s *Slots) full(class string) bool {
	c := s.classes[class]
	if class == largeClass {
		passed := c != nil && len(c.queue) > 0 && s.grants-max(c.last, c.queue[0].grants) >= slowEvery
		return c != nil && c.held > 0 || len(s.places) > 0 && !passed
	}
	if class == "" || s.size == 1 || c == nil {
		return false
	}
	if class == s.wide && s.mixed(c) {
		return c.held >= s.size-1
	}
	if class != s.modest {
		return false
	}
	if s.mixed(c) {
		return c.held >= s.size/2
	}
	return c.held >= s.size-1
}

// mixed reports whether others than this class work or wait. Called with mu.
func (s *Slots) mixed(c *class) bool { return len(s.places) > c.held || s.waiting > len(c.queue) }

// busy is the number of slots in use. What the wide class took while it was alone does not keep others waiting. Called with mu.
func (s *Slots) busy() int {
	c := s.classes[s.wide]
	if s.wide == "" || c == nil || s.size == 1 || !s.mixed(c) {
		return len(s.places)
	}
	return len(s.places) - max(0, c.held-(s.size-1))
}

// grant grants a free slot. Called with mu.
func (s *Slots) grant(t Turn, now time.Time) *Place {
	p := &Place{slots: s, turn: t, since: now, idle: now}
	s.places[p] = struct{}{}
	c := s.classes[t.class()]
	if c == nil {
		c = &class{}
		s.classes[t.class()] = c
	}
	s.grants++
	c.held++
	c.last = s.grants
	s.widthOf(&t)
	s.resize()
	return p
}

// admit grants a slot to one that waited. Called with mu.
func (s *Slots) admit(w *waiter, now time.Time) {
	w.place = s.grant(w.turn, now)
	close(w.ready)
}

// free frees a slot. Called with mu.
func (s *Slots) free(p *Place) {
	delete(s.places, p)
	s.classes[p.turn.class()].held--
	s.forget(p.turn.class())
	s.resize()
}

// fill grants free slots, takes slots away from overdue work for those who wait, and sets the timer for the next check.
// Called with mu, after every change.
func (s *Slots) fill(now time.Time) {
	s.resize()
	for s.waiting > 0 {
		if s.busy() < s.size {
			if w := s.first(); w != nil {
				s.admit(w, now)
				continue
			}
		}
		p, at := s.overdue()
		if p == nil || now.Before(at) {
			break
		}
		s.putOut(p, now)
	}
	if s.waiting == 0 {
		if s.timer != nil {
			s.timer.Stop()
		}
		return
	}
	if _, at := s.overdue(); !at.IsZero() {
		s.arm(at.Sub(now))
	}
}

func (s *Slots) arm(d time.Duration) {
	if s.timer == nil {
		s.timer = time.AfterFunc(d, s.look)
		return
	}
	s.timer.Reset(d)
}

// look is called by the timer.
func (s *Slots) look() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fill(time.Now())
}

// overdue returns the slot that will be overstayed first, and when; nil if there is none.
func (s *Slots) overdue() (first *Place, at time.Time) {
	for p := range s.places {
		if due, _ := p.due(); first == nil || due.Before(at) {
			first, at = p, due
		}
	}
	return first, at
}

// putOut takes a slot away from work that continues. Called with mu.
func (s *Slots) putOut(p *Place, now time.Time) {
	s.free(p)
	p.gone, p.over = true, true
	s.hangs(p)
	if len(p.works) > 0 {
		s.outside[p] = struct{}{}
	}
	_, w := p.due()
	kind, span, took := "nothing", trace.Span{Pod: p.turn.Pod}, now.Sub(p.idle)
	if w != nil {
		kind, span, took = w.kind, w.span, now.Sub(w.since)
		w.left = now
		s.left = append(s.left, w)
		s.left = s.left[max(0, len(s.left)-maxTold):]
	}
	known := s.lately.taken(kind)
	d := trace.Decision{
		By: trace.BySlots, Subject: kind, Verdict: trace.VerdictOverstays,
		Reason: "it takes clearly longer than usual while others wait: it continues without a slot of the " + s.name + ", and the next one gets the slot",
		Inputs: []trace.KV{
			{K: "took", V: took.Round(time.Millisecond).String()},
			{K: "patience", V: s.pace.patience(known).String()},
			{K: "outside", V: fmt.Sprint(len(s.outside))},
			{K: "waiting", V: fmt.Sprint(s.waiting)},
		},
	}
	if len(known) >= few {
		d.Inputs = append(d.Inputs, trace.KV{K: "usual", V: usual(known).Round(time.Millisecond).String()})
	}
	trace.Point(s.bus, span, d)
}
