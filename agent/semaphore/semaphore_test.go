package semaphore

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/tracetest"
)

// world runs work of given durations in slots, in simulated time.
type world struct {
	*testing.T
	s     *Slots
	rec   *tracetest.Recorder
	began time.Time

	mu   sync.Mutex
	out  []string // which work began, in order
	at   map[string]time.Duration
	most int
	busy int
}

func inBubble(t *testing.T, size int, test func(*world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &world{T: t, rec: tracetest.New(t), began: time.Now(), at: map[string]time.Duration{}}
		var err error
		if w.s, err = New(Config{Name: "runtime", Size: size, Bus: w.rec.Bus()}); err != nil {
			t.Fatal(err)
		}
		test(w)
	})
}

// work queues a piece of work of that duration; it returns when the work waits or has begun.
func (w *world) work(name string, turn Turn, takes time.Duration) {
	turn.Pod = trace.Pod{Namespace: "default", Name: name}
	go func() {
		work, err := w.s.Enter(w.Context(), turn, "sandbox")
		if err != nil {
			w.Error(err)
			return
		}
		w.note(func() {
			w.out, w.at[name] = append(w.out, name), time.Since(w.began)
			w.busy++
			w.most = max(w.most, w.busy)
		})
		time.Sleep(takes)
		w.note(func() { w.busy-- })
		work.Leave(true)
	}()
	synctest.Wait()
}

func (w *world) note(f func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f()
}

func (w *world) done() (out []string) { w.note(func() { out = slices.Clone(w.out) }); return out }

func (w *world) when(name string) (at time.Duration) { w.note(func() { at = w.at[name] }); return at }

func (w *world) peak() (n int) { w.note(func() { n = w.most }); return n }

// pass advances simulated time and waits until everything due has happened.
func (w *world) pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// learn makes the slots learn that a sandbox takes that long.
func (w *world) learn(d time.Duration) {
	for range window {
		w.s.lately.learn("sandbox", d)
	}
}

func (w *world) overstays() (n int) {
	for _, r := range w.rec.OfKind("decision") {
		if d, ok := r.Event.(*trace.Decision); ok && d.Verdict == trace.VerdictOverstays {
			n++
		}
	}
	return n
}

func TestEarlierOrderGoesFirst(t *testing.T) {
	inBubble(t, 1, func(w *world) {
		for i, order := range []uint64{0, 3, 1, 2} {
			w.work(string(rune('a'+i)), Turn{Order: order}, time.Millisecond)
		}
		w.pass(time.Second)
		if want := []string{"a", "c", "d", "b"}; !slices.Equal(w.done(), want) {
			w.Errorf("served in order %v, want %v", w.done(), want)
		}
		if n := len(w.rec.OfKind("pod.wait")); n != 6 {
			w.Errorf("%d wait records, want begin and end of 3", n)
		}
	})
}

func TestCancelledWaiterLeavesNoHole(t *testing.T) {
	inBubble(t, 1, func(w *world) {
		p, err := w.s.Acquire(w.Context(), Turn{})
		if err != nil {
			w.Fatal(err)
		}
		ctx, cancel := context.WithCancel(w.Context())
		failed := make(chan error, 1)
		go func() { _, err := w.s.Acquire(ctx, Turn{Order: 1}); failed <- err }()
		synctest.Wait()
		cancel()
		if err := <-failed; !errors.Is(err, context.Canceled) {
			w.Errorf("error %v, want context.Canceled", err)
		}
		p.Release()
		if _, err := w.s.Acquire(w.Context(), Turn{Order: 2}); err != nil {
			w.Errorf("slot was lost: %v", err)
		}
	})
}

func TestNewRefusesNoSlots(t *testing.T) {
	if _, err := New(Config{Name: "runtime"}); err == nil {
		t.Error("no error for zero slots")
	}
}

// An ordinary burst is limited until its end: no more at once than there are slots.
func TestBurstIsPaced(t *testing.T) {
	for name, takes := range map[string]time.Duration{"fast": 200 * time.Millisecond, "on a slow machine": 3 * time.Second} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, 3, func(w *world) {
				for i := range 60 {
					w.work(string(rune('A'+i)), Turn{Order: uint64(i)}, takes)
				}
				w.pass(10 * time.Minute)
				if len(w.done()) != 60 || w.peak() != 3 {
					w.Errorf("%d of 60 were done, %d at once at most", len(w.done()), w.peak())
				}
				for i := range 60 {
					if got, want := w.when(string(rune('A'+i))), time.Duration(i/3)*takes; got != want {
						w.Errorf("number %d began after %s, want %s", i, got, want)
					}
				}
			})
		})
	}
}

// Three that hang delay a fourth for a bounded time.
func TestHangHoldsNothingUp(t *testing.T) {
	for name, c := range map[string]struct{ usual, want time.Duration }{
		"before anything was learned":  {0, 5 * time.Second},
		"where a sandbox takes 100 ms": {100 * time.Millisecond, time.Second},
		"where a sandbox takes 1 s":    {time.Second, 4 * time.Second},
		"where a sandbox takes 1 min":  {time.Minute, 10 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, 3, func(w *world) {
				if c.usual > 0 {
					w.learn(c.usual)
				}
				for _, hung := range []string{"x", "y", "z"} {
					w.work(hung, Turn{}, time.Hour)
				}
				w.work("web", Turn{}, time.Millisecond)
				w.pass(time.Minute)
				if w.when("web") != c.want {
					w.Errorf("web waited %s, want %s", w.when("web"), c.want)
				}
				if n := w.overstays(); n != 1 {
					w.Errorf("%d left, want 1: nobody else waits", n)
				}
				w.pass(time.Hour)
			})
		})
	}
}

// If three have hung for long, the next finds them overdue, and does not wait at all.
func TestOverdueHoldersLeaveAtOnce(t *testing.T) {
	inBubble(t, 1, func(w *world) {
		w.work("x", Turn{}, time.Hour)
		w.pass(time.Minute)
		w.work("web", Turn{}, time.Millisecond)
		if w.when("web") != time.Minute {
			w.Errorf("web began after %s, want at once", w.when("web"))
		}
		w.pass(2 * time.Hour)
	})
}

// Fifty that hang begin at a bounded rate, and delay others for a bounded time.
func TestManyHangs(t *testing.T) {
	inBubble(t, 3, func(w *world) {
		w.learn(100 * time.Millisecond)
		for i := range 50 {
			w.work(string(rune('A'+i)), Turn{Class: "start", Order: uint64(i)}, time.Hour)
		}
		w.work("web", Turn{Class: "start", Order: 50}, time.Millisecond)
		w.work("old", Turn{Class: "end"}, time.Millisecond)
		w.work("crashed", Turn{Class: "again"}, time.Millisecond)
		w.pass(900 * time.Millisecond)
		if w.peak() > 3 {
			w.Errorf("%d at once before anybody overstayed", w.peak())
		}
		w.pass(time.Minute)
		if w.when("old") > time.Second || w.when("crashed") > time.Second {
			w.Errorf("a deletion waited %s and a restart %s behind starts that hang", w.when("old"), w.when("crashed"))
		}
		if got, want := w.when("web"), 17*time.Second; got > want {
			w.Errorf("web waited %s behind 50 that hang, want %s at most: 3 are let in each second", got, want)
		}
		// They retry: now they are known, and a new pod hardly waits.
		for i := range 50 {
			w.work("again "+string(rune('A'+i)), Turn{Class: "start", Slow: true}, time.Hour)
		}
		began := time.Since(w.began)
		for i := range 20 {
			w.work("new "+string(rune('A'+i)), Turn{Class: "start", Order: 60}, 100*time.Millisecond)
		}
		w.pass(time.Minute)
		if got := w.when("new T") - began; got > 4*time.Second {
			w.Errorf("the last of 20 waited %s beside pods that overstayed before", got)
		}
		w.pass(2 * time.Hour)
		if len(w.done()) != 50+3+50+20 {
			w.Errorf("%d had a turn", len(w.done()))
		}
	})
}

// The slots learn that a runtime is slow for all: work is still limited, a little more at once than there are slots.
func TestSlowForAll(t *testing.T) {
	inBubble(t, 3, func(w *world) {
		for i := range 110 {
			w.work(string(rune('A'+i)), Turn{Order: uint64(i)}, 20*time.Second)
		}
		w.pass(time.Hour)
		if len(w.done()) != 110 || w.peak() > 15 {
			w.Errorf("%d were done, %d at once at most", len(w.done()), w.peak())
		}
	})
}

// If everything hangs, work begins at a bounded rate.
func TestEverythingHangs(t *testing.T) {
	inBubble(t, 3, func(w *world) {
		for i := range 110 {
			w.work(string(rune('A'+i)), Turn{Order: uint64(i)}, 24*time.Hour)
		}
		w.pass(time.Minute)
		if n := len(w.done()); n < 30 || n > 3+3*12 {
			w.Errorf("%d were let in in the first minute, want three each five seconds", n)
		}
		w.pass(48 * time.Hour)
	})
}

// Classes have equal shares, however much work each has.
func TestClassesTakeTurns(t *testing.T) {
	inBubble(t, 1, func(w *world) {
		w.work("first", Turn{Class: "start"}, time.Second)
		for i := range 6 {
			w.work("start", Turn{Class: "start", Order: uint64(i)}, time.Millisecond)
		}
		for range 2 {
			w.work("end", Turn{Class: "end"}, time.Millisecond)
			w.work("again", Turn{Class: "again"}, time.Millisecond)
		}
		w.pass(time.Minute)
		want := []string{"first", "end", "again", "start", "end", "again", "start", "start", "start", "start", "start"}
		if !slices.Equal(w.done(), want) {
			w.Errorf("turns %v, want %v", w.done(), want)
		}
		if len(w.s.classes) != 0 {
			w.Errorf("%d classes are kept for nobody", len(w.s.classes))
		}
	})
}

// Work that makes progress does not overstay.
func TestProgress(t *testing.T) {
	inBubble(t, 1, func(w *world) {
		work, err := w.s.Enter(w.Context(), Turn{}, "pull")
		if err != nil {
			w.Fatal(err)
		}
		w.work("web", Turn{}, time.Millisecond)
		for range 60 {
			w.pass(time.Second)
			work.GetsOn()
		}
		if len(w.done()) != 0 {
			w.Error("it gave its place away while it got on")
		}
		w.pass(6 * time.Second)
		if len(w.done()) != 1 {
			w.Error("it kept its place without getting on")
		}
		if !work.Leave(false) {
			w.Error("it is not known to have overstayed")
		}
	})
}

// Consecutive pieces of work do not keep a slot either.
func TestLongTurnEnds(t *testing.T) {
	inBubble(t, 1, func(w *world) {
		p, err := w.s.Acquire(w.Context(), Turn{})
		if err != nil {
			w.Fatal(err)
		}
		w.work("web", Turn{}, time.Millisecond)
		n := 0
		for work, ok := p.Begin(w.Context(), "create"); ok; work, ok = p.Begin(w.Context(), "create") {
			n++
			time.Sleep(400 * time.Millisecond)
			work.End(true)
		}
		w.pass(time.Second)
		if n != 25 || len(w.done()) != 1 || !p.Overstayed() {
			w.Errorf("%d pieces of work of 0.4 s in one turn, then %v", n, w.done())
		}
	})
}

// A wait has the holders of the slots: at its begin the current ones, at its end also those that overstayed meanwhile.
func TestWaitNamesHolders(t *testing.T) {
	inBubble(t, 1, func(w *world) {
		w.learn(100 * time.Millisecond)
		w.work("quick", Turn{}, 500*time.Millisecond)
		w.pass(100 * time.Millisecond)
		w.work("hung", Turn{}, time.Hour)
		w.work("web", Turn{}, time.Millisecond)
		w.pass(time.Minute)
		var begin, end []trace.Holder
		for _, r := range w.rec.OfKind("pod.wait") {
			if e, ok := r.Event.(*trace.Wait); ok && r.Edge == trace.EdgeBegin {
				begin = e.Behind
			} else if ok {
				end = e.Behind
			}
		}
		pod := func(name string) trace.Pod { return trace.Pod{Namespace: "default", Name: name} }
		if want := []trace.Holder{{Pod: pod("quick"), Call: "sandbox", For: 100 * time.Millisecond}}; !slices.Equal(begin, want) {
			w.Errorf("at its begin it is behind %v, want %v", begin, want)
		}
		want := []trace.Holder{
			{Pod: pod("hung"), Call: "sandbox", For: time.Second, Overstays: true}, {Pod: pod("quick"), Call: "sandbox", For: 500 * time.Millisecond},
		}
		if !slices.Equal(end, want) {
			w.Errorf("at its end it was behind %v, want %v", end, want)
		}
		w.pass(2 * time.Hour)
	})
}
