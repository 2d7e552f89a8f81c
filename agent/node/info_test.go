package node

import (
	"os"
	"path/filepath"
	"testing"
)

func TestInUserNamespace(t *testing.T) {
	for text, want := range map[string]bool{
		"         0          0 4294967295\n": false, "         0     100000      65536\n": true, "0 1000 1\n1 100000 65536\n": true,
		"": true, // nobody has written it yet
	} {
		root := t.TempDir()
		if err := os.MkdirAll(filepath.Join(root, "proc/self"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, "proc/self/uid_map"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := InUserNamespace(root); got != want {
			t.Errorf("%q: %t", text, got)
		}
	}
	if InUserNamespace(t.TempDir()) {
		t.Error("without the file")
	}
}

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
