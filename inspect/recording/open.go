package recording

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
)

// Reader reads a recording. Several goroutines can use it, each with a separate scanner.
type Reader struct {
	files    []*os.File // in order; none for a stream
	frames   []frame
	sessions []Session
	stream   source

	mu   sync.Mutex
	info Info
	told int  // frames whose errors are counted
	used bool // the stream is being read
}

// Open opens a recording, with its earlier part if that exists, or a file of JSON lines. "-" is the standard input. A
// file that can be read only once, such as a pipe, is read as a stream.
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
	if errors.Is(err, fs.ErrNotExist) { // the writer was interrupted between two renames
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
		return nil, errors.Join(errors.New("it is a directory: must be a recording or JSON lines"), f.Close())
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

// cause returns an error without its path, which the caller adds.
func cause(err error) error {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return p.Err
	}
	return err
}

// load reads the index of the file, whose format it detects.
func (r *Reader) load(size int64) error {
	f := r.files[0]
	p, err := readAt(f, 0, int(min(size, frameRaw)))
	if err != nil {
		return fmt.Errorf("read it: %w", err)
	}
	switch {
	case size == 0:
		return errors.New("it is empty: must be a recording or JSON lines")
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

// readAt reads a frame's payload.
func (r *Reader) readAt(p []byte, f *frame) error {
	if _, err := r.files[f.part].ReadAt(p, f.off); err != nil {
		return fmt.Errorf("read %s at byte %d: %w", r.files[f.part].Name(), f.off, err)
	}
	return nil
}

// Close closes the files.
func (r *Reader) Close() error {
	var err error
	for _, f := range r.files {
		err = errors.Join(err, f.Close())
	}
	return err
}
