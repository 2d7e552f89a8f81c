package tui

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// stuckWriter takes something only while it is open.
type stuckWriter struct {
	mu   sync.Mutex
	open chan struct{}
	err  error
	got  []string
}

func (w *stuckWriter) Write(p []byte) (int, error) {
	<-w.open
	w.mu.Lock()
	defer w.mu.Unlock()
	w.got = append(w.got, string(p))
	return len(p), w.err
}

func TestLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &stuckWriter{open: make(chan struct{})}
		again := 0
		l := &late{to: w, patience: frameTime, again: func() { again++ }}
		began := time.Now()
		for _, text := range []string{"one", "two", "three"} {
			if n, err := l.Write([]byte(text)); n != len(text) || err != nil {
				t.Errorf("%s: %d, %v", text, n, err)
			}
		}
		if took := time.Since(began); took != frameTime {
			t.Errorf("a terminal that takes nothing was waited for during %v", took)
		}
		close(w.open) // it takes all again
		synctest.Wait()
		if again != 1 {
			t.Errorf("drawn again %d times", again)
		}
		if _, err := l.Write([]byte("four")); err != nil {
			t.Error(err)
		}
		l.finish(leave)
		if got := strings.Join(w.got, " "); got != "one four "+giveBack {
			t.Errorf("it was sent %q", got)
		}
		w.err = errors.New("it is gone")
		if _, err := l.Write([]byte("five")); err == nil {
			t.Error("no error of a terminal that is gone")
		}
	})
}

// TestLateEnd sees that a terminal that takes nothing is not waited for at the end, and that one that took all is not written to.
func TestLateEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &stuckWriter{open: make(chan struct{})}
		l := &late{to: w, patience: frameTime}
		l.Write([]byte("one"))
		began := time.Now()
		l.finish(leave)
		if took := time.Since(began); took != leave {
			t.Errorf("it was waited for during %v", took)
		}
		close(w.open)
		synctest.Wait()
		l.finish(leave)
		if len(w.got) != 1 {
			t.Errorf("it was sent %q", w.got)
		}
	})
}
