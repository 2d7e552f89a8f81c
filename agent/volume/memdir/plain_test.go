package memdir

import (
	"os"
	"path/filepath"
	"testing"
)

// A plain maker mounts nothing, so it needs neither root nor a mounter.
func TestPlain(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "plugins", "volume")
	m := Plain()
	if err := m.Tmpfs(dir, 1<<20); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := m.HugePages(dir, 2<<20); err != nil {
		t.Error(err)
	}
	if mounts, err := Within(dir); err != nil || len(mounts) != 0 {
		t.Errorf("mounts %v, %v", mounts, err)
	}
	if err := m.Remove(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("it is still there: %v", err)
	}
}
