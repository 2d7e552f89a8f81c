package bundle

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
)

const (
	// begins is how much of two files must be the same so that the rest is compared, too.
	begins = 512
	// maxAlike is how many files that begin alike one is compared with, maxCompared how many bytes are compared in all.
	maxAlike    = 8
	maxCompared = 16 << 30
)

// leftOut says that a file is another one, or a copy of it.
func (s *Source) leftOut(name, same string) {
	s.told.Notes = append(s.told.Notes, fmt.Sprintf("%s: left out: %s has the same content", name, same))
}

// distinct leaves out files of which another one has the whole content: copies, also compressed ones, and earlier copies of a log that has
// grown since.
func (s *Source) distinct(all []file) (out []file, err error) {
	alike := map[string][]int{} // in out, by how they begin
	for _, f := range all {
		at, found := alike[f.head], false
		for _, i := range at[:min(len(at), maxAlike)] {
			in, has, err := s.contained(f, out[i])
			if err != nil {
				return nil, err
			}
			if found = in || has; !found {
				continue
			}
			if has && !in { // f is longer
				out[i], f = f, out[i]
			}
			s.leftOut(f.name, out[i].name)
			break
		}
		if !found {
			alike[f.head] = append(at, len(out))
			out = append(out, f)
		}
	}
	return out, nil
}

// contained reports whether the text of a is that of b or its beginning, and the other way round.
func (s *Source) contained(a, b file) (in, has bool, err error) {
	if a.kind != b.kind {
		return false, false, nil
	}
	var readers [2]io.Reader
	for i, f := range []file{a, b} {
		r, err := f.open()
		if err != nil {
			return false, false, err
		}
		defer r.Close() //nolint:errcheck // it was only read
		if readers[i], err = inflated(r); err != nil {
			return false, false, nil //nolint:nilerr // whoever reads it says so
		}
	}
	const size = 64 << 10
	var bufs [2][size]byte
	for s.like < maxCompared {
		n, err := full(readers[0], bufs[0][:])
		if err != nil {
			return false, false, err
		}
		m, err := full(readers[1], bufs[1][:])
		if err != nil {
			return false, false, err
		}
		s.like += int64(n + m)
		both := min(n, m)
		if !bytes.Equal(bufs[0][:both], bufs[1][:both]) {
			return false, false, nil
		}
		if both < size {
			return n == both, m == both, nil
		}
	}
	return false, false, nil
}

// full reads until p is full, or there is nothing more that can be read.
func full(r io.Reader, p []byte) (int, error) {
	n, err := io.ReadFull(r, p)
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return n, err
	}
	return n, nil
}
