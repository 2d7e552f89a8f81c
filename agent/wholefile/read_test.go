package wholefile

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestRead(t *testing.T) {
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	for name, text := range map[string]string{"fits": strings.Repeat("x", 10), "long": strings.Repeat("x", 11), "empty": ""} {
		if err := os.WriteFile(path(name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Truncate(path("long"), 4<<40); err != nil {
		t.Skip(err)
	}
	if err := unix.Mkfifo(path("pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("fits", path("link")); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"fits": "", "link": "", "empty": "", "long": "is larger than 10 bytes", "pipe": "is not a regular file", "none": "no such file", ".": "is not a regular file",
	} {
		text, err := Read(path(name), 10)
		switch {
		case want == "" && (err != nil || name != "empty" && len(text) != 10):
			t.Errorf("%s: %d bytes, %v", name, len(text), err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want) || len(text) > 0):
			t.Errorf("%s: %d bytes, %v, want an error that says %q", name, len(text), err, want)
		}
	}
}
