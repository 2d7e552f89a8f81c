package bundle

import (
	"bufio"
	"io"
)

// rewinder is a reader to which a decoder's rest can be given back.
type rewinder struct {
	from *bufio.Reader
	back []byte // is read before what follows in from
	at   int    // in back
}

// Read implements io.Reader.
func (w *rewinder) Read(p []byte) (int, error) {
	if w.at < len(w.back) {
		n := copy(p, w.back[w.at:])
		w.at += n
		return n, nil
	}
	w.back, w.at = nil, 0
	return w.from.Read(p)
}

// unread gives back the last bytes that were read.
func (w *rewinder) unread(rest io.Reader) {
	text, _ := io.ReadAll(io.LimitReader(rest, maxObjects)) // of a decoder's buffer, which is not larger: it does not fail
	if w.at >= len(text) {
		w.at -= len(text)
		return
	}
	w.back, w.at = append(text, w.back[w.at:]...), 0
}

// peek returns the next byte, which is read again.
func (w *rewinder) peek() (byte, error) {
	if w.at < len(w.back) {
		return w.back[w.at], nil
	}
	p, err := w.from.Peek(1)
	if len(p) == 0 {
		return 0, err
	}
	return p[0], nil
}

// skipLine reads up to the end of a line.
func (w *rewinder) skipLine() error {
	for {
		b, err := w.peek()
		if err != nil {
			return err
		}
		if w.at < len(w.back) {
			w.at++
		} else {
			w.back, w.at = nil, 0
			if _, err := w.from.Discard(1); err != nil {
				return err
			}
		}
		if b == '\n' {
			return nil
		}
	}
}
