package recording

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"time"
)

// Reader reads a recording. It may be used by several goroutines, each with a scanner
// of its own.
type Reader struct {
	files    []*os.File // in order; none for a stream
	frames   []frame
	sessions []Session
	stream   source

	mu   sync.Mutex
	info Info
	told int  // frames whose troubles are counted
	used bool // the stream is being read
}

// Open opens a recording, with the part before it if that is there, or a file of JSON lines.
// "-" is the standard input. What cannot be read again, as a pipe, is taken as a stream.
func Open(path string) (*Reader, error) {
	if path == "-" {
		return OpenReader(os.Stdin)
	}
	r, err := open(path)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	return r, nil
}

func open(path string) (*Reader, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) { // the writer was cut off between two renames
		if old, bad := os.Open(older(path)); bad == nil {
			f, err = old, nil
		}
	}
	if err != nil {
		return nil, cause(err)
	}
	st, err := f.Stat()
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	if st.IsDir() {
		return nil, errors.Join(errors.New("it is a directory: want a recording or JSON lines"), f.Close())
	}
	if !st.Mode().IsRegular() {
		r, err := OpenReader(f)
		if err != nil {
			return nil, errors.Join(err, f.Close())
		}
		r.files = append(r.files, f)
		return r, nil
	}
	r := &Reader{files: []*os.File{f}}
	if err := r.load(st.Size()); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

// cause leaves out the path, which the caller names.
func cause(err error) error {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return p.Err
	}
	return err
}

// load reads the index of the file, whose kind its beginning tells.
func (r *Reader) load(size int64) error {
	f := r.files[0]
	p, err := readAt(f, 0, int(min(size, frameRaw)))
	if err != nil {
		return fmt.Errorf("read it: %w", err)
	}
	switch {
	case size == 0:
		return errors.New("it is empty: want a recording or JSON lines")
	case bytes.HasPrefix(p, []byte(magic)):
		return r.loadParts(size)
	}
	node, err := sniffLines(p)
	if err != nil {
		return err
	}
	r.info = Info{Format: FormatJSONL, Node: node, Bytes: size, Parts: 1, Sessions: 1}
	if r.frames, err = indexLines(f, size); err != nil {
		return err
	}
	r.sessions = []Session{{}}
	r.sum()
	last := make([]byte, 1)
	_, err = f.ReadAt(last, size-1)
	r.info.Torn = err == nil && last[0] != '\n' && !r.lastLineIsWhole(size)
	return nil
}

func (r *Reader) lastLineIsWhole(size int64) bool {
	f := r.frames[len(r.frames)-1]
	p, err := readAt(r.files[0], f.off, int(size-f.off))
	_, ok := recordIn(p[bytes.LastIndexByte(p, '\n')+1:])
	return err == nil && ok
}

// Close closes the files.
func (r *Reader) Close() error {
	var err error
	for _, f := range r.files {
		err = errors.Join(err, f.Close())
	}
	return err
}

// Info returns what is known by now.
func (r *Reader) Info() Info {
	r.mu.Lock()
	defer r.mu.Unlock()
	info := r.info
	info.Damage = append([]string(nil), info.Damage...)
	return info
}

// Sessions returns the sessions in order; none of a stream.
func (r *Reader) Sessions() []Session { return append([]Session(nil), r.sessions...) }

// sum adds up what the frames' heads tell.
func (r *Reader) sum() {
	var first, last int64
	for i := range r.frames {
		f := &r.frames[i]
		r.info.Records += uint64(f.records)
		r.info.Lost += f.lost
		s := &r.sessions[f.session]
		s.Records += uint64(f.records)
		if f.first == 0 || f.flags&flagEarlier != 0 {
			continue
		}
		if first == 0 {
			first = f.first
		}
		if s.First.IsZero() {
			s.First = time.Unix(0, f.first).UTC()
		}
		s.Last = time.Unix(0, f.last).UTC()
		last = max(last, f.last)
	}
	if first != 0 {
		r.info.First, r.info.Last = time.Unix(0, first).UTC(), time.Unix(0, last).UTC()
	}
}

// sees keeps the count of a stream.
func (r *Reader) sees(it *Item) {
	if !r.info.Stream {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.info.Records++
	r.info.Lost += it.Lost
	if it.Earlier {
		return
	}
	if r.info.First.IsZero() {
		r.info.First = it.Rec.At().UTC()
	}
	r.info.Last = it.Rec.At().UTC()
}

// report counts what was wrong with a chunk, the first time it is read.
func (r *Reader) report(c chunk) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if c.n < r.told {
		return
	}
	r.told = c.n + 1
	t := troubles{skipped: r.info.Skipped, unknown: r.info.Unknown, damage: r.info.Damage}
	t.merge(c.troubles)
	r.info.Skipped, r.info.Unknown, r.info.Damage = t.skipped, t.unknown, t.damage
	r.info.Torn = r.info.Torn || c.torn
}
