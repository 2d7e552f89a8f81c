package host

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"

	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/tracetest"
)

func TestAround(t *testing.T) {
	const slash, dir = "1 0 8:1 / / rw - ext4 /dev/sda rw\n", "/var/lib/kubelet"
	for _, c := range []struct {
		table, at string
		shared    bool
		below     string
	}{
		{table: slash, at: "/"},
		{table: "1 0 8:1 / / rw shared:1 - ext4 /dev/sda rw\n", at: "/", shared: true},
		{table: slash + "2 1 8:2 / /var/lib rw master:1 - ext4 /dev/sdb rw\n", at: "/var/lib"},
		{table: slash + "2 1 8:2 / /var/lib rw master:1 shared:5 - ext4 /dev/sdb rw\n", at: "/var/lib", shared: true},
		{table: "2 1 8:2 / /var rw shared:5 - ext4 /dev/sdb rw\n3 2 8:3 / /var rw - ext4 /dev/sdc rw\n" + slash, at: "/var"},
		{table: slash + "2 1 8:2 / /var/lib/kube rw shared:5 - ext4 /dev/sdb rw\n3 1 8:2 / /var/lib/kubelet-2 rw shared:5 - ext4 /dev/sdb rw\n", at: "/"},
		{table: slash + "2 1 8:2 / " + dir + " rw shared:5 - ext4 /dev/sdb rw\n", at: dir, shared: true},
		{table: slash + "2 1 8:2 / " + dir + "/pods/1 rw shared:5 - tmpfs none rw\n", at: "/", below: dir + "/pods/1"},
	} {
		all, err := mountinfo.GetMountsFromReader(strings.NewReader(c.table), nil)
		if err != nil {
			t.Fatal(err)
		}
		if on, below := around(all, dir); on.at != c.at || on.shared != c.shared || below != c.below {
			t.Errorf("%s: %+v %q", c.table, on, below)
		}
	}
}

// TestShareMounts runs TestShareMountsInside in a mount namespace of its own.
func TestShareMounts(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("not root: nothing can be mounted")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self, "-test.run=^TestShareMountsInside$", "-test.v")
	cmd.Env = append(os.Environ(), "SHARE_MOUNTS="+t.TempDir())
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS} // makes all mounts private
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS: TestShareMountsInside") {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestShareMountsInside(t *testing.T) {
	dir := os.Getenv("SHARE_MOUNTS")
	if dir == "" {
		t.Skip("run by TestShareMounts")
	}
	root, link := filepath.Join(dir, "root"), filepath.Join(dir, "link")
	outer := filepath.Join(root, "pods", "1")
	do(t, os.MkdirAll(outer, 0o700))
	do(t, os.Symlink(root, link))

	do(t, unix.Mount("none", outer, "tmpfs", 0, ""))
	if l := share(t, link); l.Level != trace.LevelWarn || !strings.Contains(l.Attrs[1].V, outer+" is mounted below it; make its mounts shared (mount --make-rshared /)") {
		t.Errorf("with a mount below: %+v", l)
	}
	do(t, unix.Unmount(outer, 0))
	if n := mounts(t, dir); n != "" {
		t.Fatalf("left: %s", n)
	}

	if l := share(t, link); l.Level != trace.LevelInfo {
		t.Errorf("%+v", l)
	}
	if got := mounts(t, dir); got != root+" true\n" {
		t.Errorf("mounts\n%s", got)
	}
	do(t, unix.Mount("none", outer, "tmpfs", 0, ""))
	if l := share(t, root); l.Message != "" {
		t.Errorf("again: %+v", l)
	}
	if got := mounts(t, dir); got != root+" true\n"+outer+" true\n" { // what is mounted below is shared, too
		t.Errorf("mounts\n%s", got)
	}

	// A root directory that is a mount already gets no second one.
	do(t, unix.Mount("", root, "", unix.MS_PRIVATE|unix.MS_REC, ""))
	if l := share(t, root); l.Level != trace.LevelInfo {
		t.Errorf("a private mount: %+v", l)
	}
	if got := mounts(t, dir); got != root+" true\n"+outer+" true\n" {
		t.Errorf("mounts\n%s", got)
	}
	if _, err := shareMounts(filepath.Join(dir, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v", err)
	}
}

// share returns what is said, if anything.
func share(t *testing.T, root string) (said trace.Log) {
	t.Helper()
	rec := tracetest.New(t)
	ShareMounts(rec.Bus(), root)
	for _, said = range tracetest.Events[trace.Log](rec) {
	}
	return said
}

// mounts has a line for each mount at and below a directory: its place, and whether it is shared.
func mounts(t *testing.T, dir string) string {
	t.Helper()
	all, err := mountinfo.GetMounts(mountinfo.PrefixFilter(dir))
	do(t, err)
	var b strings.Builder
	for _, m := range all {
		b.WriteString(m.Mountpoint + map[bool]string{true: " true\n", false: " false\n"}[isShared(m.Optional)])
	}
	return b.String()
}

func do(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
