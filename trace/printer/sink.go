package printer

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
)

// Sink writes records in order. Records may be buffered until Flush.
type Sink interface {
	// Write writes one record.
	Write(rec *trace.Record) error
	// Lost says that n records are missing before the next one, which has that time.
	Lost(n uint64, at time.Time) error
	// Flush writes the buffered lines.
	Flush() error
}

// company is how long records wait for others after a batch was written, unless there are many. The first one after a quiet time is written at
// once.
const company = 50 * time.Millisecond

// Run writes cur's records to the sink until ctx is done or cur is closed, and then the remaining ones. Each batch is
// flushed; between two is company, or an eighth of the ring. It returns the sink's error.
func Run(ctx context.Context, cur *trace.Cursor, sink Sink) error {
	buf := make([]trace.Record, 0, 256)
	for {
		recs, lost, err := cur.Next(ctx, buf)
		ended := errors.Is(err, trace.ErrClosed) || ctx.Err() != nil
		if err != nil && !ended {
			return err
		}
		if err := batch(sink, recs, lost); err != nil {
			return err
		}
		if ended {
			return drain(cur, sink, buf)
		}
		cur.Rest(ctx, company)
	}
}

// drain writes the remaining records, up to the last one that was published when it began.
func drain(cur *trace.Cursor, sink Sink, buf []trace.Record) error {
	for left := cur.Behind(); left > 0; {
		recs, lost := cur.Poll(buf)
		if err := batch(sink, recs, lost); err != nil {
			return err
		}
		done := uint64(len(recs)) + lost
		if done == 0 {
			return nil
		}
		left -= min(left, done)
	}
	return nil
}

func batch(sink Sink, recs []trace.Record, lost uint64) error {
	if lost > 0 {
		at := time.Now()
		if len(recs) > 0 {
			at = recs[0].At()
		}
		if err := sink.Lost(lost, at); err != nil {
			return err
		}
	}
	for i := range recs {
		if err := sink.Write(&recs[i]); err != nil {
			return err
		}
	}
	if len(recs) == 0 && lost == 0 {
		return nil
	}
	return sink.Flush()
}

// JSONSink writes every record as one JSON line. Create it with JSON.
type JSONSink struct {
	w   *bufio.Writer
	enc *json.Encoder
}

// JSON returns a sink that writes every record to w, in trace's encoding.
func JSON(w io.Writer) *JSONSink {
	b := bufio.NewWriter(w)
	return &JSONSink{w: b, enc: json.NewEncoder(b)}
}

// Write implements Sink.
func (s *JSONSink) Write(rec *trace.Record) error {
	return s.enc.Encode(rec)
}

// Lost implements Sink. It writes a log record with sequence number 0, which no
// published record has, and the attribute lost.
func (s *JSONSink) Lost(n uint64, at time.Time) error {
	count := strconv.FormatUint(n, 10)
	return s.Write(&trace.Record{Time: at.UnixNano(), Event: &trace.Log{
		Level: trace.LevelWarn, Message: count + " records were lost here: this reader was too slow",
		Attrs: []trace.KV{{K: "lost", V: count}},
	}})
}

// Flush implements Sink.
func (s *JSONSink) Flush() error { return s.w.Flush() }
