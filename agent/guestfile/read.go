package guestfile

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Open opens a regular file for reading. A writer may change its length and content meanwhile: the reader must limit
// them. The caller closes it.
func (f *Files) Open(ctx context.Context, path string) (*os.File, error) {
	return do(ctx, f, path, func() (*os.File, error) { return openRead(path) }, func(o *os.File) { _ = o.Close() })
}

// Read returns all of a regular file, at most limit bytes; a longer one is a [*SizeError].
func (f *Files) Read(ctx context.Context, path string, limit int64) ([]byte, error) {
	return do(ctx, f, path, func() ([]byte, error) {
		file, err := openRead(path)
		if err != nil {
			return nil, err
		}
		return readAll(file, path, limit)
	}, nil)
}

// ReadIn is [Files.Read] of rel in a volume. Links are followed if they remain beneath root; no other mount is entered.
func (f *Files) ReadIn(ctx context.Context, root, rel string, limit int64) ([]byte, error) {
	path := filepath.Join(root, rel)
	return do(ctx, f, path, func() ([]byte, error) {
		file, err := openIn(root, rel)
		if err != nil {
			return nil, err
		}
		return readAll(file, rel, limit)
	}, nil)
}

// Resolve returns the final target of the links at path.
func (f *Files) Resolve(ctx context.Context, path string) (string, error) {
	return do(ctx, f, path, func() (string, error) { return filepath.EvalSymlinks(path) }, nil)
}

// Tail returns the last n bytes of a regular file, and whether that is the whole file.
func (f *Files) Tail(ctx context.Context, path string, n int64) (text []byte, whole bool, err error) {
	text, err = do(ctx, f, path, func() ([]byte, error) {
		file, err := openRead(path)
		if err != nil {
			return nil, err
		}
		defer file.Close() //nolint:errcheck // it was only read
		info, err := file.Stat()
		if err != nil {
			return nil, err
		}
		// One more byte shows whether there is more.
		return io.ReadAll(io.NewSectionReader(file, max(0, info.Size()-n-1), min(n+1, info.Size())))
	}, nil)
	if int64(len(text)) > n {
		return text[1:], false, err
	}
	return text, true, err
}

// readAll closes the file.
func readAll(file *os.File, path string, limit int64) ([]byte, error) {
	defer file.Close() //nolint:errcheck // it was only read
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if info.Size() > limit {
		return nil, &SizeError{Path: path, Size: info.Size(), Limit: limit}
	}
	text, err := io.ReadAll(io.LimitReader(file, limit+1)) // it may have grown
	if err == nil && int64(len(text)) > limit {
		return nil, &SizeError{Path: path, Size: int64(len(text)), Limit: limit}
	}
	return text, err
}

// missing reports whether nothing exists at the path.
func missing(err error) bool { return errors.Is(err, fs.ErrNotExist) }
