package collector

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestStack has the Collector check the configuration of deploy/stack, which has only what it knows.
func TestStack(t *testing.T) {
	newCollector(t)
	const file = "../../deploy/stack/config/collector.yaml"
	if err := Check(t.Context(), file, os.Stderr); err != nil {
		t.Error(err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	wrong := filepath.Join(t.TempDir(), "wrong.yaml")
	if err := os.WriteFile(wrong, []byte(strings.Replace(string(text), "max_megabytes", "max_megabyte", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Check(t.Context(), wrong, os.Stderr); err == nil || !strings.Contains(err.Error(), "max_megabyte") {
		t.Errorf("a name that does not exist: %v", err)
	}
}
