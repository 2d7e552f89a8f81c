package control

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
)

// The maximum lengths of lines, in bytes: from a client, from a server at first, and from a server later, when its
// records have bodies.
const (
	maxRequest = 64 << 10
	maxHello   = 64 << 10
	maxAnswer  = 16 << 20
)

var errTooLong = errors.New("line is too long")

// lineReader reads lines. It keeps a partly read line after an error, so reading can continue after a deadline.
type lineReader struct {
	br      *bufio.Reader
	max     int
	partial []byte
}

func newLineReader(src io.Reader, size int) *lineReader {
	return &lineReader{br: bufio.NewReaderSize(src, min(size, 64<<10)), max: size}
}

// next returns a line without its newline. It is valid until the next call.
func (r *lineReader) next() ([]byte, error) {
	for {
		part, err := r.br.ReadSlice('\n')
		if len(r.partial)+len(part) > r.max {
			return nil, fmt.Errorf("%w: the limit is %d bytes", errTooLong, r.max)
		}
		if err == nil && len(r.partial) == 0 {
			return part[:len(part)-1], nil
		}
		r.partial = append(r.partial, part...)
		switch {
		case err == nil:
			line := r.partial[:len(r.partial)-1]
			r.partial = r.partial[:0]
			return line, nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		}
	}
}

// ready reports whether a whole line has been received.
func (r *lineReader) ready() bool {
	held, err := r.br.Peek(r.br.Buffered())
	return err == nil && bytes.IndexByte(held, '\n') >= 0
}

// lineWriter writes lines; each write to the connection has patience as its timeout.
type lineWriter struct {
	bw      *bufio.Writer
	scratch []byte
}

// patient is a connection with a deadline for each write.
type patient struct {
	net.Conn
	patience time.Duration
}

func (p patient) Write(b []byte) (int, error) {
	if err := p.SetWriteDeadline(time.Now().Add(p.patience)); err != nil {
		return 0, err
	}
	return p.Conn.Write(b)
}

func newLineWriter(conn net.Conn, patience time.Duration) *lineWriter {
	return &lineWriter{bw: bufio.NewWriterSize(patient{conn, patience}, 64<<10)}
}

// send writes a line immediately.
func (w *lineWriter) send(v any) error {
	if err := w.put(v); err != nil {
		return err
	}
	return w.bw.Flush()
}

// put writes a line into the buffer.
func (w *lineWriter) put(v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encode: %w", err)
	}
	_, err = w.bw.Write(append(text, '\n'))
	return err
}

// record writes {"record":...} into the buffer; ok is false for one that cannot be encoded.
func (w *lineWriter) record(r *trace.Record) (ok bool, err error) {
	line, err := r.AppendJSON(append(w.scratch[:0], recordPrefix...))
	w.scratch = line[:0]
	if err != nil {
		return false, nil //nolint:nilerr // a record that cannot be encoded is told as lost
	}
	_, err = w.bw.Write(append(line, '}', '\n'))
	return true, err
}

const recordPrefix = `{"record":`
