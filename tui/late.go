package tui

import (
	"bytes"
	"io"
	"sync"
	"time"

	"github.com/charmbracelet/x/ansi"
)

// frameTime is how long the UI waits for a terminal that takes nothing, or not all at once. Then what is drawn is left out until it has taken
// the rest, so that keys and records are seen nevertheless.
const frameTime = 3 * time.Second

// giveBack undoes what the UI sets in a terminal, for one that did not take what the renderer wrote about that.
const giveBack = ansi.ResetModifyOtherKeys + ansi.ResetModeAltScreenSaveCursor + ansi.SetModeTextCursorEnable + ansi.ResetModeBracketedPaste +
	ansi.ResetModeFocusEvent + ansi.ResetModeMouseButtonEvent + ansi.ResetModeMouseAnyEvent + ansi.ResetModeMouseExtSgr + ansi.ResetModeUnicodeCore + ansi.ResetStyle

// late writes, and does not wait for longer than its patience. It is for one caller at a time.
type late struct {
	to       io.Writer
	patience time.Duration
	again    func() // is called when to takes something again, after a text was left out; may be nil

	mu      sync.Mutex
	under   chan struct{} // closed when the write that is under way has ended; nil while there is none
	err     error         // of a write that ended late
	left    bool          // a text was left out since it began
	leftAny bool          // or ever
}

// Write implements io.Writer. It writes all of p or nothing.
func (l *late) Write(p []byte) (int, error) {
	l.mu.Lock()
	if l.under != nil {
		l.left, l.leftAny = true, true
		l.mu.Unlock()
		return len(p), nil
	}
	if err := l.err; err != nil {
		l.mu.Unlock()
		return 0, err
	}
	ended := make(chan struct{})
	l.under = ended
	l.mu.Unlock()
	text := bytes.Clone(p) // the caller uses it again
	go func() {
		_, err := l.to.Write(text)
		l.mu.Lock()
		l.under, l.err = nil, err
		left := l.left
		l.left = false
		l.mu.Unlock()
		close(ended)
		if left && l.again != nil {
			l.again()
		}
	}()
	t := time.NewTimer(l.patience)
	defer t.Stop()
	select {
	case <-ended:
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.err != nil {
			return 0, l.err
		}
	case <-t.C:
	}
	return len(p), nil
}

// finish gives a terminal back of whose end something may have been left out. It waits for the terminal for that time at most.
func (l *late) finish(wait time.Duration) {
	l.mu.Lock()
	under, left := l.under, l.leftAny
	l.mu.Unlock()
	if under != nil {
		select {
		case <-under:
		case <-time.After(wait):
			return // it takes nothing
		}
	}
	if left {
		l.Write([]byte(giveBack)) //nolint:errcheck // the terminal is gone
	}
}
