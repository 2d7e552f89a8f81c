package semaphore

import "time"

// Bounds are the limits of a width that adapts.
type Bounds struct {
	// Min and Max are the smallest and the largest number of slots.
	Min, Max int
}

// sample is one piece of successful work that began and ended while others waited, so that the width limited it.
type sample struct {
	kind string
	took time.Duration
	// busy is the mean number of pieces of work in progress meanwhile.
	busy float64
	// width is the number of slots during all of it.
	width int
	at    time.Time
}

// change is a new width, and what it is based on.
type change struct {
	from, to int
	why      adaptation
	// gain is the throughput at the tried width relative to the one before, slower the duration of calls of the same kind;
	// 0 if it was not measured.
	gain, slower float64
	samples      int
}

// adaptation is the reason for a change.
type adaptation uint8

const (
	tries adaptation = iota
	adopts
	returns
	voids
)

const (
	// firstPause is the first pause between trials, in measurements, and maxHold the longest.
	firstPause, maxHold = 2, 64
	// epoch is the minimum number of samples of a measurement, perSlot the minimum for each slot.
	epoch, perSlot = 80, 4
	// grows and shrinks are shares of the relative step. A larger width must raise the throughput by the first; a smaller one
	// must not lower it by more than the second. They differ, so that noise does not move the width to and fro.
	grows, shrinks = 0.25, 0.1
	// other is the factor of the durations at one width that means that the load or the machine changed.
	other = 1.6
	// stale is the age at which measurements are not comparable with new ones.
	stale = 5 * time.Minute
)

// width finds the smallest number of slots with nearly the best throughput. It is pure: samples in, changes out.
//
// By Little's law, the throughput at a width is the number of pieces of work in progress divided by their duration. Pieces of
// different kinds are compared only with their own kind. The width is measured, then a neighbor: a quarter more or less,
// at least one. A neighbor that does not help is left, and the next trial is later each time. Compare TCP Vegas.
type width struct {
	bounds Bounds
	// size is the current width, home the last one that was adopted: they differ during a trial.
	size, home int
	down       bool // the direction of the current or next trial
	latest     bool // the direction of the trial that was adopted last, if moved
	moved      bool
	failed     int // consecutive trials that failed
	hold, wait int // measurements before the next trial; the length of the next pause
	base, now  profile
	last       time.Time
}

func newWidth(start int, b Bounds) *width {
	start = min(max(start, b.Min), b.Max)
	return &width{bounds: b, size: start, home: start, wait: firstPause}
}

// observe adds a sample. It returns true if the width changes.
func (w *width) observe(s sample) (change, bool) {
	if s.width != w.size || s.took <= 0 || s.busy <= 0 {
		return change{}, false
	}
	old := !w.last.IsZero() && s.at.Sub(w.last) > stale
	w.last = s.at
	if old {
		w.base = profile{}
		if c, ok := w.void(); ok {
			return c, true
		}
	}
	w.now.add(s, &w.base)
	if w.now.n < max(epoch, perSlot*w.size) {
		return change{}, false
	}
	now := w.now
	w.now = profile{}
	if w.size != w.home {
		return w.judge(now)
	}
	return w.measured(now)
}

// void drops the current measurement: work hangs, so it says nothing about the width. It ends a trial.
func (w *width) void() (change, bool) {
	w.now = profile{}
	if w.size == w.home {
		return change{}, false
	}
	c := change{from: w.size, to: w.home, why: voids}
	w.size = w.home
	return c, true
}

// measured handles a measurement at the adopted width.
func (w *width) measured(now profile) (change, bool) {
	if r, ok := compare(w.base, now); ok && (r.slower > other || r.slower < 1/other) {
		w.failed, w.wait, w.moved = 0, firstPause, false // another load: what failed before may work now
		w.hold = min(w.hold, 1)
	}
	w.base.merge(now)
	if w.hold > 0 {
		w.hold--
		return change{}, false
	}
	return w.try()
}

// try begins a trial of a neighbor, in the other direction if there is none in this one.
func (w *width) try() (change, bool) {
	for range 2 {
		if to := w.neighbor(); to != w.size {
			c := change{from: w.size, to: to, why: tries, samples: w.base.n}
			w.size = to
			return c, true
		}
		w.fail()
	}
	return change{}, false
}

func (w *width) neighbor() int {
	step := max(1, w.home/4)
	if w.down {
		step = -step
	}
	return min(max(w.home+step, w.bounds.Min), w.bounds.Max)
}

// judge ends a trial.
func (w *width) judge(now profile) (change, bool) {
	r, ok := compare(w.base, now)
	step := float64(w.size)/float64(w.home) - 1
	need := 1 + grows*step
	if w.down {
		need = 1 + shrinks*step
	}
	c := change{from: w.home, to: w.size, why: adopts, gain: r.gain, slower: r.slower, samples: now.n}
	if ok && r.gain >= need {
		if w.moved && w.down != w.latest { // to and fro: both are about as good
			w.pause()
		}
		w.moved, w.latest = true, w.down
		w.home, w.base, w.failed = w.size, now, 0
		return c, true
	}
	c.from, c.to, c.why = w.size, w.home, returns
	w.size = w.home
	if ok {
		w.fail()
	} else {
		w.base = profile{} // other kinds of work now: measure again
	}
	return c, true
}

// fail notes that a direction does not help: the other one is next, and after both a pause.
func (w *width) fail() {
	w.down = !w.down
	if w.failed++; w.failed >= 2 {
		w.failed = 0
		w.pause()
	}
}

// pause delays the next trial, each time for longer.
func (w *width) pause() {
	w.hold, w.wait = w.wait, min(2*w.wait, maxHold)
}
