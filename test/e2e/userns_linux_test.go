package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestUserNamespace has a pod whose root is nobody on the host, with volumes that it owns all the same.
func TestUserNamespace(t *testing.T) {
	n := newNode(t)
	for _, d := range []string{n.bench.dir, n.dir} {
		if err := os.Chmod(d, 0o711); err != nil {
			t.Fatal(err)
		}
	}
	a := n.start()
	n.put("user.yaml", `
apiVersion: v1
kind: Pod
metadata: {name: user, labels: {app: shop}}
spec:
  hostUsers: false
  terminationGracePeriodSeconds: 0
  containers:
  - name: main
    image: $BUSYBOX
    command: $WAIT
    volumeMounts: [{name: empty, mountPath: /empty}, {name: info, mountPath: /info}, {name: host, mountPath: /host}]
  volumes:
  - {name: empty, emptyDir: {}}
  - {name: info, downwardAPI: {items: [{path: labels, fieldRef: {fieldPath: metadata.labels}}]}}
  - {name: host, hostPath: {path: $DIR}}
`)
	a.ready("user")
	if got := n.exec("user", "main", "sh", "-c", "id -u; cat /info/labels; touch /empty/x /host/x; stat -c %u /empty/x /info/labels /host/x"); got != "0\napp=\"shop\"0\n0\n0" {
		t.Errorf("inside: %q", got)
	}
	ids := strings.Fields(n.exec("user", "main", "cat", "/proc/self/uid_map"))
	if len(ids) != 3 || ids[0] != "0" || ids[1] == "0" || ids[2] != "65536" {
		t.Errorf("uid_map %v", ids)
	}
	own, err := os.Readlink("/proc/self/ns/user")
	if err != nil {
		t.Fatal(err)
	}
	if got := n.exec("user", "main", "readlink", "/proc/self/ns/user"); got == own {
		t.Error("the pod is in the host's user namespace")
	}
	var st unix.Stat_t
	if err := unix.Stat(filepath.Join(n.scratch, "x"), &st); err != nil || st.Uid != 0 {
		t.Errorf("on the host the file is of %d, %v, want an idmapped mount", st.Uid, err)
	}
}

// TestRecursiveReadOnly has a mount below a volume: it is read-only too if the pod asks for it.
func TestRecursiveReadOnly(t *testing.T) {
	n := newNode(t)
	below := filepath.Join(n.scratch, "below")
	if err := os.Mkdir(below, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("kl-e2e", below, "tmpfs", 0, "size=1m"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // before the node's end, which removes the directory
		if err := unix.Unmount(below, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	a := n.start()
	n.put("mounts.yaml", `
apiVersion: v1
kind: Pod
metadata: {name: mounts}
spec:
  terminationGracePeriodSeconds: 0
  containers:
  - name: main
    image: $BUSYBOX
    command: $WAIT
    volumeMounts:
    - {name: host, mountPath: /plain, readOnly: true, recursiveReadOnly: Disabled, mountPropagation: None}
    - {name: host, mountPath: /wanted, readOnly: true, recursiveReadOnly: Enabled, mountPropagation: None}
    - {name: host, mountPath: /possible, readOnly: true, recursiveReadOnly: IfPossible, mountPropagation: None}
  volumes: [{name: host, hostPath: {path: $DIR}}]
`)
	a.ready("mounts")
	for dir, want := range map[string]string{"plain": "written", "wanted": "Read-only", "possible": "Read-only"} {
		if got := n.exec("mounts", "main", "sh", "-c", "touch /"+dir+"/below/x 2>&1 && echo written || true"); !strings.Contains(got, want) {
			t.Errorf("/%s/below says %q, want %q", dir, got, want)
		}
		if got := n.exec("mounts", "main", "sh", "-c", "touch /"+dir+"/x 2>&1 || true"); !strings.Contains(got, "Read-only") {
			t.Errorf("/%s says %q", dir, got)
		}
	}
}
