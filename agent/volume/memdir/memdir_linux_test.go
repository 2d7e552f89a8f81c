package memdir_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/kubeloupe/kubeloupe/agent/volume/memdir"
)

// mounter mounts for real and records its calls.
type mounter struct {
	memdir.Kernel
	options [][]string
	refuse  string // the option to reject
}

func (m *mounter) Mount(target, fstype string, options []string) error {
	m.options = append(m.options, options)
	if slices.Contains(options, m.refuse) {
		return errors.New("bad option")
	}
	return m.Kernel.Mount(target, fstype, options)
}

func maker(t *testing.T, refuse string) (*memdir.Maker, *mounter) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	m := &mounter{refuse: refuse}
	mk, err := memdir.New(m)
	if err != nil {
		t.Fatal(err)
	}
	return mk, m
}

func TestKernelWithoutNoswap(t *testing.T) {
	mk, m := maker(t, "noswap")
	for _, name := range []string{"a", "b"} {
		dir := filepath.Join(t.TempDir(), name)
		if err := mk.Tmpfs(dir, 4096); err != nil {
			t.Fatal(err)
		}
		defer remove(t, mk, dir)
	}
	want := [][]string{{"size=4096", "noswap"}, {"size=4096"}, {"size=4096"}}
	if !slices.EqualFunc(m.options, want, slices.Equal) {
		t.Errorf("options %v, want %v", m.options, want)
	}
}

// What the kernel says of the option is what a mount with it says.
func TestKeepsFromSwap(t *testing.T) {
	mk, m := maker(t, "")
	dir := filepath.Join(t.TempDir(), "d")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	err := m.Kernel.Mount(dir, "tmpfs", []string{"noswap"})
	defer remove(t, mk, dir)
	if got := memdir.KeepsFromSwap(); got != (err == nil) {
		t.Errorf("%t, but a mount: %v", got, err)
	}
}

// TestForeignMountsSurvive: nothing is removed through other mounts than the volume's own.
func TestForeignMountsSurvive(t *testing.T) {
	for _, below := range []string{"", "sub"} {
		mk, _ := maker(t, "")
		outside, dir := t.TempDir(), filepath.Join(t.TempDir(), "with space")
		if err := os.WriteFile(outside+"/precious", nil, 0o600); err != nil {
			t.Fatal(err)
		}
		at := filepath.Join(dir, below)
		if err := os.MkdirAll(at, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := unix.Mount(outside, at, "", unix.MS_BIND, ""); err != nil {
			t.Fatal(err)
		}
		err := mk.Remove(t.Context(), dir)
		var mounted *memdir.MountedError
		if !errors.As(err, &mounted) || mounted.Path != at {
			t.Errorf("mount on %q: error %v", at, err)
		}
		if err := unix.Unmount(at, 0); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(outside + "/precious"); err != nil {
			t.Error(err)
		}
		remove(t, mk, dir)
	}
}

func TestOtherFileSystemInPlace(t *testing.T) {
	mk, _ := maker(t, "")
	dir := filepath.Join(t.TempDir(), "d")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("proc", dir, "proc", 0, ""); err != nil {
		t.Fatal(err)
	}
	defer unix.Unmount(dir, 0)
	if err := mk.Tmpfs(dir, 0); err == nil {
		t.Error("no error")
	}
}

// TestStacked: two mounts on one directory, which a crash could leave, are both removed.
func TestStacked(t *testing.T) {
	mk, m := maker(t, "")
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(t.TempDir(), link); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(link, "d")
	if err := mk.Tmpfs(dir, 0); err != nil {
		t.Fatal(err)
	}
	if err := m.Kernel.Mount(dir, "tmpfs", nil); err != nil {
		t.Fatal(err)
	}
	remove(t, mk, dir)
}

// A mounted tmpfs gets another size, but not one below its content; something else is not resized.
func TestResize(t *testing.T) {
	mk, _ := maker(t, "")
	dir := filepath.Join(t.TempDir(), "d")
	if err := mk.Resize(dir, 4096); err == nil {
		t.Error("a directory without a mount is resized")
	}
	if err := mk.Tmpfs(dir, 1<<20); err != nil {
		t.Fatal(err)
	}
	defer remove(t, mk, dir)
	size := func() int64 {
		t.Helper()
		var st unix.Statfs_t
		if err := unix.Statfs(dir, &st); err != nil {
			t.Fatal(err)
		}
		return int64(st.Blocks) * st.Bsize
	}
	if err := os.WriteFile(dir+"/data", make([]byte, 512<<10), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		to, want int64
		ok       bool
	}{{2 << 20, 2 << 20, true}, {768 << 10, 768 << 10, true}, {256 << 10, 768 << 10, false}} {
		if err := mk.Resize(dir, c.to); (err == nil) != c.ok || size() != c.want {
			t.Errorf("%d bytes: %v, size %d, want %d", c.to, err, size(), c.want)
		}
	}
	if text, err := os.ReadFile(dir + "/data"); err != nil || len(text) != 512<<10 {
		t.Errorf("%d bytes, %v after the resizes", len(text), err)
	}
}

func remove(t *testing.T, mk *memdir.Maker, dir string) {
	t.Helper()
	if err := mk.Remove(t.Context(), dir); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(dir); !os.IsNotExist(err) {
		t.Errorf("%s: %v", dir, err)
	}
	if err := mk.Remove(t.Context(), dir); err != nil {
		t.Errorf("again: %v", err)
	}
}
