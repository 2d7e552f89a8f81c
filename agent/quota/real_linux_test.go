package quota

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// helper is the environment variable with the directory of whose project the helper process of TestUsersOfTheirOwn wants to be rid.
const helper = "KUBELOUPE_QUOTA_HELPER"

// disks are the programs that make file systems that count projects, by type.
var disks = map[string][]string{
	"ext4": {"mke2fs", "-q", "-t", "ext4", "-O", "quota,project"},
	"xfs":  {"mkfs.xfs", "-q"},
}

// onDisks runs a test on each file system that can count projects.
func onDisks(t *testing.T, test func(t *testing.T, at string)) {
	for name, mkfs := range disks {
		t.Run(name, func(t *testing.T) { test(t, mounted(t, "prjquota", mkfs)) })
	}
}

// mounted makes a file system in a file and mounts it. It skips the test only if this user may not, if there is no program for it, or if the
// kernel does not have such quotas: some are built without CONFIG_QFMT_V2 or CONFIG_XFS_QUOTA.
func mounted(t *testing.T, options string, mkfs []string) string {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	if _, err := exec.LookPath(mkfs[0]); err != nil {
		t.Skip("needs the program:", err)
	}
	dir := t.TempDir()
	file, at := filepath.Join(dir, "disk"), filepath.Join(dir, "at")
	if err := errors.Join(os.WriteFile(file, nil, 0o600), os.Truncate(file, 320<<20), os.Mkdir(at, 0o700)); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(mkfs[0], append(mkfs[1:], file)...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if out, err := exec.Command("mount", "-o", "loop,"+options, file, at).CombinedOutput(); err != nil {
		t.Skipf("this kernel does not mount it: %v: %s", err, out)
	}
	t.Cleanup(func() {
		if out, err := exec.Command("umount", at).CombinedOutput(); err != nil { // frees the loop device, too
			t.Errorf("%v: %s", err, out)
		}
	})
	return at
}

func mkdir(t *testing.T, path ...string) string {
	t.Helper()
	dir := filepath.Join(path...)
	if err := os.MkdirAll(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	return dir
}

func write(t *testing.T, path string, size int) {
	t.Helper()
	if err := os.WriteFile(path, bytes.Repeat([]byte("x"), size), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestRealUsage(t *testing.T) { onDisks(t, testUsage) }

func testUsage(t *testing.T, at string) {
	p := New(Config{Listed: []string{}})
	one, other := mkdir(t, at, "one"), mkdir(t, at, "other")
	for _, dir := range []string{one, other} {
		if _, ok := p.Usage(dir); ok {
			t.Error("counted without a project")
		}
		if !p.Assign(dir) {
			t.Fatal("no project")
		}
	}
	want := func(dir string, bytes, inodes uint64) {
		t.Helper()
		eventually(t, func() string { // XFS frees what is removed a little later
			got, ok := New(Config{}).Usage(dir) // another agent knows no more than the file system
			// A directory takes a block of ext4 and none of XFS; an index may take more.
			if !ok || got.Inodes != inodes || got.Bytes < bytes || got.Bytes > bytes+32<<10 {
				return fmt.Sprintf("%s uses %+v, %t, want %d bytes, %d inodes", dir, got, ok, bytes, inodes)
			}
			return ""
		})
	}
	want(one, 0, 1)
	write(t, filepath.Join(mkdir(t, one, "deep", "er"), "file"), 1<<20)
	write(t, filepath.Join(other, "file"), 2<<20)
	want(one, 1<<20, 4)
	want(other, 2<<20, 2)

	// Nothing is moved or linked past the counting.
	if err := os.Rename(filepath.Join(other, "file"), filepath.Join(one, "moved")); !errors.Is(err, unix.EXDEV) {
		t.Errorf("a move to another project: %v", err)
	}
	if err := os.Link(filepath.Join(other, "file"), filepath.Join(one, "linked")); !errors.Is(err, unix.EXDEV) {
		t.Errorf("a link in another project: %v", err)
	}

	// A file that is removed counts as long as a process has it open.
	f, err := os.Open(filepath.Join(other, "file"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(f.Name()); err != nil {
		t.Fatal(err)
	}
	want(other, 2<<20, 2)
	_ = f.Close()
	want(other, 0, 1)

	// The same id again after a restart; a new directory gets a free one, also that of a directory which is gone.
	id := projectOf(t, one)
	if !New(Config{}).Assign(one) || projectOf(t, one) != id {
		t.Errorf("project %d, before %d", projectOf(t, one), id)
	}
	if err := os.RemoveAll(one); err != nil {
		t.Fatal(err)
	}
	d, err := host{}.open(at)
	if err != nil {
		t.Fatal(err)
	}
	defer d.close()
	eventually(t, func() string {
		if used, limited, err := d.quota(id); used != (Usage{}) || limited || err != nil {
			return fmt.Sprint("the project that is gone uses ", used, limited, err)
		}
		return ""
	})
	third := mkdir(t, at, "third")
	if !New(Config{Listed: []string{}}).Assign(third) || projectOf(t, third) != id || projectOf(t, other) == id {
		t.Errorf("projects %d and %d, %d is free", projectOf(t, third), projectOf(t, other), id)
	}
	want(third, 0, 1)
}

// eventually waits until nothing is missing.
func eventually(t *testing.T, missing func() string) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		said := missing()
		if said == "" {
			return
		}
		if time.Now().After(end) {
			t.Fatal(said)
		}
	}
}

func projectOf(t *testing.T, dir string) uint32 {
	t.Helper()
	d, err := host{}.open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer d.close()
	id, inherited, err := d.project()
	if err != nil || !inherited {
		t.Error(id, inherited, err)
	}
	return id
}

// A directory in that of a person's project stays the person's.
func TestRealInherited(t *testing.T) { onDisks(t, testInherited) }

func testInherited(t *testing.T, at string) {
	above := mkdir(t, at, "above")
	d, err := host{}.open(above)
	if err != nil {
		t.Fatal(err)
	}
	defer d.close()
	if err := d.setProject(first); err != nil {
		t.Fatal(err)
	}
	dir := mkdir(t, above, "dir")
	p := New(Config{})
	if p.Assign(dir) || projectOf(t, dir) != first {
		t.Errorf("project %d", projectOf(t, dir))
	}
	if _, ok := p.Usage(dir); ok {
		t.Error("counted")
	}
}

// File systems that do not count are no error: the directory is scanned.
func TestRealWithout(t *testing.T) {
	for name, at := range map[string]string{"ext4": mounted(t, "defaults", []string{"mke2fs", "-q", "-t", "ext4", "-O", "^quota,^project"}), "another": t.TempDir(), "kernel": "/proc"} {
		p := New(Config{})
		dir := at
		if name != "kernel" {
			dir = mkdir(t, at, "dir")
		}
		if ok, err := p.assign(dir); ok || err != nil {
			t.Errorf("%s: %t, %v", name, ok, err)
		}
		if _, ok := p.Usage(dir); ok {
			t.Errorf("%s: counted", name)
		}
	}
}

// Root in a user namespace of its own cannot take a directory out of its project, which root of the node can: so only pods with users of
// their own are counted.
func TestUsersOfTheirOwn(t *testing.T) {
	if dir := os.Getenv(helper); dir != "" {
		fmt.Print(escape(dir))
		return
	}
	onDisks(t, testUsers)
}

func testUsers(t *testing.T, at string) {
	dir := mkdir(t, at, "dir")
	if !New(Config{}).Assign(dir) {
		t.Fatal("no project")
	}
	if err := os.Chmod(filepath.Dir(at), 0o755); err != nil {
		t.Fatal(err)
	}
	id := projectOf(t, dir)
	cmd := exec.Command("/proc/self/exe", "-test.run=^TestUsersOfTheirOwn$")
	cmd.Env = append(os.Environ(), helper+"="+dir)
	ids := []syscall.SysProcIDMap{{Size: 65536}}
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER, UidMappings: ids, GidMappings: ids}
	out, err := cmd.CombinedOutput()
	if errors.Is(err, unix.EPERM) || errors.Is(err, unix.ENOSPC) {
		t.Skip("no user namespaces here:", err)
	}
	if err != nil || !strings.HasPrefix(string(out), "ioctl: invalid argument\n") || projectOf(t, dir) != id {
		t.Errorf("%v: %s; project %d, before %d", err, out, projectOf(t, dir), id)
	}
	if got := escape(dir); got != "no error\n" {
		t.Errorf("root of the node: %s", got)
	}
}

// escape takes a directory out of its project.
func escape(dir string) string {
	d, err := host{}.open(dir)
	if err == nil {
		defer d.close()
		err = d.setProject(0)
	}
	if err != nil {
		return err.Error() + "\n"
	}
	return "no error\n"
}
