package semaphore

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
)

// Hangs are no samples: the width keeps its value while one pod in five hangs, and adapts afterwards as before.
func TestHangsDoNotNarrow(t *testing.T) {
	for _, cpus := range []int{2, 8} {
		s := settled(cpus, 60, startCalls(), .2, 1)
		before := s.width.home
		for range 10 {
			s.burst(60, startCalls(), func(int) bool { return true })
			if s.width.home != before || s.width.size != before {
				t.Fatalf("%d CPUs: width %d, home %d after hangs, want %d", cpus, s.width.size, s.width.home, before)
			}
		}
		for range 10 {
			s.burst(60, startCalls(), func(i int) bool { return i%5 == 0 })
		}
		for range 60 {
			s.burst(60, startCalls(), nil)
		}
		_, got := fixed(cpus, s.width.home, 20*cpus, startCalls(), .2)
		if best, want := bestFixed(cpus, 20*cpus, startCalls(), .2); got > 1.15*want {
			t.Errorf("%d CPUs: after hangs, width %d ends a burst in %.2f s, the best, %d, in %.2f s", cpus, s.width.home, got, best, want)
		}
	}
}

// Whatever the samples are, the width stays within its limits, and a trial moves it by a quarter or one.
func TestWidthIsBounded(t *testing.T) {
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 2))
		b := Bounds{Min: 1 + rng.IntN(4), Max: 4 + rng.IntN(60)}
		w := newWidth(rng.IntN(80), b)
		at := time.Unix(0, 0)
		for range 5000 {
			at = at.Add(time.Duration(rng.Int64N(int64(time.Second))))
			if rng.IntN(20000) == 0 {
				at = at.Add(time.Hour)
			}
			c, ok := w.observe(sample{
				kind: fmt.Sprint(rng.IntN(100)), took: time.Duration(rng.Int64N(int64(time.Minute))) - time.Second,
				busy: rng.Float64() * 10, width: w.size - rng.IntN(2), at: at,
			})
			if rng.IntN(500) == 0 {
				w.void()
			}
			if w.size < b.Min || w.size > b.Max || w.home < b.Min || w.home > b.Max || w.hold > maxHold || len(w.base.kinds) > maxKinds {
				t.Fatalf("seed %d: width %d, home %d, hold %d, %d kinds within %v", seed, w.size, w.home, w.hold, len(w.base.kinds), b)
			}
			if ok && (c.to != w.size && w.size != w.home || c.from == c.to) {
				t.Fatalf("seed %d: change %+v at width %d", seed, c, w.size)
			}
		}
	}
}

// Slots widen when calls take no longer, narrow never below the minimum, and publish each change. A fixed size stays.
func TestSlotsAdapt(t *testing.T) {
	for name, c := range map[string]struct {
		adapt Bounds
		want  int
	}{"adaptive": {Bounds{Min: 2, Max: 8}, 8}, "fixed": {Bounds{}, 3}} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, 3, func(w *world) {
				w.s.bounds = c.adapt
				for i := range 2000 {
					w.work(fmt.Sprint(i), Turn{Class: "end", Order: uint64(i)}, 100*time.Millisecond)
				}
				w.pass(20 * time.Minute)
				if w.peak() != c.want {
					t.Errorf("%d at once at most, want %d", w.peak(), c.want)
				}
				var to []string
				for _, r := range w.rec.OfKind("decision") {
					if d, ok := r.Event.(*trace.Decision); ok && d.Verdict == trace.VerdictWidth {
						to = append(to, d.Inputs[1].V)
					}
				}
				if slices.Contains(to, "8") != (c.want == 8) || len(to) > 40 {
					t.Errorf("changes of width: %q", to)
				}
			})
		})
	}
}

func TestNewRefusesLimits(t *testing.T) {
	for _, b := range []Bounds{{Min: 0, Max: 4}, {Min: 4, Max: 8}, {Min: 1, Max: 2}} {
		if _, err := New(Config{Name: "runtime", Size: 3, Adapt: b}); err == nil {
			t.Errorf("no error for %v with 3 slots", b)
		}
	}
}
