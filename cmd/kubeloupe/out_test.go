package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/kubeloupe/kubeloupe/tui/style"
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

// TestASCII: where the locale shows no more, text for people is ASCII, also of characters that come in pieces.
func TestASCII(t *testing.T) {
	from := filepath.Join("..", "..", "tui", "testdata", "recordings", "standalone.klr")
	for _, locale := range []string{"C", "C.UTF-8", ""} {
		t.Setenv("LC_ALL", locale)
		t.Setenv("LC_CTYPE", "")
		t.Setenv("LANG", "")
		for _, c := range []string{
			"trace --all", "trace --diff shop/web-node-1 shop/files-node-1", "trace shop/web-node-1", "why shop/web-node-1",
			"inspect cri", "inspect node", "inspect pod shop/web-node-1 -o wide", "events", "events -o wide",
		} {
			var out, errs bytes.Buffer
			if code := execute(append(strings.Fields(c), "--from", from), strings.NewReader(""), &out, &errs); code != 0 {
				t.Fatalf("%s: %d, %s", c, code, &errs)
			}
			other := strings.ContainsFunc(out.String(), func(r rune) bool { return r > '~' })
			if other != (locale != "C") {
				t.Errorf("LC_ALL=%q %s: more than ASCII: %t", locale, c, other)
			}
		}
	}
	var b bytes.Buffer
	a := &asciiWriter{to: &b, theme: style.New(true)}
	for _, c := range []byte("3µs … ×2 é\n") {
		if _, err := a.Write([]byte{c}); err != nil {
			t.Fatal(err)
		}
	}
	if b.String() != "3us ~ x2 ?\n" {
		t.Errorf("%q", &b)
	}
}
