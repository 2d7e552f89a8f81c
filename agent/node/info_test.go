package node

import (
	"os"
	"path/filepath"
	"testing"
)

func TestAppArmor(t *testing.T) {
	for text, want := range map[string]bool{"Y\n": true, "N\n": false, "": false} {
		root := t.TempDir()
		dir := filepath.Join(root, "sys/module/apparmor/parameters")
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if text != "" {
			if err := os.WriteFile(filepath.Join(dir, "enabled"), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if got := AppArmor(root); got != want {
			t.Errorf("%q: %t", text, got)
		}
	}
}
