package wholefile

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

func content(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Error(err)
	}
	return string(text)
}

func TestWrite(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state")
	// An unfinished file from a crash, which is longer.
	if err := os.WriteFile(path+Unfinished, []byte("half of something long"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"one", "", "three"} {
		if err := Write(path, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := content(t, path); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if left, _ := filepath.Glob(filepath.Dir(path) + "/*"); len(left) != 1 {
		t.Errorf("left %v", left)
	}
	if err := Write(filepath.Join(path, "under a file"), nil, 0o600); !errors.Is(err, unix.ENOTDIR) {
		t.Error(err)
	}
	if err := Write(t.TempDir()+"/../no/directory", nil, 0o600); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

// On a disk that is full or read-only, the old file stays, and nothing is added.
func TestNoRoom(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("mounting a small disk needs root")
	}
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=16k"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	path := filepath.Join(dir, "state")
	if err := Write(path, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	check := func(want error) {
		t.Helper()
		if err := Write(path, []byte(strings.Repeat("new", 10_000)), 0o600); !errors.Is(err, want) {
			t.Errorf("%v, want %v", err, want)
		}
		if got := content(t, path); got != "old" {
			t.Errorf("%.20q, want the old content", got)
		}
		if _, err := os.Stat(path + Unfinished); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("an unfinished file is left: %v", err)
		}
	}
	check(unix.ENOSPC)
	if err := unix.Mount("", dir, "", unix.MS_REMOUNT|unix.MS_RDONLY, ""); err != nil {
		t.Fatal(err)
	}
	check(unix.EROFS)
}

// Nothing counts as saved that may not be on the disk: if a sync fails, Write fails, and the old file stays. A version
// that only renames would not notice.
func TestNotSavedUnlessSynced(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state")
	if err := Write(path, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // the thread has no fsync from now on, and ends with this goroutine
		if err := denyFsync(); err != nil {
			t.Error(err)
		}
		done <- Write(path, []byte("new"), 0o600)
	}()
	if err := <-done; !errors.Is(err, unix.EIO) {
		t.Errorf("%v, want %v", err, unix.EIO)
	}
	if got := content(t, path); got != "old" {
		t.Errorf("%q, want the old content", got)
	}
}

// denyFsync makes fsync fail in this thread.
func denyFsync() error {
	filter := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS}, // seccomp_data.nr
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jf: 1, K: unix.SYS_FSYNC},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(unix.EIO)},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
	}
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	return unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&program)), 0, 0)
}

func TestAside(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state")
	for _, text := range []string{"first", "second"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		aside, err := Aside(path)
		if err != nil {
			t.Fatal(err)
		}
		if got := content(t, aside); got != text {
			t.Errorf("%q, want %q", got, text)
		}
	}
	if _, err := Aside(path); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}
