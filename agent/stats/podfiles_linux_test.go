package stats

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/kubeloupe/kubeloupe/agent/podstate"
)

// A pod's hosts file and the files directly in its log directory count as its ephemeral storage: the blocks that they have, and no links.
func TestOwnFiles(t *testing.T) {
	large := func(t *testing.T, path string) {
		if err := os.WriteFile(path, bytes.Repeat([]byte("x"), 3<<20), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		make          func(t *testing.T, hosts, logs string)
		atLeast, most uint64
		inodes        uint64
	}{
		"none":           {make: func(*testing.T, string, string) {}},
		"a hosts file":   {func(t *testing.T, hosts, _ string) { large(t, hosts) }, 3 << 20, 4 << 20, 1},
		"a file of logs": {func(t *testing.T, _, logs string) { large(t, filepath.Join(logs, "more")) }, 3 << 20, 4 << 20, 1},
		"both":           {func(t *testing.T, hosts, logs string) { large(t, hosts); large(t, filepath.Join(logs, "more")) }, 6 << 20, 7 << 20, 2},
		"sparse": {func(t *testing.T, hosts, _ string) {
			if err := os.Truncate(hosts, 1<<30); err != nil {
				large(t, hosts)
				if err := os.Truncate(hosts, 1<<30); err != nil {
					t.Fatal(err)
				}
			}
		}, 3 << 20, 4 << 20, 1},
		"links": {func(t *testing.T, hosts, logs string) {
			other := filepath.Join(t.TempDir(), "large")
			large(t, other)
			for _, at := range []string{hosts, filepath.Join(logs, "link")} {
				if err := os.Symlink(other, at); err != nil {
					t.Fatal(err)
				}
			}
		}, 0, 0, 0},
		"a directory of logs": {func(t *testing.T, _, logs string) {
			if err := os.Mkdir(filepath.Join(logs, "more"), 0o700); err != nil {
				t.Fatal(err)
			}
			large(t, filepath.Join(logs, "more", "of-a-container"))
		}, 0, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			s, _ := world(t)
			used := func() (bytes, inodes uint64) {
				pods, err := s.Pods(t.Context(), nil)
				if err != nil || len(pods) != 1 {
					t.Fatal(pods, err)
				}
				return *pods[0].EphemeralStorage.UsedBytes, *pods[0].EphemeralStorage.InodesUsed
			}
			bytes, inodes := used()
			c.make(t, filepath.Join(s.cfg.RootDir, "pods", "u1", "etc-hosts"), logsOf(s.cfg.Observed("u1")))
			more, moreInodes := used()
			if more -= bytes; more < c.atLeast || more > c.most || moreInodes-inodes != c.inodes {
				t.Errorf("%d bytes, %d inodes", more, moreInodes-inodes)
			}
		})
	}
}

// The log directory of a pod is looked at only as far as somebody could fill it.
func TestManyFilesOfLogs(t *testing.T) {
	dir := t.TempDir()
	for i := range maxFiles + 2*namesAtOnce {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprint(i)), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if h := filesIn(dir); h.inodes != maxFiles {
		t.Errorf("%d files", h.inodes)
	}
	if h := filesIn(filepath.Join(dir, "none")); h != (held{}) {
		t.Errorf("of no directory: %+v", h)
	}
	if at := logsOf(&podstate.Pod{Containers: []podstate.Container{{}, {LogPath: "/log/p/c/0.log"}}}); at != "/log/p" {
		t.Error(at)
	}
}
