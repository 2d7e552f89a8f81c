// Package jsonl reads records from JSON lines, as `run -o json` and recordings write them.
//
// It owns the framing: one object per line, empty lines skipped, and an invalid last line without newline counts as
// torn (its writer was interrupted). It never keeps more than one line, runs no goroutine and publishes nothing.
package jsonl

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/kubeloupe/kubeloupe/trace"
)

// MaxLine is the maximum length of a line, in bytes. Anybody may have written it; 3 bytes of JSON may need 40 in
// memory, until the record is cut to its maximum size. No record of this version needs more than a megabyte.
const MaxLine = 16 << 20

// ErrTorn is wrapped by the error for an incomplete last line.
var ErrTorn = errors.New("the last line is cut off")

// ErrTooLong is wrapped by the error for a line longer than MaxLine, after which nothing is read.
var ErrTooLong = fmt.Errorf("longer than %d MiB", MaxLine>>20)

// Error is a line that is not a record.
type Error struct {
	Line int // from 1
	Err  error
}

// Error implements error.
func (e *Error) Error() string { return fmt.Sprintf("line %d: %v", e.Line, e.Err) }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Read yields the records of r in order. A line that is not a record yields an
// *Error, and reading continues if the caller does. A torn last line yields an error
// that wraps ErrTorn; an error of r itself ends the sequence.
func Read(r io.Reader) iter.Seq2[trace.Record, error] {
	return func(yield func(trace.Record, error) bool) {
		br := bufio.NewReaderSize(r, 64<<10)
		for n := 1; ; n++ {
			line, err := readLine(br)
			last := errors.Is(err, io.EOF)
			if err != nil && !last {
				yield(trace.Record{}, &Error{Line: n, Err: err})
				return
			}
			if len(bytes.TrimSpace(line)) > 0 {
				var rec trace.Record
				bad := json.Unmarshal(line, &rec)
				if bad != nil {
					rec = trace.Record{}
					if last {
						bad = fmt.Errorf("%w: %w", ErrTorn, bad)
					}
					bad = &Error{Line: n, Err: bad}
				}
				if !yield(rec, bad) {
					return
				}
			}
			if last {
				return
			}
		}
	}
}

// readLine returns one line without its newline, and io.EOF with the last.
func readLine(br *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := br.ReadSlice('\n')
		if len(line)+len(part) > MaxLine {
			return nil, ErrTooLong
		}
		line = append(line, part...)
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		return bytes.TrimSuffix(line, []byte("\n")), err
	}
}
