package semaphore

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// A wide class has all the slots at once while it is alone, and the others find theirs soon after they come.
func TestWideClass(t *testing.T) {
	inBubble(t, 3, func(w *world) {
		w.s.bounds, w.s.wide = Bounds{Min: 2, Max: 8}, "end"
		for i := range 16 {
			w.work(fmt.Sprint("end ", i), Turn{Class: "end"}, 100*time.Millisecond)
		}
		w.pass(50 * time.Millisecond)
		if w.peak() != 8 {
			t.Errorf("%d ends at once, want 8", w.peak())
		}
		w.work("start", Turn{Class: "start"}, 100*time.Millisecond)
		w.pass(20 * time.Millisecond)
		if w.when("start") == 0 {
			t.Error("a start waits for ends that began before it")
		}
		w.pass(time.Second)
		if got := len(w.done()); got != 17 {
			t.Errorf("%d of 17 are done", got)
		}
	})
}

// While there are starts, ends leave one slot to them, and have the others.
func TestWideClassBesideOthers(t *testing.T) {
	inBubble(t, 3, func(w *world) {
		w.s.bounds, w.s.wide = Bounds{Min: 2, Max: 8}, "end"
		for i := range 40 {
			w.work(fmt.Sprint("start ", i), Turn{Class: "start"}, 100*time.Millisecond)
		}
		w.pass(time.Millisecond)
		for i := range 40 {
			w.work(fmt.Sprint("end ", i), Turn{Class: "end"}, 100*time.Millisecond)
		}
		w.pass(time.Second)
		if w.peak() > 3 {
			t.Errorf("%d at once, want 3", w.peak())
		}
		starts := 0
		for _, name := range w.done() {
			if strings.HasPrefix(name, "start") {
				starts++
			}
		}
		if all := len(w.done()); starts < all/3 || starts > all*2/3 {
			t.Errorf("%d of the first %d are starts", starts, all)
		}
		w.pass(10 * time.Second)
	})
}
