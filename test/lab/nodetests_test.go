package lab

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The sums are those of the version that is required, and what is appended follows what is there.
func TestNodeTestsModule(t *testing.T) {
	version := pinned(nodeTestsRequire, "k8s.io/system-validators")
	if version == "" || strings.Count(nodeTestsSum, "k8s.io/system-validators "+version) != 2 {
		t.Errorf("the sums are not those of %q:\n%s", version, nodeTestsSum)
	}
	for _, name := range []string{"kubernetes/go.mod.txt", "kubernetes/go.sum.txt"} {
		text, err := kubernetesSource.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), "system-validators") || !strings.HasSuffix(string(text), "\n") {
			t.Errorf("%s has the module itself, or no end of its last line", name)
		}
	}
	file := filepath.Join(t.TempDir(), "go.mod")
	if err := appendFile(file, "x"); err == nil {
		t.Error("a file that is missing is created")
	}
	if err := os.WriteFile(file, []byte("module m\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := appendFile(file, nodeTestsRequire); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(file); err != nil || string(text) != "module m\n"+nodeTestsRequire {
		t.Errorf("%q, %v", text, err)
	}
}
