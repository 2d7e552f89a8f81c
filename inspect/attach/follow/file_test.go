package follow_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/kubeloupe/kubeloupe/inspect/attach/follow"
	"github.com/kubeloupe/kubeloupe/inspect/attach/logfile"
)

// all reads until nothing comes.
func all(t *testing.T, r io.Reader) string {
	t.Helper()
	var b strings.Builder
	p := make([]byte, 7)
	for {
		n, err := r.Read(p)
		b.Write(p[:n])
		if errors.Is(err, logfile.ErrIdle) || errors.Is(err, io.EOF) {
			return b.String()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func write(t *testing.T, path, text string, flag int) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|flag, 0o600)
	if err == nil {
		_, err = f.WriteString(text)
	}
	if err = errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
}

// TestFile follows a file over what happens to logs.
func TestFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "kubelet.log")
	write(t, path, "before\n", 0)
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var said []string
		f, err := follow.OpenFile(ctx, path, nil, func(_ bool, s string) { said = append(said, strings.TrimPrefix(s, path+": ")) })
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close() // it was only read
		for _, step := range []struct {
			name string
			do   func()
			want string
			says string
		}{
			{"nothing", func() {}, "", ""},
			{"more", func() { write(t, path, "one\ntwo", os.O_APPEND) }, "one\ntwo", ""},
			{"renamed", func() { must(t, os.Rename(path, path+".1")) }, "", "the log's file was removed or renamed: waiting for the new one"},
			{"written on in the old one", func() { write(t, path+".1", " three", os.O_APPEND) }, " three", ""},
			{"created, empty", func() { write(t, path, "", 0) }, "", ""},
			{"created", func() { write(t, path, "four\n", 0); write(t, path+".1", "!", os.O_APPEND) }, "!\nfour\n", "the log was rotated"},
			{"copied and truncated", func() { write(t, path, "5\n", os.O_TRUNC) }, "5\n", "the log was truncated: what was written to it since the last look is missing"},
			{"replaced by a directory", func() { must(t, os.Remove(path)); must(t, os.Mkdir(path, 0o700)) }, "", ""},
			{"and back", func() { must(t, os.Remove(path)); write(t, path, "6\n", 0) }, "6\n", "the log was rotated"},
		} {
			said = nil
			step.do()
			if got := all(t, f); got != step.want || strings.Join(said, "; ") != step.says {
				t.Errorf("%s: got %q and %q, want %q and %q", step.name, got, said, step.want, step.says)
			}
		}
		cancel()
		if _, err := f.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
			t.Errorf("after its end: %v", err)
		}
	})
}

// TestMoved follows a file whose writer was started again elsewhere.
func TestMoved(t *testing.T) {
	dir := t.TempDir()
	first, second := filepath.Join(dir, "1.log"), filepath.Join(dir, "2.log")
	write(t, first, "", 0)
	synctest.Test(t, func(t *testing.T) {
		f, err := follow.OpenFile(t.Context(), first, nil, nil)
		must(t, err)
		defer f.Close() // it was only read
		now := first
		f.Now = func() string { return now }
		write(t, first, "one\n", os.O_APPEND)
		must(t, os.Remove(first))
		write(t, second, "two\n", 0)
		if got := all(t, f); got != "one\n" {
			t.Errorf("before: %q", got)
		}
		now = second
		if got := all(t, f); got != "two\n" {
			t.Errorf("then: %q", got)
		}
	})
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestBack begins where the log is old enough, at a whole line.
func TestBack(t *testing.T) {
	path := filepath.Join(t.TempDir(), "kubelet.log")
	var b bytes.Buffer
	for i := range 100_000 {
		fmt.Fprintf(&b, "%07d %s\n", i, strings.Repeat("x", 50))
	}
	must(t, os.WriteFile(path, b.Bytes(), 0o600))
	for _, want := range []int{0, 1, 60_000, 99_990, 200_000} {
		f, err := follow.OpenFile(t.Context(), path, func(piece []byte) bool {
			var n int
			_, err := fmt.Sscanf(string(piece[:7]), "%d", &n)
			return err == nil && n <= want
		}, nil)
		must(t, err)
		p := make([]byte, 7)
		if _, err := f.Read(p); err != nil {
			t.Fatal(err)
		}
		var n int
		if _, err := fmt.Sscanf(string(p), "%d", &n); err != nil || n > want || n < min(want, 99_000)-80_000 {
			t.Errorf("from %d: begins with %q", want, p)
		}
		must(t, f.Close())
	}
}

// TestNoFile refuses what is no file, without waiting.
func TestNoFile(t *testing.T) {
	if _, err := follow.OpenFile(t.Context(), t.TempDir(), nil, nil); err == nil {
		t.Error("opened a directory")
	}
	if _, err := follow.OpenFile(t.Context(), filepath.Join(t.TempDir(), "none"), nil, nil); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}
