package guestfile

import (
	"bytes"
	"context"
	"io"
	"io/fs"
	"os"
)

// Rewrite sets content and mode of the regular file at path, in place: it may be mounted into containers, which then
// see the new content. A correct file is not changed, and a missing one is created. An existing file is read only up to
// the length of the new content.
func (f *Files) Rewrite(ctx context.Context, path string, want []byte, mode fs.FileMode) error {
	want = bytes.Clone(want)
	return f.Do(ctx, path, func() error {
		file, err := openWrite(path)
		if missing(err) {
			return create(path, want, mode)
		}
		if err != nil {
			return err
		}
		err = rewrite(file, want, mode)
		if closed := file.Close(); err == nil {
			err = closed
		}
		return err
	})
}

// Create creates an empty file with that mode, regardless of the umask, unless a file exists.
func (f *Files) Create(ctx context.Context, path string, mode fs.FileMode) error {
	return f.Do(ctx, path, func() error { return create(path, nil, mode) })
}

func create(path string, text []byte, mode fs.FileMode) error {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode) // O_EXCL follows no link
	if err != nil {
		return err
	}
	_, err = file.Write(text)
	if err == nil {
		err = file.Chmod(mode)
	}
	if closed := file.Close(); err == nil {
		err = closed
	}
	return err
}

func rewrite(file *os.File, want []byte, mode fs.FileMode) error {
	info, err := file.Stat()
	if err != nil {
		return err
	}
	if info.Mode() != mode {
		if err := file.Chmod(mode); err != nil {
			return err
		}
	}
	if info.Size() == int64(len(want)) {
		have, err := io.ReadAll(io.NewSectionReader(file, 0, info.Size()))
		if err == nil && bytes.Equal(have, want) {
			return nil
		}
	}
	// Write the content before truncating, so that no reader finds the file empty.
	if _, err := file.WriteAt(want, 0); err != nil {
		return err
	}
	return file.Truncate(int64(len(want)))
}
