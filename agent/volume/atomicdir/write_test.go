package atomicdir

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var (
	older = map[string]File{"labels": {Data: []byte("old"), Mode: 0o644}, "sub/name": {Data: []byte("old"), Mode: 0o600}, "dropped": {Data: []byte("old"), Mode: 0o644}}
	newer = map[string]File{"labels": {Data: []byte("new"), Mode: 0o640}, "sub/name": {Data: []byte("new"), Mode: 0o600}, "added/deep": {Data: []byte("new"), Mode: 0o644}}
)

// seen returns what a reader finds through the visible names, with modes.
func seen(t *testing.T, dir string) map[string]File {
	t.Helper()
	out := map[string]File{}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), "..") {
			continue
		}
		resolved, err := filepath.EvalSymlinks(filepath.Join(dir, e.Name()))
		if err != nil {
			continue // a dangling link counts as absent
		}
		err = filepath.WalkDir(resolved, func(p string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			data, err := os.ReadFile(p)
			if err != nil {
				return err
			}
			info, err := d.Info()
			rel, _ := filepath.Rel(filepath.Dir(resolved), p)
			out[rel] = File{Data: data, Mode: info.Mode()}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return out
}

func hidden(t *testing.T, dir string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, "..?*"))
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func write(t *testing.T, dir string, files map[string]File) {
	t.Helper()
	if err := (&Writer{Dir: dir}).Write(files); err != nil {
		t.Fatal(err)
	}
}

func TestWriteReplaces(t *testing.T) {
	dir := t.TempDir()
	for _, files := range []map[string]File{older, newer, older, {}} {
		write(t, dir, files)
		if diff := cmp.Diff(files, seen(t, dir)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if got := hidden(t, dir); len(got) != 2 {
			t.Errorf("hidden entries %v, want ..data and one directory", got)
		}
	}
}

func TestSameDataIsNotWritten(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, older)
	before, err := os.Readlink(filepath.Join(dir, current))
	if err != nil {
		t.Fatal(err)
	}
	write(t, dir, older)
	if after, _ := os.Readlink(filepath.Join(dir, current)); after != before {
		t.Errorf("written again: %s, then %s", before, after)
	}
	fewer := map[string]File{"labels": older["labels"]}
	write(t, dir, fewer)
	if diff := cmp.Diff(fewer, seen(t, dir)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A file that is not wanted any more is removed, also if all others are unchanged and are read before it.
func TestLastFileIsDropped(t *testing.T) {
	for _, c := range []struct {
		name    string
		dropped string
	}{{"at the top", "z"}, {"in a directory that stays", "sub/z"}} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			kept := map[string]File{"a": {Data: []byte("kept"), Mode: 0o644}, "sub/name": {Data: []byte("kept"), Mode: 0o644}}
			files := maps.Clone(kept)
			files[c.dropped] = File{Data: []byte("secret"), Mode: 0o644}
			write(t, dir, files)
			write(t, dir, kept)
			if diff := cmp.Diff(kept, seen(t, dir)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if data, err := os.ReadFile(filepath.Join(dir, current, c.dropped)); err == nil {
				t.Errorf("%s still has %q", current, data)
			}
		})
	}
}

// TestInterrupted stops a write before each of its steps in turn. A reader must find each file from one write, the old
// or the new, and the next write must repair everything.
func TestInterrupted(t *testing.T) {
	crash := errors.New("crash")
	reached := map[string]bool{}
	for n := 0; ; n++ {
		dir := t.TempDir()
		write(t, dir, older)
		left, at := n, ""
		w := &Writer{Dir: dir, step: func(what string) error {
			reached[what] = true
			if left--; left < 0 {
				at = what
				return crash
			}
			return nil
		}}
		err := w.Write(newer)
		if err == nil {
			break
		}
		if !errors.Is(err, crash) {
			t.Fatalf("step %d: %v", n, err)
		}
		got := seen(t, dir)
		want := string(got["labels"].Data)
		if want != "old" && want != "new" {
			t.Errorf("before %s: labels read %q", at, want)
		}
		for name, f := range got {
			if string(f.Data) != want {
				t.Errorf("before %s: %s reads %q, but labels %q", at, name, f.Data, want)
			}
		}
		for name := range older {
			if _, ok := got[name]; want == "old" && !ok {
				t.Errorf("before %s: %s is gone, though nothing new is there", at, name)
			}
		}
		write(t, dir, newer)
		if diff := cmp.Diff(newer, seen(t, dir)); diff != "" {
			t.Errorf("after the crash before %s and a further write (-want +got):\n%s", at, diff)
		}
		if got := hidden(t, dir); len(got) != 2 {
			t.Errorf("after the crash before %s and a further write: left %v", at, got)
		}
	}
	for _, step := range []string{"make directory", "write file", "own", "make link", "swap", "show", "remove"} {
		if !reached[step] {
			t.Errorf("step %q was never reached", step)
		}
	}
}

func TestLinksLeadNowhere(t *testing.T) {
	outside, dir := t.TempDir(), t.TempDir()
	target := filepath.Join(outside, "target")
	if err := os.WriteFile(target, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, to := range map[string]string{"labels": target, "sub": outside, next: outside, current: outside} {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "mountpoint"), 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, dir, older)
	if diff := cmp.Diff(older, seen(t, dir)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if data, err := os.ReadFile(target); err != nil || string(data) != "precious" {
		t.Errorf("outside the directory: %q, %v", data, err)
	}
	if entries, _ := os.ReadDir(outside); len(entries) != 1 {
		t.Errorf("outside the directory: %v", entries)
	}
	if _, err := os.Stat(filepath.Join(dir, "mountpoint")); err != nil {
		t.Error(err)
	}
}

func TestBadPaths(t *testing.T) {
	for _, name := range []string{"", ".", "/etc/passwd", "..", "../x", "a/../../x", "a/../x", "..data", "..x/y"} {
		if err := (&Writer{Dir: t.TempDir()}).Write(map[string]File{name: {}}); err == nil {
			t.Errorf("path %q: no error", name)
		}
	}
	dir := t.TempDir()
	write(t, dir, map[string]File{"a//./b": {Data: []byte("x"), Mode: 0o644}, ".hidden": {Mode: 0o644}})
	if got := seen(t, dir); len(got) != 2 || string(got["a/b"].Data) != "x" {
		t.Errorf("%v", got)
	}
}

func TestOwnComesBeforeTheSwap(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, older)
	before, _ := os.Readlink(filepath.Join(dir, current))
	calls := 0
	w := &Writer{Dir: dir, Own: func(root *os.Root, sub string) error {
		calls++
		if now, _ := root.Readlink(current); now != before || sub == before {
			t.Errorf("current is %s, owning %s", now, sub)
		}
		return root.Chmod(sub+"/labels", 0o440)
	}}
	if err := w.Write(newer); err != nil {
		t.Fatal(err)
	}
	if got := seen(t, dir)["labels"].Mode; calls != 1 || got != 0o440 {
		t.Errorf("%d calls, mode %v", calls, got)
	}
}
