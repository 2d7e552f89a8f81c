package logs

import (
	"errors"
	"io"
	"math"
)

// stampFormat has nine digits always, so that columns line up.
const stampFormat = "2006-01-02T15:04:05.000000000Z07:00"

// errLimit says that as much was written as was wanted.
var errLimit = errors.New("limit reached")

// writer writes lines as the options want them. A nil stream is not wanted.
type writer struct {
	stdout, stderr io.Writer
	opts           Options
	left           int64
	// begun is whether the last line continues in the next entry.
	begun bool
	buf   []byte
}

func newWriter(stdout, stderr io.Writer, o Options) *writer {
	w := &writer{stdout: stdout, stderr: stderr, opts: o, left: math.MaxInt64}
	if o.Limit != nil {
		w.left = *o.Limit
	}
	return w
}

func (w *writer) write(l line) error {
	to := w.stdout
	if l.stderr {
		to = w.stderr
	}
	if to == nil || l.none || l.at.Before(w.opts.Since) {
		return nil
	}
	w.buf = w.buf[:0]
	if w.opts.Timestamps && !w.begun {
		w.buf = append(l.at.AppendFormat(w.buf, stampFormat), ' ')
	}
	w.buf = append(w.buf, l.text...)
	w.begun = len(l.text) > 0 && l.text[len(l.text)-1] != '\n'
	out := w.buf[:min(int64(len(w.buf)), w.left)]
	if _, err := to.Write(out); err != nil {
		return err
	}
	if w.left -= int64(len(out)); w.left <= 0 {
		return errLimit
	}
	return nil
}
