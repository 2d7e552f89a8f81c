package recording

import (
	"runtime"
)

const (
	// aheadRaw is the maximum length of a frame that is read ahead, in bytes of text: longer ones, which only hostile
	// files have many of, are read one after the other.
	aheadRaw = 2 * frameRaw
	// maxAhead is the maximum number of frames that are read ahead, each about one megabyte of records.
	maxAhead = 4
)

// frameReader reads one frame at a time. Its buffers have the last frame.
type frameReader struct {
	dec   *decoder
	buf   []byte
	items []Item
	done  chan opened // result of a frame that is read ahead; buffered, so that the goroutine ends even if nobody waits
}

// opened is the result of reading a frame: a chunk, or the frame's error, or the file's error.
type opened struct {
	chunk
	damage, err error
}

func newFrameReader() (*frameReader, error) {
	dec, err := newDecoder()
	if err != nil {
		return nil, err
	}
	return &frameReader{dec: dec, done: make(chan opened, 1)}, nil
}

// open reads a frame's text.
func (w *frameReader) open(r *Reader, c chunk) opened {
	f := &r.frames[c.n]
	payload, err := w.payload(r, f)
	if err != nil {
		return opened{err: err}
	}
	if r.info.Format == FormatJSONL {
		c.text = payload
		return opened{chunk: c}
	}
	c.text, err = w.dec.open(f.head, payload)
	return opened{chunk: c, damage: err}
}

// ahead reads a frame's records, and then ends.
func (w *frameReader) ahead(r *Reader, c chunk) {
	o := w.open(r, c)
	if o.err == nil && o.damage == nil {
		w.items = o.parse(w.items[:0])
	}
	w.done <- o
}

func (w *frameReader) payload(r *Reader, f *frame) ([]byte, error) {
	n := int(f.stored)
	if cap(w.buf) < n || cap(w.buf) > 4*frameRaw {
		w.buf = make([]byte, max(n, 32<<10))
	}
	p := w.buf[:n]
	return p, r.readAt(p, f)
}

// depth returns how many frames are read ahead: one for each CPU, none if there is only one.
func depth() int {
	if n := runtime.GOMAXPROCS(0); n > 1 {
		return min(n, maxAhead)
	}
	return 0
}
