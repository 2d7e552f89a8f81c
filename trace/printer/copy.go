package printer

import (
	"context"
	"errors"
	"io"

	"github.com/kubeloupe/kubeloupe/trace"
)

// Source is a stream of records other than a bus's own: a recording, a connection. Next returns io.EOF after the last
// record.
type Source interface {
	Next(ctx context.Context, buf []trace.Record) (recs []trace.Record, lost uint64, err error)
}

// Copy writes src's records to the sink until src ends, which is no error, or ctx is done. Each batch is flushed.
func Copy(ctx context.Context, src Source, sink Sink) error {
	buf := make([]trace.Record, 0, 256)
	for {
		recs, lost, err := src.Next(ctx, buf)
		if err := batch(sink, recs, lost); err != nil {
			return err
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
	}
}
