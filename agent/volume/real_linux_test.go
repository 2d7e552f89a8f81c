package volume_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeloupe/kubeloupe/test/hungfs"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/tracetest"
)

// TestMemorySurvivesTheAgent: an emptyDir in memory is adopted with its content, and removed with its pod even if
// another agent created it.
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

// TestMountedOrphanIsKept: files behind a mount are not removed, even if the root directory is reached through a link.
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
	if d := tracetest.Events[trace.Decision](n.rec); len(d) != 1 || d[0].Verdict != trace.VerdictKeep {
		t.Errorf("decisions %+v", d)
	}
	must(t, unix.Unmount(at, 0))
	if removed, err := n.CleanOrphans(t.Context(), nobodyKnown); err != nil || len(removed) != 1 {
		t.Errorf("removed %v, %v", removed, err)
	}
	read(t, outside+"/precious")
}

// TestLost: a pod's volumes that others removed are set up again, and a mount of others over one is kept.
func TestLost(t *testing.T) {
	needRoot(t)
	root := t.TempDir()
	n := start(t, root)
	p := pod("u1", emptyVol("disk", ""), emptyVol("memory", v1.StorageMediumMemory), labelsVol("labels"), hostVol("host", t.TempDir()))
	dirs := n.mount(p)
	defer n.unmount("u1")
	at := func(name string) string { return dirs[name].HostPath }
	unmount := func(name string) { must(t, unix.Unmount(at(name), 0)) }
	over := func(name string) { must(t, unix.Mount("kl-over", at(name), "tmpfs", 0, "size=64k")) }
	for _, tc := range []struct {
		what string
		lose func()
		want string // the volume that is set up
	}{
		{"nothing", func() {}, ""},
		{"a directory", func() { must(t, os.Remove(at("disk"))) }, "disk"},
		{"a tmpfs", func() { unmount("memory") }, "memory"},
		{"files", func() { must(t, os.Remove(at("labels")+"/..data")) }, "labels"},
		{"the pod's directory", func() {
			unmount("memory")
			unmount("labels")
			must(t, os.RemoveAll(filepath.Join(root, "pods")))
		}, "disk labels memory"},
		{"what hides behind other mounts", func() { over("disk"); over("memory"); over("labels") }, ""},
	} {
		ops, told := len(n.ops()), len(tracetest.Events[trace.Decision](n.rec))
		tc.lose()
		if ready := n.Ready(p); ready != (tc.want == "") {
			t.Errorf("%s lost: ready %v", tc.what, ready)
		}
		n.mount(p)
		if !n.Ready(p) {
			t.Errorf("%s lost: not ready when mounted again", tc.what)
		}
		var did []string
		for _, e := range tracetest.Events[trace.Decision](n.rec)[told:] {
			if e.By != trace.ByVolumes || e.Verdict != trace.VerdictSetUpAgain {
				t.Errorf("%s lost: decision %+v", tc.what, e)
			}
			did = append(did, strings.TrimPrefix(e.Subject, "volume "))
		}
		slices.Sort(did)
		if got := strings.Join(did, " "); got != tc.want || len(n.ops()) != ops+len(did) {
			t.Errorf("%s lost: set up %q with %d operations, want %q", tc.what, got, len(n.ops())-ops, tc.want)
		}
	}
	for _, name := range []string{"disk", "memory", "labels"} {
		unmount(name)
	}
	read(t, at("labels")+"/labels")
	// A Mount without an earlier Ready finds it too.
	must(t, os.Remove(at("disk")))
	n.mount(p)
	if _, err := os.Stat(at("disk")); err != nil {
		t.Error(err)
	}
}

// TestLookWhileHung: the check that a volume exists does not call the file system that is mounted on it, or over it.
func TestLookWhileHung(t *testing.T) {
	needRoot(t)
	n := start(t, t.TempDir())
	p := pod("u1", emptyVol("disk", ""), labelsVol("labels"))
	dirs := n.mount(p)
	defer n.unmount("u1")
	for _, name := range []string{"disk", "labels"} {
		hung, err := hungfs.Mount(dirs[name].HostPath)
		must(t, err)
		defer func() { must(t, hung.Close()) }()
		hung.Hang()
	}
	done := make(chan bool)
	go func() {
		_, err := n.Mount(t.Context(), p)
		done <- n.Ready(p) && err == nil
	}()
	select {
	case ok := <-done:
		if !ok {
			t.Error("not ready")
		}
	case <-time.After(30 * time.Second):
		t.Error("it hangs")
	}
}

func nobodyKnown(types.UID) bool { return false }

func needRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
}
