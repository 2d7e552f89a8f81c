package main

import (
	"bytes"
	"errors"
	"io"
	"sync/atomic"
	"time"
)

// How long a piece of the output may take to be read once the command is to end: a terminal that is stopped (Ctrl-S), or a pipe that
// nobody reads, takes nothing. Both together are at most lastWords.
const (
	lastOutput = 2 * time.Second
	lastErrors = lastWords - lastOutput
)

// pieceSize is how much is written at once, so that a slow reader is not taken for one that has stopped.
const pieceSize = 4 << 10

// errStopped is the error of output that nobody reads when the command is to end.
var errStopped = errors.New("the output is not being read; the rest is not written")

// output writes as to does. Once ending is closed, it waits at most for patience for each piece; after the first one that is not
// taken, nothing is written. The caller's text is copied: a write that was left may still read it.
type output struct {
	to       io.Writer
	ending   <-chan struct{}
	patience time.Duration
	stopped  atomic.Bool
}

// Write implements io.Writer.
func (o *output) Write(p []byte) (n int, err error) {
	for len(p) > 0 && err == nil {
		var m int
		m, err = o.piece(p[:min(len(p), pieceSize)])
		n, p = n+m, p[m:]
	}
	return n, err
}

func (o *output) piece(p []byte) (int, error) {
	if o.stopped.Load() {
		return 0, errStopped
	}
	type result struct {
		n   int
		err error
	}
	done := make(chan result, 1)
	text := bytes.Clone(p)
	go func() {
		n, err := o.to.Write(text)
		done <- result{n, err}
	}()
	select {
	case r := <-done:
		return r.n, r.err
	case <-o.ending:
	}
	t := time.NewTimer(o.patience)
	defer t.Stop()
	select {
	case r := <-done:
		return r.n, r.err
	case <-t.C:
		o.stopped.Store(true)
		return 0, errStopped
	}
}

// screen is what an output writes to: the terminal itself, for what asks it for its size or draws on it.
func screen(w io.Writer) io.Writer {
	switch o := w.(type) {
	case *output:
		return o.to
	case *pages:
		return screen(o.to)
	case *watcher:
		return screen(o.to)
	}
	return w
}
