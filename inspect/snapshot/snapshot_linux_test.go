package snapshot

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/kubeloupe/kubeloupe/test/hungfs"
)

// TestHungVolume: a volume whose file system does not answer holds up nobody who looks at its pod.
func TestHungVolume(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	root := t.TempDir()
	dir := filepath.Join("pods", uid, "volumes", "kubernetes.io~nfs", "data")
	tree(t, root, dir+"/")
	hung, err := hungfs.Mount(filepath.Join(root, dir))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := hung.Close(); err != nil {
			t.Error(err)
		}
	}()
	hung.Hang()
	done := make(chan []string)
	go func() { done <- take(t, Config{RootDir: root, LogsDir: root}, web, root) }()
	select {
	case got := <-done:
		if len(got) < 4 || got[3] != "dir /"+dir+"/" {
			t.Errorf("%q", got)
		}
	case <-time.After(30 * time.Second):
		t.Error("it hangs")
	}
}
