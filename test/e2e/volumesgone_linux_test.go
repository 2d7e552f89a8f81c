package e2e

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/kubeloupe/kubeloupe/trace"
)

// TestVolumesGone removes a pod's directory, or volumes in it, while the pod runs. The next attempt of its container has
// its volumes, with what they should show and open to its user, and not directories that the runtime made.
func TestVolumesGone(t *testing.T) {
	n := newNode(t)
	n.config = restartsFast
	a := n.start()
	n.put("one.yaml", `
apiVersion: v1
kind: Pod
metadata: {name: one, labels: {shown: inside}}
spec:
  terminationGracePeriodSeconds: 0
  securityContext: {runAsUser: 1000}
  containers:
  - name: main
    image: $BUSYBOX
    command:
    - sh
    - -c
    - |
      r=
      grep -q inside /labels/labels || r="$r labels"
      touch /disk/x || r="$r disk"
      touch /memory/x || r="$r memory"
      grep -q ' /memory tmpfs' /proc/mounts || r="$r tmpfs"
      echo "wrong:$r" >> /host/log
      while ! rm /host/go; do sleep 0.1; done
      exit 1
    volumeMounts:
    - {name: host, mountPath: /host}
    - {name: disk, mountPath: /disk}
    - {name: memory, mountPath: /memory}
    - {name: labels, mountPath: /labels}
  volumes:
  - {name: host, hostPath: {path: $DIR}}
  - {name: disk, emptyDir: {}}
  - {name: memory, emptyDir: {medium: Memory}}
  - name: labels
    downwardAPI: {items: [{path: labels, fieldRef: {fieldPath: metadata.labels}}]}
`)
	a.ready("one")
	dir := filepath.Join(n.root, "pods", n.sandboxes("one")[0].Labels[labelUID])
	disk := filepath.Join(dir, "volumes", "kubernetes.io~empty-dir", "disk")
	memory := filepath.Join(filepath.Dir(disk), "memory")
	labels := filepath.Join(dir, "volumes", "kubernetes.io~downward-api", "labels")
	unmount := func(dir string) error { return unix.Unmount(dir, unix.MNT_DETACH) }
	// The pod's sync after the start may still run, and repairs what is half removed: then it is removed again.
	remove := func() error {
		err := errors.Join(unmount(memory), unmount(labels))
		n.await("the pod's directory to be removed", func() bool {
			if os.RemoveAll(dir) == nil {
				return true
			}
			_, _ = unmount(memory), unmount(labels)
			return false
		})
		return err
	}
	for i, loss := range []struct {
		what string
		do   func() error
	}{
		{"nothing", func() error { return nil }},
		{"a volume's directory", func() error { return os.RemoveAll(disk) }},
		{"a tmpfs", func() error { return unmount(memory) }},
		{"the pod's directory", remove},
		{"what rm -r removes of it", func() error {
			if os.RemoveAll(dir) == nil {
				t.Error("the tmpfs of the volumes did not keep it")
			}
			return nil
		}},
	} {
		if err := loss.do(); err != nil {
			t.Fatalf("lose %s: %v", loss.what, err)
		}
		if err := os.WriteFile(filepath.Join(n.scratch, "go"), nil, 0o666); err != nil {
			t.Fatal(err)
		}
		a.status("one", "to have started again", func(s trace.PodStatus) bool { return s.Restarts == i+1 && s.Ready == 1 })
		n.await("what it found", func() bool { return strings.Count(n.read("log"), "wrong:") == i+2 })
		lines := strings.Split(strings.TrimSpace(n.read("log")), "\n")
		if got := lines[len(lines)-1]; got != "wrong:" {
			t.Errorf("after %s was lost, the next attempt finds %s", loss.what, got)
		}
	}
	n.drop("one.yaml")
	a.gone("one")
}
