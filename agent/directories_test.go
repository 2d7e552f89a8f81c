package agent_test

import (
	"os"
	"path/filepath"
	"testing"
)

// Other users of the machine can neither read nor enter the directories of pods, plugins and logs.
func TestDirectories(t *testing.T) {
	h := newHost(t, nil)
	cfg := h.config()
	run(t, cfg).end()
	root := filepath.Join(h.dir, "root")
	for _, dir := range []string{
		filepath.Join(root, "pods"), filepath.Join(root, "plugins"), filepath.Join(root, "plugins_registry"), filepath.Join(root, "device-plugins"),
		filepath.Join(root, "pod-resources"), filepath.Join(root, "checkpoints"), cfg.Kubelet.Pods.LogsDir,
	} {
		info, err := os.Stat(dir)
		if err != nil {
			t.Error(err)
			continue
		}
		if mode := info.Mode(); !mode.IsDir() || mode.Perm()&^0o750 != 0 {
			t.Errorf("%s has mode %v, want no more than 0750", dir, mode)
		}
	}
}
