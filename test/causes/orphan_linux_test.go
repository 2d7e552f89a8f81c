package causes_test

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/kubeloupe/kubeloupe/inspect/session"
	"github.com/kubeloupe/kubeloupe/trace"
)

// TestBusyVolumeOfNobody: an earlier agent left a mount that somebody still uses, of a pod that comes back and goes.
func TestBusyVolumeOfNobody(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("mounts need root")
	}
	t.Parallel()
	var file *os.File
	n := run(t, runtime(), nil, func(root string) {
		dir := filepath.Join(root, "pods", "uid-of-old", "volumes", "kubernetes.io~empty-dir", "cache")
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=1m"); err != nil {
			t.Skipf("a mount is not possible here: %v", err)
		}
		var err error
		if file, err = os.Create(filepath.Join(dir, "open")); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = file.Close()
			_ = unix.Unmount(dir, unix.MNT_DETACH)
		})
	})
	n.source.Set() // every source has reported: housekeeping may begin
	n.until("the verdict", func(r *trace.Record) bool {
		d, ok := r.Event.(*trace.Decision)
		return ok && d.By == trace.ByOrphans && d.Verdict == trace.VerdictKeep
	})

	n.fold = afterLife(n)
	n.speaks("old", "KL18", "its directory is left on the node")
}

// afterLife folds the records as a recording has them that continues from the earlier agent's: the pod's life first.
func afterLife(n *node) *session.Session {
	old := trace.Pod{Namespace: "default", Name: "old", UID: "uid-of-old"}
	fold := session.New(session.Options{})
	fold.Apply(&trace.Record{Time: n.recs[0].Time - 2, Pod: old, Event: &trace.Milestone{Name: trace.MilestoneSeen}})
	fold.Apply(&trace.Record{Time: n.recs[0].Time - 1, Pod: old, Event: &trace.Milestone{Name: trace.MilestoneGone}})
	for i := range n.recs {
		fold.Apply(&n.recs[i])
	}
	return fold
}
