package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestOwnDir(t *testing.T) {
	for _, c := range []struct {
		name       string
		mode, want os.FileMode
		left, err  string
	}{
		{name: "emptyDir of a pod", mode: 0o777, want: 0o700},
		{name: "what others left", mode: 0o777, want: 0o700, left: "attach.sock.lock", err: "was writable by other users and has attach.sock.lock"},
		{name: "root's", mode: 0o755, want: 0o755, left: "attach.sock"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "kubeloupe")
			if err := os.Mkdir(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			if c.left != "" {
				if err := os.WriteFile(filepath.Join(dir, c.left), nil, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.Chmod(dir, c.mode); err != nil {
				t.Fatal(err)
			}
			err := ownDir(filepath.Join(dir, "attach.sock"))
			if (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
				t.Errorf("got %v, want %q", err, c.err)
			}
			if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != c.want {
				t.Errorf("mode %v, %v, want %v", info.Mode(), err, c.want)
			}
		})
	}
	if err := ownDir(filepath.Join(t.TempDir(), "none", "attach.sock")); err != nil {
		t.Error(err)
	}
}
