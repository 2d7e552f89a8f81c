package attach

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/kubeloupe/kubeloupe/inspect/cause"
	"github.com/kubeloupe/kubeloupe/trace"
)

// TestOrphanedDirectory leaves a mount in the directory of a pod that nobody knows, beside a pod that has run to its end, and one that runs.
func TestOrphanedDirectory(t *testing.T) {
	const uid = "5a1d4c1e-0000-4000-8000-0000000cafe3"
	t.Parallel()
	b := setup(t)
	a := b.attach(t)
	const volumes = `    volumeMounts: [{name: cache, mountPath: /cache}]
  volumes: [{name: cache, emptyDir: {medium: Memory}}]
`
	b.apply(t, "runs", "  containers:\n  - name: web\n    image: IMAGE\n    command: [sleep, \"3600\"]\n"+volumes)
	b.apply(t, "done", "  restartPolicy: Never\n  containers:\n  - name: web\n    image: IMAGE\n    command: [\"true\"]\n"+volumes)
	top := filepath.Join(b.kubelet.RootDir, "pods", uid)
	dir := filepath.Join(top, "volumes", "kubernetes.io~empty-dir", "cache")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=1m"); err != nil {
		t.Fatal(err)
	}
	held, err := os.Create(filepath.Join(dir, "open"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		held.Close()
		unix.Unmount(dir, unix.MNT_DETACH) // the kubelet may have
		os.RemoveAll(top)                  // and this
	})
	kept := func(r *trace.Record) bool {
		d, ok := r.Event.(*trace.Decision)
		return ok && r.Observer == trace.ObserverKernel && d.By == trace.ByOrphans && d.Verdict == trace.VerdictKeep
	}
	eventually(t, "the kernel shows it", func() string {
		if len(a.told(t, kept)) == 0 {
			return "not yet"
		}
		return ""
	})
	for _, r := range a.told(t, kept) {
		if d, ok := r.Event.(*trace.Decision); !ok || d.Orphan != uid || d.Volume != "cache" || !strings.Contains(d.Reason, "volumes/kubernetes.io~empty-dir/cache (tmpfs)") {
			t.Errorf("the kernel says %+v", r.Event)
		}
	}
	b.speaks(t, a, "_/"+uid, "KL18", cause.Certain, "its directory is left on the node")
}
