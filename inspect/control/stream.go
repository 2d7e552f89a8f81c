package control

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"

	"github.com/kubeloupe/kubeloupe/trace"
)

// Stream is a stream of an agent's records. Next is for one goroutine, and like that of a trace.Cursor.
type Stream struct {
	line    *line
	lost    uint64 // reported, and not yet returned
	err     error  // to return next
	live    atomic.Bool
	unknown atomic.Uint64
	done    func() // stops the keep-alive messages
}

// Events requests records.
func (c *Client) Events(ctx context.Context, opt EventsOptions) (*Stream, error) {
	l, err := c.request(ctx, request{Events: &opt})
	if err != nil {
		return nil, err
	}
	s := &Stream{line: l, done: func() {}}
	if opt.Follow {
		done := make(chan struct{})
		s.done = sync.OnceFunc(func() { close(done) })
		go l.beat(done, l.w.send)
	}
	s.live.Store(!opt.Backlog)
	return s, nil
}

// Live reports whether the backlog has been read, so that records are now current.
func (s *Stream) Live() bool { return s.live.Load() }

// Unknown returns how many records were skipped because this version does not know their kind.
func (s *Stream) Unknown() uint64 { return s.unknown.Load() }

// Close ends the stream, and a Next that is waiting.
func (s *Stream) Close() error {
	s.done()
	return s.line.conn.Close()
}

// Next waits for at least one record and appends up to cap(buf) of them to buf[:0] (64 if buf has no capacity). lost is
// how many are missing before the first. At the end of a backlog without Follow, the error is io.EOF; if the agent has
// stopped, it wraps ErrEnded.
func (s *Stream) Next(ctx context.Context, buf []trace.Record) (recs []trace.Record, lost uint64, err error) {
	if cap(buf) == 0 {
		buf = make([]trace.Record, 0, 64)
	}
	recs = buf[:0]
	lost, s.lost = s.lost, 0
	for s.err == nil && len(recs) < cap(recs) && (len(recs) == 0 || s.line.r.ready()) {
		before := len(recs)
		recs, s.err = s.more(ctx, recs)
		if s.lost > 0 && before > 0 { // it is about the following records
			break
		}
		lost, s.lost = lost+s.lost, 0
	}
	if len(recs) > 0 {
		return recs, lost, nil
	}
	s.lost = lost // nothing followed
	err = s.err
	if ctx.Err() != nil {
		s.err = nil
	}
	return nil, 0, err
}

// more reads a line. It adds a loss in it to s.lost.
func (s *Stream) more(ctx context.Context, recs []trace.Record) ([]trace.Record, error) {
	text, err := s.line.read(ctx)
	if err != nil {
		return recs, err
	}
	if rest, ok := bytes.CutPrefix(text, []byte(recordPrefix)); ok && len(rest) > 0 {
		return s.record(recs, rest[:len(rest)-1])
	}
	a, err := s.line.decode(text)
	switch {
	case err != nil:
		return recs, err
	case a.Record != nil:
		return s.record(recs, a.Record)
	case a.Live != nil:
		s.live.Store(true)
	case a.End != "":
		return recs, io.EOF
	}
	s.lost += a.Lost
	return recs, nil
}

func (s *Stream) record(recs []trace.Record, text []byte) ([]trace.Record, error) {
	var r trace.Record
	switch err := r.ParseJSON(text); {
	case errors.Is(err, trace.ErrUnknownKind):
		s.unknown.Add(1)
		return recs, nil
	case err != nil:
		return recs, fmt.Errorf("agent at %s: %w", s.line.path, err)
	}
	return append(recs, r), nil
}
