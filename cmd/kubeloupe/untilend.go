package main

import (
	"context"
	"io"
)

// untilEnd is an input whose reads end with ctx, also those that nobody writes for: the standard input cannot be closed under a read.
type untilEnd struct {
	ctx  context.Context //nolint:containedctx // of what is read
	from io.Reader
	rest []byte
	err  error
}

// Read implements io.Reader.
func (u *untilEnd) Read(p []byte) (int, error) {
	if len(u.rest) == 0 && u.err == nil {
		u.next()
	}
	if len(u.rest) == 0 {
		return 0, u.err
	}
	n := copy(p, u.rest)
	u.rest = u.rest[n:]
	return n, nil
}

// next reads a piece into a buffer of its own: a read that ctx has ended may still write to it.
func (u *untilEnd) next() {
	type piece struct {
		text []byte
		err  error
	}
	read := make(chan piece, 1)
	go func() {
		buf := make([]byte, 64<<10)
		n, err := u.from.Read(buf)
		read <- piece{buf[:n], err}
	}()
	select {
	case p := <-read:
		u.rest, u.err = p.text, p.err
	case <-u.ctx.Done():
		u.err = u.ctx.Err()
	}
}
