package logs

import (
	"errors"
	"io"
	"math"
)

// stampFormat always has nine digits, so that columns are aligned.
const stampFormat = "2006-01-02T15:04:05.000000000Z07:00"

// errLimit says that the limit is reached.
var errLimit = errors.New("limit reached")

// writer writes lines according to the options. A nil stream is skipped.
type writer struct {
	stdout, stderr io.Writer
	opts           Options
	left           int64
	// begun says that the last line continues in the next entry.
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
