package bundle_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kubeloupe/kubeloupe/inspect/attach/bundle"
)

// TestCopies gives a log twice, in each way in which people do: it counts once, and that is said.
func TestCopies(t *testing.T) {
	var text strings.Builder
	for n := range 40 {
		fmt.Fprintf(&text, "I1123 08:00:%02d.000000 1 a.go:1] \"SyncLoop ADD\" source=\"api\" pods=[\"shop/p%d\"]\n", n, n)
	}
	whole := text.String()
	once := t.TempDir()
	write(t, once, "kubelet.log", whole)
	want, _ := all(t, open(t, filepath.Join(once, "kubelet.log")))
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	z.Write([]byte(whole))
	z.Close()
	copied := func(name, text string) func(string) {
		return func(dir string) { write(t, dir, name, text) }
	}
	linked := func(dir string) {
		if err := os.Symlink("kubelet.log", filepath.Join(dir, "link")); err != nil {
			t.Fatal(err)
		}
	}
	archive := func(dir string) {
		pack(t, filepath.Join(dir, "a.tar"), map[string]string{"var/log/kubelet.log": whole})
	}
	for name, c := range map[string]struct {
		beside func(dir string) // kubelet.log
		paths  []string
		note   string
	}{
		"the same path":    {nil, []string{"kubelet.log", "kubelet.log"}, "kubelet.log: left out: "},
		"a path of it":     {nil, []string{"kubelet.log", "./kubelet.log"}, "kubelet.log: left out: "},
		"a symbolic link":  {linked, []string{"link", "kubelet.log"}, "kubelet.log: left out: "},
		"its directory":    {nil, []string{".", "kubelet.log"}, "kubelet.log: left out: "},
		"a copy":           {copied("kubelet.log.1", whole), []string{"."}, "kubelet.log.1: left out: "},
		"a packed copy":    {copied("kubelet.log.2.gz", packed.String()), []string{"."}, "kubelet.log.2.gz: left out: "},
		"an earlier copy":  {copied("kubelet.log.1", whole[:len(whole)/2]), []string{"kubelet.log.1", "kubelet.log"}, "kubelet.log.1: left out: "},
		"the same archive": {archive, []string{"a.tar", "a.tar"}, "a.tar: left out: "},
		"a copy within": {
			archive, []string{"kubelet.log", "a.tar"}, "a.tar/var/log/kubelet.log: left out: ",
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir, "kubelet.log", whole)
			if c.beside != nil {
				c.beside(dir)
			}
			t.Chdir(dir)
			s := open(t, c.paths...)
			got, lost := all(t, s)
			if len(got) != len(want) || lost != 0 {
				t.Errorf("%d records, %d lost, want %d", len(got), lost, len(want))
			}
			if notes := s.Told().Notes; len(notes) != 1 || !strings.Contains(notes[0], c.note) {
				t.Errorf("the notes are %q, want %q", notes, c.note)
			}
			if n := s.Told().Entries; n != 40 {
				t.Errorf("%d entries, want 40", n)
			}
		})
	}
}

// TestPieces has rotated pieces begin alike: each is read.
func TestPieces(t *testing.T) {
	dir := t.TempDir()
	head := strings.Repeat("Log file created at: 2026/11/23 08:00:00\n", 20)
	for n := range 12 {
		write(t, dir, fmt.Sprintf("kubelet.log.%d", n), head+fmt.Sprintf("I1123 08:00:%02d.000000 1 a.go:1] \"SyncLoop ADD\" source=\"api\" pods=[\"shop/p%d\"]\n", n, n))
	}
	s := open(t, dir)
	all(t, s)
	if told := s.Told(); told.Entries != 12 || len(told.Notes) > 0 {
		t.Errorf("told %+v", told)
	}
}

// TestEnded ends the context before and while a source is read: nothing is left of it.
func TestEnded(t *testing.T) {
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	file := filepath.Join(t.TempDir(), "a.tar")
	pack(t, file, map[string]string{"kubelet.log": "I1123 08:00:00.000000 1 a.go:1] \"SyncLoop ADD\" source=\"api\" pods=[\"shop/p\"]\n"})
	ctx, cancel := context.WithCancel(t.Context())
	s, err := bundle.Open(ctx, []string{file}, bundle.Options{})
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	if _, _, err := s.Next(t.Context(), nil); !errors.Is(err, context.Canceled) {
		t.Errorf("reading: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	for _, path := range []string{file, filepath.Dir(file)} {
		if _, err := bundle.Open(ctx, []string{path}, bundle.Options{}); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", path, err)
		}
	}
	if left, err := os.ReadDir(tmp); err != nil || len(left) > 0 {
		t.Errorf("temporary files are left: %v, %v", left, err)
	}
}
