package main

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/printer"
)

// lastWords is how long one record may take to be read once the command is to end.
const lastWords = 3 * time.Second

// printUntil prints records until ctx ends, and then what is left. Who reads that may have stopped reading: then it is left to itself.
func printUntil(ctx context.Context, cur *trace.Cursor, sink printer.Sink) error {
	counted := &countedSink{Sink: sink}
	ended := make(chan error, 1)
	go func() { ended <- printer.Run(ctx, cur, counted) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	for {
		before := counted.n.Load()
		select {
		case err := <-ended:
			if errors.Is(err, errStopped) { // nobody read the last records, and the command was to end anyway
				return nil
			}
			return err
		case <-time.After(lastWords):
			if counted.n.Load() == before {
				return nil
			}
		}
	}
}

// countedSink counts the records that it was given.
type countedSink struct {
	printer.Sink
	n atomic.Int64
}

// Write implements printer.Sink.
func (c *countedSink) Write(r *trace.Record) error {
	c.n.Add(1)
	return c.Sink.Write(r)
}
