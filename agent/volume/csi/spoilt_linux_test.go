package csi

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/kubeloupe/kubeloupe/agent/volume"
)

// TestSpoiltNoteMounted: the mount may be any driver's volume, so no volume counts as unused, and the error says what
// to do.
func TestSpoiltNoteMounted(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("mounting needs root")
	}
	p := newPlugin(t, fake.NewClientset())
	at := volume.Place{Dir: filepath.Join(p.cfg.RootDir, "pods", "u", "volumes", "kubernetes.io~csi", "pv")}
	path := filepath.Join(at.Dir, target)
	if err := errors.Join(os.MkdirAll(path, 0o750), os.WriteFile(filepath.Join(at.Dir, dataFile), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("tmpfs", path, "tmpfs", 0, "size=64k"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(path, 0); err != nil {
			t.Error(err)
		}
	})
	if _, err := p.users("d^h", ""); err == nil {
		t.Error("a volume that is mounted counts as no volume")
	}
	if err := p.TearDown(t.Context(), at); err == nil || !strings.Contains(err.Error(), "write driverName and volumeHandle") || !strings.Contains(err.Error(), "still mounted") {
		t.Errorf("teardown: %v", err)
	}
}
