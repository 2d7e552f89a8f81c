package semaphore

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

// Large work has one slot, whatever its class; the others are free for other work, and a hung one loses it.
func TestLargeWork(t *testing.T) {
	inBubble(t, 3, func(w *world) {
		w.s.modest = "again"
		w.learn(time.Second)
		for _, turn := range []struct {
			name string
			Turn
		}{
			{"a", Turn{Class: "start", Order: 2, Large: true}},
			{"slow", Turn{Class: "start", Large: true, Slow: true, Order: 3}},
			{"again", Turn{Class: "again", Large: true, Order: 4}},
			{"plain", Turn{Class: "start", Order: 5}},
			{"crashed", Turn{Class: "again"}},
		} {
			w.work(turn.name, turn.Turn, time.Second)
		}
		if got := w.done(); !slices.Equal(got, []string{"a", "plain", "crashed"}) {
			t.Errorf("at once: %q", got)
		}
		w.pass(time.Second)
		if got := w.done()[3:]; !slices.Equal(got, []string{"slow"}) {
			t.Errorf("then %q", got)
		}
		w.pass(time.Second)
		w.pass(time.Second)

		w.work("hangs", Turn{Class: "start", Large: true}, time.Hour)
		w.work("behind", Turn{Class: "start", Large: true}, time.Second)
		if got := w.done(); slices.Contains(got, "behind") {
			t.Errorf("at once: %q", got)
		}
		w.pass(5 * time.Second)
		if got := w.done(); !slices.Contains(got, "behind") || w.overstays() != 1 {
			t.Errorf("who hangs holds large work up: %q, %d overstayed", got, w.overstays())
		}
		w.pass(time.Hour)
	})
}

// Large work lets others go first, eight times.
func TestLargeWorkGoesLast(t *testing.T) {
	inBubble(t, 3, func(w *world) {
		large, plain := Turn{Class: "start", Large: true}, Turn{Class: "start", Order: 9}
		w.work("plain", plain, time.Second)
		w.work("large", large, time.Second)
		if got := w.done(); slices.Contains(got, "large") {
			t.Errorf("beside others: %q", got)
		}
		w.pass(time.Second)
		if got := w.done(); !slices.Contains(got, "large") {
			t.Errorf("it waits though nobody works: %q", got)
		}
		w.pass(time.Second)

		w.work("first", plain, time.Second)
		w.work("patient", large, time.Second)
		for _, name := range []string{"1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12"} {
			w.work(name, plain, time.Second)
		}
		w.pass(time.Minute)
		sooner, atOnce := 0, 0 // work that begins at the same moment has no order
		for i := 1; i <= 12; i++ {
			switch began := w.when(fmt.Sprint(i)); {
			case began < w.when("patient"):
				sooner++
			case began == w.when("patient"):
				atOnce++
			}
		}
		if sooner > 8 || sooner+atOnce < 8 {
			t.Errorf("it has a turn after %d others, with %d: %q", sooner, atOnce, w.done())
		}
	})
}
