package volume_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/tracetest"
)

// TestMemorySurvivesTheAgent: an emptyDir in memory is adopted with its contents, and goes
// with its pod even if the agent that made it is gone.
func TestMemorySurvivesTheAgent(t *testing.T) {
	needRoot(t)
	root := t.TempDir()
	p := pod("u1", emptyVol("tmp", v1.StorageMediumMemory))
	first := start(t, root)
	dir := first.mount(p)["tmp"].HostPath
	write(t, dir+"/kept", "x")
	first.stop()

	second := start(t, root)
	second.mount(p)
	read(t, dir+"/kept")
	second.stop()

	third := start(t, root)
	if removed, err := third.CleanOrphans(t.Context(), nobodyKnown); err != nil || len(removed) != 1 {
		t.Errorf("removed %v, %v", removed, err)
	}
	if left := tree(t, filepath.Join(root, "pods")); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
}

// TestMountedOrphanIsKept: what is behind a mount is not ours, also where the root
// directory is reached through a link.
func TestMountedOrphanIsKept(t *testing.T) {
	needRoot(t)
	root, outside := filepath.Join(t.TempDir(), "link"), t.TempDir()
	must(t, os.Symlink(t.TempDir(), root))
	write(t, outside+"/precious", "x")
	at := filepath.Join(root, "pods/u1/volume-subpaths/data/c/0")
	must(t, os.MkdirAll(at, 0o750))
	must(t, unix.Mount(outside, at, "", unix.MS_BIND, ""))
	defer unix.Unmount(at, 0)

	n := start(t, root)
	removed, err := n.CleanOrphans(t.Context(), nobodyKnown)
	if len(removed) != 0 || err == nil || !strings.Contains(err.Error(), "is still mounted") {
		t.Errorf("removed %v, %v", removed, err)
	}
	if d := tracetest.Events[trace.Decision](n.rec); len(d) != 1 || d[0].Verdict != "keep" {
		t.Errorf("decisions %+v", d)
	}
	must(t, unix.Unmount(at, 0))
	if removed, err := n.CleanOrphans(t.Context(), nobodyKnown); err != nil || len(removed) != 1 {
		t.Errorf("removed %v, %v", removed, err)
	}
	read(t, outside+"/precious")
}

func nobodyKnown(types.UID) bool { return false }

func needRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
}
