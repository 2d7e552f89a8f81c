package recording

import (
	"cmp"
	"errors"
	"fmt"
	"time"
)

// arm makes waiting records be written within a second. While none wait, no timer runs.
func (w *Writer) arm() {
	if w.packer.empty() || w.armed {
		return
	}
	w.armed = true
	if w.timer == nil {
		w.timer = time.AfterFunc(flushEvery, w.flush)
		return
	}
	w.timer.Reset(flushEvery)
}

// flush is called by the timer.
func (w *Writer) flush() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.armed = false
	if w.closed {
		return
	}
	if err := w.seal(); err != nil {
		w.failed = err
	}
}

// Close writes the waiting records and waits for the disk, at most two seconds if it does not respond, including the
// time in Run. The error says how many records are missing at the end. A further call does nothing.
func (w *Writer) Close() error {
	done := make(chan error, 1)
	go func() { done <- w.close() }()
	wait := patience
	if w.gaveUp.Load() {
		wait /= 20 // Run has already waited for it
	}
	select {
	case err := <-done:
		return err
	case <-time.After(wait):
	}
	what := "what was written last may not be on it"
	if n := w.waiting.Load(); n > 0 {
		what = missing(uint64(n)) + " at the end"
	}
	return w.named(fmt.Errorf("%w: %s", errSilent, what))
}

func (w *Writer) close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return nil
	}
	w.closed = true
	if w.timer != nil {
		w.timer.Stop()
	}
	err := w.seal()
	if lost := w.lost; lost > 0 {
		w.lost = 0
		// The record that failed may have been larger than the one that reports it. A failure of the timer has not been reported yet.
		if err = cmp.Or(err, errors.Join(w.packer.addLost(lost, time.Now().UnixNano()), w.seal()), w.failed); err != nil {
			err = fmt.Errorf("%w; %s at the end", err, missing(lost))
		}
	}
	return w.named(errors.Join(err, w.file.Sync(), w.file.Close()))
}
