package recording

import (
	"fmt"
	"io"
)

// source yields a recording in pieces, and io.EOF after the last.
type source interface {
	next() (chunk, error)
}

// fileSource reads frames of files from a place on.
type fileSource struct {
	r   *Reader
	dec *decoder
	at  int // frame
	buf []byte
	// line is the number of the next line, of JSON lines that are read from their beginning.
	line    int
	missing uint64 // to be told with the next chunk
}

func (s *fileSource) next() (chunk, error) {
	for s.at < len(s.r.frames) {
		f := &s.r.frames[s.at]
		c := chunk{n: s.at, line: s.line, session: f.session, earlier: f.flags&flagEarlier != 0}
		payload, err := s.payload(f)
		if err != nil {
			return chunk{}, err
		}
		s.at++
		c.missing, s.missing = s.missing+f.missing, 0
		if s.r.info.Format == FormatJSONL {
			c.text, c.last = payload, s.at == len(s.r.frames)
			s.line += int(f.records)
			return c, nil
		}
		if c.text, err = s.dec.open(f.head, payload); err == nil {
			return c, nil
		}
		s.missing = c.missing + uint64(f.records) + f.lost
		s.r.report(chunk{n: c.n, troubles: troubles{
			skipped: uint64(f.records),
			damage:  []string{fmt.Sprintf("the frame at byte %d is skipped with %d records: %v", f.off, f.records, err)},
		}})
	}
	return chunk{}, io.EOF
}

func (s *fileSource) payload(f *frame) ([]byte, error) {
	n := int(f.stored)
	if cap(s.buf) < n || cap(s.buf) > 4*frameRaw {
		s.buf = make([]byte, max(n, 32<<10))
	}
	p := s.buf[:n]
	if _, err := s.r.files[f.part].ReadAt(p, f.off); err != nil {
		return nil, fmt.Errorf("read %s at byte %d: %w", s.r.files[f.part].Name(), f.off, err)
	}
	return p, nil
}
