package wholefile

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func content(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Error(err)
	}
	return string(text)
}

func TestWrite(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state")
	// What a crash left unfinished, and is longer.
	if err := os.WriteFile(path+Unfinished, []byte("half of something long"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"one", "", "three"} {
		if err := Write(path, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := content(t, path); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if left, _ := filepath.Glob(filepath.Dir(path) + "/*"); len(left) != 1 {
		t.Errorf("left %v", left)
	}
	if err := Write(filepath.Join(path, "under a file"), nil, 0o600); !errors.Is(err, unix.ENOTDIR) {
		t.Error(err)
	}
	if err := Write(t.TempDir()+"/../no/directory", nil, 0o600); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

// On a disk that is full, or that cannot be written to, the old file stays, and nothing beside it.
func TestNoRoom(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("mounting a small disk needs root")
	}
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=16k"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	path := filepath.Join(dir, "state")
	if err := Write(path, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	check := func(want error) {
		t.Helper()
		if err := Write(path, []byte(strings.Repeat("new", 10_000)), 0o600); !errors.Is(err, want) {
			t.Errorf("%v, want %v", err, want)
		}
		if got := content(t, path); got != "old" {
			t.Errorf("%.20q, want the old content", got)
		}
		if _, err := os.Stat(path + Unfinished); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("an unfinished file is left: %v", err)
		}
	}
	check(unix.ENOSPC)
	if err := unix.Mount("", dir, "", unix.MS_REMOUNT|unix.MS_RDONLY, ""); err != nil {
		t.Fatal(err)
	}
	check(unix.EROFS)
}

func TestAside(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state")
	for _, text := range []string{"first", "second"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		aside, err := Aside(path)
		if err != nil {
			t.Fatal(err)
		}
		if got := content(t, aside); got != text {
			t.Errorf("%q, want %q", got, text)
		}
	}
	if _, err := Aside(path); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}
