package lab

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A lab with a layout serves it and is asked for its images by their names; one without is not. Each handler is like runc's.
func TestLayoutAndHandlers(t *testing.T) {
	for _, tc := range []struct {
		state    state
		layouts  string
		mirror   bool
		handlers []string
	}{
		{state{ImageLayout: "/own"}, "/own", false, []string{"runc"}},
		{state{ImageLayout: "/own", Layout: "/more", Handlers: []string{"test-handler"}}, "/own,/more", true, []string{"runc", "test-handler"}},
		{state{ImageLayout: "/own", Cluster: &clusterState{Layout: "/cluster"}}, "/own,/cluster", true, []string{"runc"}},
	} {
		if got := tc.state.layouts(); got != tc.layouts {
			t.Errorf("layouts %q, want %q", got, tc.layouts)
		}
		dir := t.TempDir()
		if err := writeConfig(dir, &tc.state); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(filepath.Join(dir, "certs.d/registry.k8s.io/hosts.toml")); (err == nil) != tc.mirror {
			t.Errorf("%+v: mirror of registry.k8s.io: %v", tc.state, err)
		}
		text, err := os.ReadFile(filepath.Join(dir, "containerd.toml"))
		if err != nil {
			t.Fatal(err)
		}
		for _, h := range tc.handlers {
			if n := strings.Count(string(text), "containerd.runtimes."+h+".options]"); n != 1 {
				t.Errorf("handler %s is there %d times:\n%s", h, n, text)
			}
		}
		if n := strings.Count(string(text), "BinaryName = "); n != len(tc.handlers) || strings.Contains(string(text), "%!") {
			t.Errorf("%d handlers:\n%s", n, text)
		}
	}
}
