package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/printer"
)

// lastWords is how long one record may take to be read once the command is to end.
const lastWords = 3 * time.Second

// catchPipe has a write to an output that nobody reads any more fail, until the returned function is called. Otherwise the kernel ends the process
// at once, and what it has to put back or remove stays. Programs that it starts are not concerned.
func catchPipe() (release func()) {
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGPIPE)
	return func() { signal.Stop(c) }
}

// printUntil prints records until ctx ends, and then what is left. Who reads that may have stopped reading: then it is left to itself.
func printUntil(ctx context.Context, cur *trace.Cursor, sink printer.Sink) error {
	err := printRecords(ctx, cur, sink)
	if errors.Is(err, syscall.EPIPE) {
		return fmt.Errorf("nobody reads the output any more: %w", err)
	}
	return err
}

func printRecords(ctx context.Context, cur *trace.Cursor, sink printer.Sink) error {
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
