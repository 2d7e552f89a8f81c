package kubeletlog

import (
	"context"
	"errors"
	"io"

	"github.com/kubeloupe/kubeloupe/inspect/attach/logfile"
	"github.com/kubeloupe/kubeloupe/trace"
)

// Source is a log as a stream of records.
type Source struct {
	log  *logfile.Reader
	fold *Fold
	done bool
	held *trace.Record // read, with a loss that belongs before it
	lost uint64
}

// NewSource returns the records of a log, in the order of their times.
func NewSource(log *logfile.Reader) *Source { return &Source{log: log, fold: NewFold()} }

// Told is what was read so far.
type Told struct {
	logfile.Stats
	// Level is the verbosity of the log as far as its messages tell, at least; -1 where nothing was read.
	Level int
}

// Told returns what was read so far.
func (s *Source) Told() Told { return Told{Stats: s.log.Stats(), Level: s.fold.Level()} }

// Next appends records to buf[:0], up to its capacity, and says how many lines are missing before them. It returns io.EOF with the last.
func (s *Source) Next(ctx context.Context, buf []trace.Record) (recs []trace.Record, lost uint64, err error) {
	recs = buf[:0]
	if s.held != nil {
		recs, lost, s.held = append(recs, *s.held), s.lost, nil
	}
	for len(recs) < max(cap(buf), 1) {
		if err := ctx.Err(); err != nil {
			return recs, lost, err
		}
		r, missing, ok := s.fold.Next(s.done)
		switch {
		case ok && missing > 0 && len(recs) > 0:
			s.held, s.lost = &r, missing
			return recs, lost, nil
		case ok:
			recs, lost = append(recs, r), lost+missing
		case s.done:
			return recs, lost + s.fold.Gaps(), io.EOF
		default:
			if err := s.read(); err != nil {
				return recs, lost, err
			}
		}
	}
	return recs, lost, nil
}

func (s *Source) read() error {
	it, err := s.log.Next()
	if errors.Is(err, io.EOF) {
		s.done = true
		s.fold.Flush()
		return nil
	}
	if err != nil {
		return err
	}
	s.fold.Lost(it.Lost)
	if !it.Entry.Time.IsZero() {
		s.fold.Apply(&it.Entry)
	}
	return nil
}
