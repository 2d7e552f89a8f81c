package pluginwatch

import (
	"fmt"
	"io/fs"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestScanLinks(t *testing.T) {
	root, err := os.MkdirTemp("", "pw") // a socket's path must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(root) })
	dir, outside := filepath.Join(root, "registry"), filepath.Join(root, "outside")
	target := filepath.Join(outside, "real")
	for _, d := range []string{dir, outside} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	listen := func() {
		t.Helper()
		l, err := (&net.ListenConfig{}).Listen(t.Context(), "unix", target)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = l.Close() })
	}
	listen()
	if err := os.WriteFile(filepath.Join(outside, "text"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, to := range map[string]string{
		"a.sock": target, "b.sock": "a.sock", ".hidden": target, "text.sock": filepath.Join(outside, "text"), "dangling": filepath.Join(outside, "none"),
		"loop": "loop", "tree": outside,
	} {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	links := newFollower()
	first := scan(t.Context(), dir, links)
	want := []string{filepath.Join(dir, "a.sock"), filepath.Join(dir, "b.sock")}
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(first.sockets))); diff != "" || !first.linked || len(first.dirs) != 1 {
		t.Fatalf("linked %v, directories %v (-want +got):\n%s", first.linked, first.dirs, diff)
	}
	if again := scan(t.Context(), dir, links); !maps.Equal(first.sockets, again.sockets) {
		t.Errorf("identities %v, then %v", first.sockets, again.sockets)
	}
	if err := os.Rename(target, target+".old"); err != nil {
		t.Fatal(err)
	}
	if none := scan(t.Context(), dir, links); len(none.sockets) != 0 || !none.linked {
		t.Errorf("without the target: %+v", none)
	}
	listen()
	if now := scan(t.Context(), dir, links); len(now.sockets) != 2 || now.sockets[want[0]] == first.sockets[want[0]] {
		t.Errorf("another target: %v, was %v", now.sockets, first.sockets)
	}
}

// TestScanUnanswered: links whose targets do not answer delay a scan once by patience, keep their plugins, and are asked once.
func TestScanUnanswered(t *testing.T) {
	dir := t.TempDir()
	for i := range hanging + 2 {
		if err := os.Symlink("target", filepath.Join(dir, fmt.Sprintf("%03d.sock", i))); err != nil {
			t.Fatal(err)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		gone := make(chan struct{})
		links, calls := newFollower(), atomic.Int32{}
		links.stat = func(string) (fs.FileInfo, error) {
			calls.Add(1)
			<-gone
			return nil, fs.ErrNotExist
		}
		first := filepath.Join(dir, "000.sock")
		known := map[string]*entry{first: {id: identity{target: file{ino: 7}}, registered: &plugin{}}}
		for _, want := range []time.Duration{patience, 0} {
			began := time.Now()
			found := scan(t.Context(), dir, links)
			found.keep(known)
			synctest.Wait()
			if got := time.Since(began); got != want || len(found.unanswered) != hanging+2 || len(found.sockets) != 1 || calls.Load() != hanging {
				t.Errorf("%v, %d unanswered, sockets %v, %d lookups", got, len(found.unanswered), found.sockets, calls.Load())
			}
			if ops, _ := plan(found.sockets, known, began); len(ops) != 0 {
				t.Errorf("operations %v", ops)
			}
		}
		close(gone)
		synctest.Wait()
		found := scan(t.Context(), dir, links)
		found.keep(known)
		if len(found.unanswered) != 0 || len(found.sockets) != 0 || len(links.asked) != 0 {
			t.Errorf("after the answer: %+v, asked %v", found, links.asked)
		}
	})
}
