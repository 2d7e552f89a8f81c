package volume_test

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/agent/volume/memdir"
)

const nobody = 65534

// TestUnprivileged runs TestUnprivilegedChild as nobody, as an agent with a simulated runtime runs.
func TestUnprivileged(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("not root: everything here runs unprivileged anyway")
	}
	self, err := os.Executable()
	must(t, err)
	dir, err := os.MkdirTemp("", "unprivileged") // other users cannot read t.TempDir's parent
	must(t, err)
	defer os.RemoveAll(dir)
	must(t, os.Chown(dir, nobody, nobody))
	copied := filepath.Join(dir, "test")
	copyFile(t, self, copied)
	cmd := exec.CommandContext(t.Context(), copied, "-test.run=^TestUnprivilegedChild$", "-test.v")
	cmd.Env = []string{"UNPRIVILEGED=" + dir, "TMPDIR=" + dir, "PATH=" + os.Getenv("PATH")}
	cmd.Dir = dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: TestUnprivilegedChild") {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestUnprivilegedChild(t *testing.T) {
	root := os.Getenv("UNPRIVILEGED")
	if root == "" {
		t.Skip("run by TestUnprivileged")
	}
	n := start(t, root)
	p := pod("u1", emptyVol("data", ""), labelsVol("info"))
	p.Spec.SecurityContext = &v1.PodSecurityContext{FSGroup: new(int64(4321))}
	got := n.mount(p)
	write(t, got["data"].HostPath+"/file", "x")
	if labels := read(t, got["info"].HostPath+"/labels"); labels != `a="1"` {
		t.Errorf("labels %q", labels)
	}
	n.unmount("u1")

	_, err := n.Mount(t.Context(), pod("u2", emptyVol("tmp", v1.StorageMediumMemory)))
	if _, ok := errors.AsType[*memdir.UnsupportedError](err); !ok {
		t.Errorf("error %v, want an UnsupportedError", err)
	}
	n.unmount("u2")
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	src, err := os.Open(from)
	must(t, err)
	defer src.Close()
	dst, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY, 0o755)
	must(t, err)
	_, err = io.Copy(dst, src)
	must(t, err)
	must(t, dst.Close())
}
