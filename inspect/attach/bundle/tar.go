package bundle

import (
	"archive/tar"
	"bufio"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"
)

// archive are the files of a tar file that matter. They are copied to a directory of this package's, under names of its own.
func (s *Source) archive(f file) ([]file, error) {
	r, err := f.open()
	if err != nil {
		return nil, err
	}
	defer r.Close() //nolint:errcheck // it was only read
	return s.unpack(r, f.name)
}

func (s *Source) unpack(r io.Reader, name string) (out []file, err error) {
	b := bufio.NewReaderSize(r, 64<<10)
	if head, err := b.Peek(2); err == nil && head[0] == 0x1f && head[1] == 0x8b {
		z, err := gzip.NewReader(b)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		b = bufio.NewReaderSize(z, 64<<10)
	}
	t := tar.NewReader(io.LimitReader(b, 4*maxBytes))
	var total int64
	large := 0
	defer func() {
		if large > 0 {
			s.told.Notes = append(s.told.Notes, fmt.Sprintf("%s: files left out because they are too large: %d: a file may have %d GiB, and all together %d GiB; unpack the archive and name the files", name, large, maxEntry>>30, maxBytes>>30))
		}
	}()
	for n := 0; ; n++ {
		h, err := t.Next()
		switch {
		case errors.Is(err, io.EOF):
			return preferred(out), nil
		case err != nil:
			s.told.Notes = append(s.told.Notes, fmt.Sprintf("%s: the archive ends after %d entries: %v", name, n, err))
			return preferred(out), nil
		case n >= maxNames || len(out) >= 2*MaxFiles:
			s.told.Notes = append(s.told.Notes, fmt.Sprintf("%s: the archive is read up to its entry %d", name, n))
			return preferred(out), nil
		}
		inside := path.Clean("/" + h.Name)[1:]
		if h.Typeflag != tar.TypeReg || strings.Count(inside, "/") > maxDepth || !maybe(inside) {
			continue
		}
		if h.Size > maxEntry || total+h.Size > maxBytes {
			large++
			continue
		}
		g, err := s.keep(t, path.Join(name, inside), h.ModTime)
		if err != nil {
			return nil, err
		}
		if total += h.Size; g.kind == kindLog || g.kind == kindObjects {
			out = append(out, g)
		}
	}
}

// keep copies what is read to a file of this package's.
func (s *Source) keep(r io.Reader, name string, mod time.Time) (f file, err error) {
	if s.dir == "" {
		if s.dir, err = os.MkdirTemp("", "kubeloupe-from-"); err != nil {
			return f, err
		}
	}
	s.kept++
	to := filepath.Join(s.dir, fmt.Sprintf("%06d", s.kept))
	w, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return f, err
	}
	_, err = io.Copy(w, io.LimitReader(r, maxEntry))
	if err = errors.Join(err, w.Close()); err != nil {
		return f, fmt.Errorf("%s: %w", name, err)
	}
	f = file{name: name, mod: mod, open: func() (io.ReadCloser, error) { return os.Open(to) }}
	if f.kind, err = kindOf(f); err != nil {
		return f, err
	}
	if f.kind != kindLog && f.kind != kindObjects {
		return f, os.Remove(to)
	}
	return f, nil
}

// spool keeps what can be read once, to read it as files are.
func (s *Source) spool(r io.Reader, archive bool, o Options) error {
	var files []file
	if archive {
		all, err := s.unpack(r, "-")
		if err != nil {
			return err
		}
		files = all
	} else {
		f, err := s.keep(r, "-", time.Time{})
		if err != nil {
			return err
		}
		files = []file{f}
	}
	return s.open(files, o)
}
