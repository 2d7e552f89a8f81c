package memdir

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"
)

func mount(t testing.TB, source, target, fstype string, flags uintptr) {
	t.Helper()
	if err := unix.Mount(source, target, fstype, flags, ""); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Unmount(target, unix.MNT_DETACH) })
}

// What a look says is what the kernel's table says, or that it is not sure.
func TestLook(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	for name, test := range map[string]struct {
		make func(t *testing.T, dir string)
		want sight
	}{
		"nothing there":    {func(t *testing.T, dir string) { remove(t, dir) }, free},
		"no mount":         {func(*testing.T, string) {}, free},
		"bind mount":       {func(t *testing.T, dir string) { mount(t, t.TempDir(), dir, "", unix.MS_BIND) }, unsure},
		"bind mount below": {func(t *testing.T, dir string) { mount(t, t.TempDir(), filepath.Join(dir, "sub/sub"), "", unix.MS_BIND) }, unsure},
		"mounted file": {func(t *testing.T, dir string) {
			mount(t, filepath.Join(dir, "file"), filepath.Join(dir, "sub/other"), "", unix.MS_BIND)
		}, unsure},
		"tmpfs":       {func(t *testing.T, dir string) { mount(t, "tmpfs", dir, "tmpfs", 0) }, own},
		"tmpfs below": {func(t *testing.T, dir string) { mount(t, "tmpfs", filepath.Join(dir, "sub"), "tmpfs", 0) }, unsure},
		"tmpfs on a bind mount": {func(t *testing.T, dir string) {
			mount(t, t.TempDir(), dir, "", unix.MS_BIND)
			mount(t, "tmpfs", dir, "tmpfs", 0)
		}, own},
		"bind mount on a tmpfs": {func(t *testing.T, dir string) {
			mount(t, "tmpfs", dir, "tmpfs", 0)
			mount(t, t.TempDir(), dir, "", unix.MS_BIND)
		}, unsure},
		"bind mount in a tmpfs": {func(t *testing.T, dir string) {
			mount(t, "tmpfs", dir, "tmpfs", 0)
			must(t, os.Mkdir(filepath.Join(dir, "d"), 0o755))
			mount(t, t.TempDir(), filepath.Join(dir, "d"), "", unix.MS_BIND)
		}, unsure},
		"proc": {func(t *testing.T, dir string) { mount(t, "proc", dir, "proc", 0) }, unsure},
		"link": {func(t *testing.T, dir string) {
			remove(t, dir)
			must(t, os.Symlink(t.TempDir(), dir))
		}, unsure},
		"links inside": {func(t *testing.T, dir string) {
			for i, to := range []string{"/proc", "/nowhere", "../..", "self"} {
				must(t, os.Symlink(to, filepath.Join(dir, fmt.Sprint("link", i))))
			}
		}, free},
		"fifo": {func(t *testing.T, dir string) { must(t, unix.Mkfifo(filepath.Join(dir, "fifo"), 0o600)) }, free},
		"deep": {func(t *testing.T, dir string) {
			must(t, os.MkdirAll(filepath.Join(dir, strings.Repeat("d/", lookDepth+1)), 0o755))
		}, unsure},
		"many files": {func(t *testing.T, dir string) {
			for i := range lookLimit {
				must(t, os.WriteFile(filepath.Join(dir, fmt.Sprint(i)), nil, 0o600))
			}
		}, unsure},
	} {
		t.Run(name, func(t *testing.T) {
			link := filepath.Join(t.TempDir(), "link")
			must(t, os.Symlink(t.TempDir(), link))
			dir := filepath.Join(link, "with space")
			must(t, os.MkdirAll(filepath.Join(dir, "sub/sub"), 0o755))
			must(t, os.WriteFile(filepath.Join(dir, "file"), nil, 0o600))
			must(t, os.WriteFile(filepath.Join(dir, "sub/other"), nil, 0o600))
			test.make(t, dir)
			if got := look(dir); got != test.want {
				t.Errorf("got %d, want %d", got, test.want)
			}
			if mounts, err := table(dir); err != nil || test.want == free && len(mounts) > 0 {
				t.Errorf("the kernel's table: %v, %v", mounts, err)
			}
		})
	}
}

// Files below a mount under the volume's own are kept.
func TestRemoveUnderTmpfs(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	m, err := New(Kernel{})
	must(t, err)
	outside, dir := t.TempDir(), filepath.Join(t.TempDir(), "d")
	must(t, os.Mkdir(dir, 0o755))
	must(t, os.WriteFile(filepath.Join(outside, "precious"), nil, 0o600))
	mount(t, outside, dir, "", unix.MS_BIND)
	mount(t, "tmpfs", dir, "tmpfs", 0)
	if err := m.Remove(t.Context(), dir); err == nil || !strings.Contains(err.Error(), "not the volume's own") {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(outside, "precious")); err != nil {
		t.Error(err)
	}
}

// BenchmarkWithin compares a look with the kernel's table of mounts, with as many mounts as 60 pods have.
func BenchmarkWithin(b *testing.B) {
	if os.Geteuid() != 0 {
		b.Skip("needs root")
	}
	top := b.TempDir()
	for i := range 240 {
		at := filepath.Join(top, fmt.Sprint(i))
		must(b, os.Mkdir(at, 0o755))
		mount(b, "tmpfs", at, "tmpfs", 0)
	}
	dir := filepath.Join(b.TempDir(), "pod")
	must(b, os.MkdirAll(filepath.Join(dir, "volumes/kubernetes.io~projected"), 0o755))
	must(b, os.WriteFile(filepath.Join(dir, "etc-hosts"), nil, 0o600))
	for name, within := range map[string]func(string) ([]*mountinfo.Info, error){"look": Within, "table": table} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if mounts, err := within(dir); err != nil || len(mounts) > 0 {
					b.Fatal(mounts, err)
				}
			}
		})
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func remove(t *testing.T, dir string) {
	t.Helper()
	must(t, os.RemoveAll(dir))
}
