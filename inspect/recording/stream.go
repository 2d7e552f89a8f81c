package recording

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/kubeloupe/kubeloupe/trace/jsonl"
)

// OpenReader reads a recording or JSON lines from a stream, once. Records can be read as soon as they arrive.
func OpenReader(in io.Reader) (*Reader, error) {
	br := bufio.NewReaderSize(in, frameRaw)
	p, err := br.Peek(len(magic))
	switch {
	case len(p) == 0 && errors.Is(err, io.EOF):
		return nil, errors.New("read the stream: it is empty: must be a recording or JSON lines")
	case err != nil && !errors.Is(err, io.EOF):
		return nil, fmt.Errorf("read the stream: %w", err)
	case string(p) == magic:
		return openFrames(br)
	}
	if p, _ = br.Peek(br.Buffered()); !looksLikeLines(p) {
		return nil, errors.New("read the stream: it is neither a recording nor JSON lines from `run -o json`")
	}
	r := &Reader{info: Info{Format: FormatJSONL, Stream: true, Sessions: 1}}
	r.stream = &lineStream{br: br, line: 1}
	return r, nil
}

// looksLikeLines reports whether some line may be a record, which may be incomplete.
func looksLikeLines(p []byte) bool {
	for line := range bytes.Lines(p) {
		if line = bytes.TrimSpace(line); len(line) > 0 && line[0] == '{' {
			return true
		}
	}
	return false
}

// lineStream yields lines as they arrive.
type lineStream struct {
	br   *bufio.Reader
	text []byte
	n    int
	line int
	err  error
}

func (s *lineStream) next() (chunk, error) {
	if s.err != nil {
		return chunk{}, s.err
	}
	s.text = s.text[:0]
	c := chunk{n: s.n, line: s.line}
	s.n++
	for s.err == nil {
		part, err := s.br.ReadSlice('\n')
		s.text = append(s.text, part...)
		if errors.Is(err, bufio.ErrBufferFull) {
			if len(s.text) > jsonl.MaxLine {
				s.err = fmt.Errorf("line %d is %w", s.line, jsonl.ErrTooLong)
			}
			continue
		}
		if s.err = err; err == nil {
			s.line++
		}
		if s.br.Buffered() == 0 || len(s.text) >= frameRaw {
			break
		}
	}
	c.last = errors.Is(s.err, io.EOF)
	if len(s.text) == 0 {
		return chunk{}, s.err
	}
	c.text = s.text
	return c, nil
}

func openFrames(br *bufio.Reader) (*Reader, error) {
	p := make([]byte, preludeLen)
	if _, err := io.ReadFull(br, p); err != nil {
		return nil, fmt.Errorf("read the stream: %w", err)
	}
	version, err := checkPrelude(p)
	if err != nil {
		return nil, fmt.Errorf("read the stream: %w", err)
	}
	dec, err := newDecoder()
	if err != nil {
		return nil, err
	}
	r := &Reader{info: Info{Format: FormatRecording, Version: version, Stream: true, Parts: 1}}
	r.stream = &frameStream{r: r, br: br, dec: dec}
	return r, nil
}

// frameStream yields frames as they arrive.
type frameStream struct {
	r       *Reader
	br      *bufio.Reader
	dec     *decoder
	n       int
	buf     []byte
	missing uint64
}

func (s *frameStream) next() (chunk, error) {
	for {
		h, damaged, err := s.head()
		if err != nil {
			return chunk{}, err
		}
		if cap(s.buf) < int(h.stored) {
			s.buf = make([]byte, h.stored)
		}
		payload := s.buf[:h.stored]
		if _, err := io.ReadFull(s.br, payload); err != nil {
			return chunk{}, s.ended(err, &h)
		}
		c := chunk{n: s.n, session: max(0, s.r.info.Sessions-1), earlier: h.flags&flagEarlier != 0}
		s.n++
		if damaged {
			c.skipped++
			c.note("damage: reading continues after it")
		}
		c.missing, s.missing = s.missing+c.skipped, 0
		switch {
		case h.kind == frameSession && castagnoli(payload) == h.sum:
			s.session(payload)
		case h.kind == frameRecords:
			if c.text, err = s.dec.open(h, payload); err == nil {
				return c, nil
			}
			c.skipped += uint64(h.records)
			c.missing += uint64(h.records) + h.lost
			c.note(fmt.Sprintf("a frame is skipped with %d records: %v", h.records, err))
		}
		s.missing = c.missing
		s.r.report(c)
	}
}

// head reads up to the next valid header.
func (s *frameStream) head() (h head, damaged bool, err error) {
	for {
		p, err := s.br.Peek(headLen)
		if len(p) < headLen {
			return h, damaged, s.ended(err, nil)
		}
		if h, err = parseHead(p); err == nil {
			_, err = s.br.Discard(headLen)
			return h, damaged, err
		}
		damaged = true
		if _, err := s.br.Discard(1); err != nil {
			return h, damaged, err
		}
	}
}

// ended reports the stream's end, which is incomplete if bytes are left.
func (s *frameStream) ended(err error, h *head) error {
	if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("read the stream: %w", err)
	}
	c := chunk{n: s.n, torn: h != nil || s.br.Buffered() > 0}
	if h != nil {
		c.skipped = uint64(h.records)
	}
	s.n++
	s.r.report(c)
	return io.EOF
}

func (s *frameStream) session(payload []byte) {
	h, err := parseHeader(payload)
	if err != nil {
		return
	}
	s.r.mu.Lock()
	defer s.r.mu.Unlock()
	if s.r.info.Sessions == 0 {
		s.r.info.Created, s.r.info.Dropped = h.Created, h.Before.Records
	}
	s.r.info.Sessions++
	s.r.info.Node, s.r.info.Kubeloupe = h.Node, h.Kubeloupe
}
