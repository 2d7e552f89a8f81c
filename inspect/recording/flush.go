package recording

import (
	"errors"
	"time"
)

// arm has what waits written in a second. While nothing waits, no timer runs.
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

// flush is what the timer does.
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

// Close writes what waits and waits for the disk. Closing again does nothing.
func (w *Writer) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return nil
	}
	w.closed = true
	if w.timer != nil {
		w.timer.Stop()
	}
	err := errors.Join(w.failed, w.seal())
	if w.lost > 0 {
		err = errors.Join(err, w.packer.addLost(w.lost, time.Now().UnixNano()), w.seal())
	}
	return w.named(errors.Join(err, w.file.Sync(), w.file.Close()))
}
