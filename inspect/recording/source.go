package recording

import (
	"fmt"
	"io"
)

// source yields a recording in chunks, and io.EOF after the last.
type source interface {
	next() (chunk, error)
}

// fileSource reads frames of files from a position. From the second frame on, it reads some ahead, each in a goroutine
// that ends with it.
type fileSource struct {
	r  *Reader
	at int // frame
	// line is the number of the next line, for JSON lines that are read from their beginning.
	line    int
	missing uint64 // to be reported with the next chunk

	own   *frameReader   // for frames that are not read ahead
	depth int            // maximum number of frames that are read ahead
	more  bool           // the first was requested: many readers need only that
	begun int            // the next frame that is not being read
	queue []*frameReader // those that are being read, from frame at on
	using *frameReader   // has the last chunk
	idle  []*frameReader
}

func newFileSource(r *Reader, at, line int) (*fileSource, error) {
	own, err := newFrameReader()
	return &fileSource{r: r, at: at, begun: at, line: line, own: own, depth: depth()}, err
}

func (s *fileSource) next() (chunk, error) {
	for s.at < len(s.r.frames) {
		f := &s.r.frames[s.at]
		o := s.frame()
		if o.err != nil {
			return chunk{}, o.err
		}
		s.at++
		missing := s.missing + f.missing
		if o.damage == nil {
			o.missing, s.missing = missing, 0
			return o.chunk, nil
		}
		s.missing = missing + uint64(f.records) + f.lost
		s.r.report(chunk{n: o.n, troubles: troubles{
			skipped: uint64(f.records),
			damage:  []string{fmt.Sprintf("the frame at byte %d is skipped with %d records: %v", f.off, f.records, o.damage)},
		}})
	}
	return chunk{}, io.EOF
}

// frame reads the next frame, or waits for it if it is being read ahead.
func (s *fileSource) frame() opened {
	if s.using != nil {
		s.idle, s.using = append(s.idle, s.using), nil
	}
	if err := s.readAhead(); err != nil {
		return opened{err: err}
	}
	s.more = true
	if len(s.queue) == 0 {
		return s.own.open(s.r, s.begin())
	}
	s.using, s.queue = s.queue[0], s.queue[1:]
	return <-s.using.done
}

// readAhead starts reading the next frames, up to one that is too long.
func (s *fileSource) readAhead() error {
	for s.more && len(s.queue) < s.depth && s.begun < len(s.r.frames) && s.r.frames[s.begun].raw <= aheadRaw {
		if len(s.idle) == 0 {
			w, err := newFrameReader()
			if err != nil {
				return err
			}
			s.idle = append(s.idle, w)
		}
		last := len(s.idle) - 1
		w := s.idle[last]
		s.idle, s.queue = s.idle[:last], append(s.queue, w)
		go w.ahead(s.r, s.begin())
	}
	return nil
}

// begin returns the chunk of the next frame that is not being read, without its text.
func (s *fileSource) begin() chunk {
	f := &s.r.frames[s.begun]
	c := chunk{n: s.begun, line: s.line, session: f.session, earlier: f.flags&flagEarlier != 0}
	s.begun++
	if s.r.info.Format == FormatJSONL {
		c.last = s.begun == len(s.r.frames)
		s.line += int(f.records)
	}
	return c
}
