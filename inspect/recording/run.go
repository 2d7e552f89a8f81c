package recording

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
)

const (
	// pace is the least time between two looks at the source, so that a busy bus does not
	// wake the recorder for each record. A bus holds thousands of records.
	pace = 20 * time.Millisecond
	// batch is how many records are taken at once.
	batch = 1024
	// lastBatches bounds what is taken after ctx ended: more than a bus holds.
	lastBatches = 32
)

// Source is where records come from, as a cursor on a bus.
type Source interface {
	Next(ctx context.Context, buf []trace.Record) (recs []trace.Record, lost uint64, err error)
}

// Run writes what src yields until ctx ends, and then what was still there, or until src ends.
// It returns the first error of a write or of src; it does not close the writer.
func (w *Writer) Run(ctx context.Context, src Source) error {
	buf := make([]trace.Record, 0, batch)
	rest := time.NewTimer(0)
	defer rest.Stop()
	for last := 0; last < lastBatches; {
		recs, lost, err := src.Next(ctx, buf)
		if bad := w.Write(recs, lost); bad != nil {
			return bad
		}
		if err != nil {
			return sourceEnded(ctx, err)
		}
		if ctx.Err() != nil {
			last++
			continue
		}
		if len(recs) < cap(recs) {
			rest.Reset(pace)
			select {
			case <-rest.C:
			case <-ctx.Done():
			}
		}
	}
	return nil
}

func sourceEnded(ctx context.Context, err error) error {
	if ctx.Err() != nil || errors.Is(err, trace.ErrClosed) || errors.Is(err, io.EOF) {
		return nil
	}
	return err
}
