package recording

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
)

const (
	// pace is the minimum time between two reads of the source, so that a busy bus does not wake the recorder for each
	// record. A bus holds thousands of records.
	pace = 20 * time.Millisecond
	// past is the age from which a record counts as part of a backlog, which is read without pauses.
	past = time.Second
	// batch is the maximum number of records per read.
	batch = 1024
	// lastBatches limits the reads after ctx ended: more than a bus holds.
	lastBatches = 32
)

// Source is the source of records, such as a cursor of a bus.
type Source interface {
	Next(ctx context.Context, buf []trace.Record) (recs []trace.Record, lost uint64, err error)
}

// Run writes the records of src until ctx ends, and then the remaining ones, or until src ends. Records that cannot be written are
// reported (Options.Tell) and count as lost; later records may be written. After ctx has ended, it waits at most two seconds for a
// disk that does not respond; Close reports the records that this cost. It returns an error of src, or ErrClosed; it does not close
// the writer.
func (w *Writer) Run(ctx context.Context, src Source) error {
	buf := make([]trace.Record, 0, batch)
	rest := time.NewTimer(0)
	defer rest.Stop()
	for last := 0; last < lastBatches; {
		recs, lost, err := src.Next(ctx, buf)
		if bad := w.writeOr(ctx, recs, lost); errors.Is(bad, errSilent) {
			buf = make([]trace.Record, 0, batch) // the other buffer is in use
		} else if errors.Is(bad, ErrClosed) {
			return bad
		}
		if err != nil {
			return sourceEnded(ctx, err)
		}
		if ctx.Err() != nil {
			last++
			continue
		}
		if len(recs) < cap(recs) && !backlog(recs) {
			rest.Reset(pace)
			select {
			case <-rest.C:
			case <-ctx.Done():
			}
		}
	}
	return nil
}

// backlog reports whether there is more to read at once.
func backlog(recs []trace.Record) bool {
	return len(recs) > 0 && time.Since(recs[len(recs)-1].At()) > past
}

// patience is how long to wait at the end for a disk that does not respond.
const patience = 2 * time.Second

// writeOr writes. If that takes too long after ctx ended, it gives up and only counts.
func (w *Writer) writeOr(ctx context.Context, recs []trace.Record, lost uint64) error {
	if len(recs) == 0 && lost == 0 {
		return nil
	}
	if w.gaveUp.Load() {
		w.waiting.Add(int64(len(recs)) + int64(lost))
		return errSilent
	}
	done := make(chan error, 1)
	go func() { done <- w.Write(recs, lost) }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	select {
	case err := <-done:
		return err
	case <-time.After(patience):
		w.gaveUp.Store(true)
		return errSilent
	}
}

func sourceEnded(ctx context.Context, err error) error {
	if ctx.Err() != nil || errors.Is(err, trace.ErrClosed) || errors.Is(err, io.EOF) {
		return nil
	}
	return err
}
