package recording

import (
	"errors"
	"io"
	"iter"
	"time"
)

// ErrStream is returned for a second read of a stream.
var ErrStream = errors.New("a stream can be read only once: save it to a file first")

// Scanner reads records in order. It is for one goroutine; scanners of one reader
// are independent.
type Scanner struct {
	r    *Reader
	src  source
	cur  chunk
	open bool // cur is being read
	err  error
}

// Next appends up to cap(buf) items to buf[:0] (64 if buf has no capacity), at least one. After the last it returns
// io.EOF.
func (s *Scanner) Next(buf []Item) ([]Item, error) {
	if cap(buf) == 0 {
		buf = make([]Item, 0, 64)
	}
	out := buf[:0]
	for s.err == nil && len(out) < cap(out) {
		if !s.open {
			if len(out) > 0 && s.r.info.Stream {
				break // the next record may take some time
			}
			missing := s.cur.missing
			if s.cur, s.err = s.src.next(); s.err != nil {
				break
			}
			s.cur.missing += missing
			s.open = true
		}
		var it Item
		if !s.cur.item(&it) {
			s.r.report(s.cur)
			s.open = false
			continue
		}
		s.r.sees(&it)
		out = append(out, it)
	}
	if len(out) > 0 {
		return out, nil
	}
	return nil, s.err
}

// Scan returns a scanner that begins with a session, 0 being the first.
func (r *Reader) Scan(session int) (*Scanner, error) {
	if r.stream != nil {
		return r.scanStream()
	}
	at := 0
	if session > 0 && session < len(r.sessions) {
		at = r.sessions[session].frame
	}
	return r.scanFrom(at)
}

func (r *Reader) scanFrom(at int) (*Scanner, error) {
	line := 0
	if at == 0 && r.info.Format == FormatJSONL {
		line = 1
	}
	src, err := newFileSource(r, at, line)
	if err != nil {
		return nil, err
	}
	return &Scanner{r: r, src: src}, nil
}

func (r *Reader) scanStream() (*Scanner, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.used {
		return nil, ErrStream
	}
	r.used = true
	return &Scanner{r: r, src: r.stream}, nil
}

// All yields all records. Damage is not an error: it is skipped and reported in Item.Lost and Info. There is at most one error, at
// the end.
func (r *Reader) All() iter.Seq2[Item, error] { return each(r.Scan(0)) }

// Since yields the records from a time on.
func (r *Reader) Since(t time.Time) iter.Seq2[Item, error] {
	from, at := t.UnixNano(), 0
	for at < len(r.frames) && r.frames[at].last < from {
		at++
	}
	var s *Scanner
	var err error
	if r.stream != nil {
		s, err = r.scanStream()
	} else {
		s, err = r.scanFrom(at)
	}
	return func(yield func(Item, error) bool) {
		for it, err := range each(s, err) {
			if (err != nil || it.Rec.Time >= from) && !yield(it, err) {
				return
			}
		}
	}
}

func each(s *Scanner, err error) iter.Seq2[Item, error] {
	return func(yield func(Item, error) bool) {
		if err != nil {
			yield(Item{}, err)
			return
		}
		buf := make([]Item, 0, 64)
		for {
			items, err := s.Next(buf)
			for i := range items {
				if !yield(items[i], nil) {
					return
				}
			}
			if errors.Is(err, io.EOF) {
				return
			}
			if err != nil {
				yield(Item{}, err)
				return
			}
		}
	}
}
