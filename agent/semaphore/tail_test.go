package semaphore

import (
	"fmt"
	"testing"
	"time"
)

// The last that wait begin with those before them, if the number of slots adapts and leaves room for them.
func TestTail(t *testing.T) {
	for _, c := range []struct {
		size, most, pods int
		rounds           int // each takes 100 ms
		peak             int
	}{
		{3, 0, 10, 4, 3}, {3, 8, 10, 3, 4}, {3, 3, 10, 4, 3}, {3, 8, 11, 4, 3}, {3, 8, 9, 3, 3}, {3, 8, 4, 2, 3}, {2, 8, 5, 3, 2}, {6, 12, 14, 2, 8}, {6, 7, 14, 3, 6}, {6, 7, 13, 2, 7},
	} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			inBubble(t, c.size, func(w *world) {
				w.s.bounds = Bounds{Min: 1, Max: c.most}
				for i := range c.pods {
					w.work(fmt.Sprint(i), Turn{Order: uint64(i)}, 100*time.Millisecond)
				}
				w.pass(time.Duration(c.rounds)*100*time.Millisecond - time.Millisecond)
				if n := len(w.done()); n != c.pods {
					t.Errorf("%d of %d have begun in round %d", n, c.pods, c.rounds)
				}
				if w.peak() != c.peak || !w.s.Working() {
					t.Errorf("%d work at most, want %d", w.peak(), c.peak)
				}
				w.pass(2 * time.Millisecond)
				if w.s.Working() {
					t.Error("work is left after the last round")
				}
			})
		})
	}
}

// Large work waits until nobody else works, also at the end of the queue.
func TestTailOfLargeWork(t *testing.T) {
	inBubble(t, 3, func(w *world) {
		w.s.bounds = Bounds{Min: 1, Max: 8}
		for i := range 3 {
			w.work(fmt.Sprint(i), Turn{Order: uint64(i)}, time.Duration(100+i)*time.Millisecond)
		}
		w.work("large", Turn{Order: 3, Large: true}, 100*time.Millisecond)
		w.pass(102*time.Millisecond + 500*time.Microsecond)
		if n := len(w.done()); n != 4 {
			t.Errorf("%d have begun, want all when nobody else works", n)
		}
		if at := w.when("large"); at != 102*time.Millisecond {
			t.Errorf("large work began after %s", at)
		}
		w.pass(time.Second)
	})
}
