package main

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// TestUnfinishedFileIsRemoved, and nothing else: --to may name a device, a pipe, or a link.
func TestUnfinishedFileIsRemoved(t *testing.T) {
	errBroken := errors.New("broken")
	dir := t.TempDir()
	plain, link, pipe := filepath.Join(dir, "plain"), filepath.Join(dir, "link"), filepath.Join(dir, "pipe")
	target := filepath.Join(dir, "target")
	if err := errors.Join(os.Symlink(target, link), unix.Mkfifo(pipe, 0o600)); err != nil {
		t.Fatal(err)
	}
	reader, err := os.OpenFile(pipe, os.O_RDWR, 0) // a pipe opens for writing when it has a reader
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	for _, c := range []struct {
		path  string
		stays bool
	}{{plain, false}, {link, true}, {pipe, true}} {
		err := writeTo(c.path, io.Discard, func(w io.Writer) error {
			_, err := io.WriteString(w, "half of it")
			return errors.Join(err, errBroken)
		})
		if _, gone := os.Lstat(c.path); !errors.Is(err, errBroken) || (gone == nil) != c.stays {
			t.Errorf("%s: stays %t, want %t; %v", c.path, gone == nil, c.stays, err)
		}
	}
}
