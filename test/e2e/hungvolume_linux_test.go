package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/kubeloupe/kubeloupe/test/hungfs"
)

// TestHungVolume has a real file system hang under the volumes of a pod that runs and of pods that are to start: other pods start, SIGTERM ends the
// agent, and the next one starts pods and ends too. When the file system is gone all is well.
func TestHungVolume(t *testing.T) {
	n := newNode(t)
	dir := filepath.Join(n.dir, "hung")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	fs, err := hungfs.Mount(dir)
	if err != nil {
		t.Fatal(err)
	}
	closed := false
	t.Cleanup(func() {
		if !closed {
			_ = fs.Close()
		}
	})
	uses := func(name, typ string) string {
		return fmt.Sprintf(`
apiVersion: v1
kind: Pod
metadata: {name: %s}
spec:
  terminationGracePeriodSeconds: 0
  containers: [{name: main, image: $BUSYBOX, command: [sh, -c, "while sleep 0.1; do ls /data; done"], volumeMounts: [{name: data, mountPath: /data}]}]
  volumes: [{name: data, hostPath: {path: %s%s}}]
`, name, dir, typ)
	}
	a := n.start()
	n.put("reads.yaml", uses("reads", ""))
	a.ready("reads")
	fs.Hang()
	for i, typ := range []string{"", ", type: Directory", "", ", type: DirectoryOrCreate"} {
		name := fmt.Sprintf("hung-%d", i)
		n.put(name+".yaml", uses(name, typ))
	}
	for i := range 2 { // a second agent finds it so
		for k := range 3 {
			name := fmt.Sprintf("plain-%d-%d", i, k)
			n.put(name+".yaml", named(name))
			a.ready(name)
		}
		a.end(syscall.SIGTERM)
		if code := a.cmd.ProcessState.ExitCode(); code != 0 {
			t.Errorf("the agent ended with %d after SIGTERM: %s", code, &a.stderr)
		}
		if i == 0 {
			a = n.start()
		}
	}
	closed = true
	if err := fs.Close(); err != nil {
		t.Fatal(err)
	}
	a = n.start()
	for i := range 4 {
		n.drop(fmt.Sprintf("hung-%d.yaml", i))
		a.gone(fmt.Sprintf("hung-%d", i))
	}
}
