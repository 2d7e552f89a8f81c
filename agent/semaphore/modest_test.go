package semaphore

import (
	"slices"
	"testing"
	"time"
)

// A modest class leaves a slot free, and its hung work nevertheless loses its slots.
func TestModestClass(t *testing.T) {
	again := Turn{Class: "again"}
	inBubble(t, 3, func(w *world) {
		w.s.modest = "again"
		w.learn(time.Second)
		for _, name := range []string{"a", "b", "c", "d"} {
			w.work(name, again, time.Second)
		}
		if got := w.done(); !slices.Equal(got, []string{"a", "b"}) {
			t.Errorf("of a modest class %q work at once", got)
		}
		w.work("new", Turn{Class: "start"}, time.Second)
		if at := w.when("new"); at != 0 || len(w.done()) != 3 {
			t.Errorf("a new pod does not find a place free: %q", w.done())
		}
		if n := len(w.rec.OfKind("pod.wait")); n != 2 { // c's and d's, which have begun
			t.Errorf("%d waits are told of: who finds a place free does not wait", n)
		}
		w.work("newer", Turn{Class: "start"}, time.Second)
		w.pass(time.Second)
		if got := w.done(); !slices.Equal(got[3:], []string{"newer", "c"}) && !slices.Equal(got[3:], []string{"c", "newer"}) {
			t.Errorf("while a new pod starts, %q: want half of the places for the modest class", got)
		}
		w.pass(time.Second)
		if got := w.done(); !slices.Equal(got[5:], []string{"d"}) {
			t.Errorf("then %q", got)
		}
		w.pass(time.Second)

		w.work("hangs", again, time.Hour)
		w.work("hangs too", again, time.Hour)
		w.work("behind", again, time.Second)
		w.pass(5 * time.Second)
		if got := w.done(); !slices.Contains(got, "behind") || w.overstays() == 0 {
			t.Errorf("who hangs holds its class up: %q", got)
		}
		w.pass(time.Hour)
	})
}

// A single slot is for everybody.
func TestModestClassWithOnePlace(t *testing.T) {
	inBubble(t, 1, func(w *world) {
		w.s.modest = "again"
		w.work("a", Turn{Class: "again"}, time.Second)
		w.pass(time.Second)
		if got := w.done(); !slices.Equal(got, []string{"a"}) {
			t.Errorf("worked: %q", got)
		}
	})
}
