package pluginwatch

import (
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"testing"

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
	first := scan(dir)
	want := []string{filepath.Join(dir, "a.sock"), filepath.Join(dir, "b.sock")}
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(first.sockets))); diff != "" || !first.linked || len(first.dirs) != 1 {
		t.Fatalf("linked %v, directories %v (-want +got):\n%s", first.linked, first.dirs, diff)
	}
	if again := scan(dir); !maps.Equal(first.sockets, again.sockets) {
		t.Errorf("identities %v, then %v", first.sockets, again.sockets)
	}
	if err := os.Rename(target, target+".old"); err != nil {
		t.Fatal(err)
	}
	if none := scan(dir); len(none.sockets) != 0 || !none.linked {
		t.Errorf("without the target: %+v", none)
	}
	listen()
	if now := scan(dir); len(now.sockets) != 2 || now.sockets[want[0]] == first.sockets[want[0]] {
		t.Errorf("another target: %v, was %v", now.sockets, first.sockets)
	}
}
