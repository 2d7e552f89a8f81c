package bundle

import (
	"archive/tar"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strings"
	"time"
)

// archive are the files of a tar file that matter. They are copied to a file of this package's.
func (s *Source) archive(ctx context.Context, f file) ([]file, error) {
	r, err := f.open()
	if err != nil {
		return nil, err
	}
	defer r.Close() //nolint:errcheck // it was only read
	return s.unpack(ctx, r, f.name)
}

func (s *Source) unpack(ctx context.Context, r io.Reader, name string) (out []file, err error) {
	b, err := inflated(r)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	t := tar.NewReader(io.LimitReader(b, 4*maxBytes))
	large := 0
	defer func() {
		if large > 0 {
			s.told.Notes = append(s.told.Notes, fmt.Sprintf("%s: files left out because they are too large: %d: a file may have %d GiB, and all together %d GiB; unpack the archive and name the files", name, large, maxEntry>>30, maxBytes>>30))
		}
	}()
	for n := 0; ; n++ {
		h, err := t.Next()
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
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
		if h.Size > maxEntry || s.size+h.Size > maxBytes {
			large++
			continue
		}
		g, err := s.keep(ctx, t, path.Join(name, inside), h.ModTime)
		torn, is := errors.AsType[tornError](err)
		if ctx.Err() != nil || err != nil && !is {
			return nil, cmp.Or(ctx.Err(), err)
		}
		if g.kind == kindLog || g.kind == kindObjects {
			out = append(out, g)
		}
		if is {
			s.told.Notes = append(s.told.Notes, fmt.Sprintf("%s: the archive ends within %s, which is incomplete: %v", name, inside, torn.error))
			return preferred(out), nil
		}
	}
}

// tornError says that what is copied cannot be read to its end.
type tornError struct{ error }

// tearing marks the errors of a reader.
type tearing struct{ io.Reader }

// Read implements io.Reader.
func (t tearing) Read(p []byte) (int, error) {
	n, err := t.Reader.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = tornError{err}
	}
	return n, err
}

// keep copies what is read to the end of a file of this package's, whose name is removed at once: nothing of it is left, however the process
// ends. With a tornError, the file has what could be read.
func (s *Source) keep(ctx context.Context, r io.Reader, name string, mod time.Time) (f file, err error) {
	if s.kept == nil {
		if s.kept, err = os.CreateTemp("", "kubeloupe-from-"); err != nil {
			return f, err
		}
		if err := os.Remove(s.kept.Name()); err != nil {
			return f, err
		}
	}
	from := s.size
	n, err := io.Copy(io.NewOffsetWriter(s.kept, from), io.LimitReader(tearing{r}, maxEntry))
	torn, is := errors.AsType[tornError](err)
	if err != nil && !is {
		return f, fmt.Errorf("%s: %w", name, err)
	}
	f = file{name: name, mod: mod, open: func() (io.ReadCloser, error) {
		return reads(ctx, io.NopCloser(io.NewSectionReader(s.kept, from, n))), nil
	}}
	if err := f.sniff(); err != nil {
		return f, err
	}
	if f.kind == kindLog || f.kind == kindObjects {
		s.size += n
	}
	if is {
		return f, torn
	}
	return f, nil // else the next one is written over it
}

// spool keeps what can be read once, to read it as files are.
func (s *Source) spool(ctx context.Context, r io.Reader, archive bool, o Options) error {
	var files []file
	if archive {
		all, err := s.unpack(ctx, r, "-")
		if err != nil {
			return err
		}
		files, err = s.distinct(all)
		if err != nil {
			return err
		}
	} else {
		f, err := s.keep(ctx, r, "-", time.Time{})
		if err != nil {
			return err
		}
		files = []file{f}
	}
	return s.open(files, o)
}
