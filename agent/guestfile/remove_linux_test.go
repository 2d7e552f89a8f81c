package guestfile

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

// A tree of any depth is removed without an open directory on each level, which os.RemoveAll needs: a hundred thousand
// levels used all of the agent's file descriptors, and were not removed.
func TestRemoveDeep(t *testing.T) {
	top := filepath.Join(t.TempDir(), "top")
	outside := filepath.Join(t.TempDir(), "outside")
	if err := os.MkdirAll(filepath.Join(outside, "kept"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(top, 0o700); err != nil {
		t.Fatal(err)
	}
	fd, err := unix.Open(top, unix.O_DIRECTORY|unix.O_RDONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 1500 {
		for _, err := range []error{
			unix.Mkdirat(fd, "d", 0o700), unix.Mkdirat(fd, ".removing-1", 0o700), unix.Mknodat(fd, "fifo", unix.S_IFIFO|0o600, 0),
			unix.Symlinkat(outside, fd, "link"),
		} {
			if err != nil {
				t.Fatal(i, err)
			}
		}
		next, err := unix.Openat(fd, "d", unix.O_DIRECTORY|unix.O_RDONLY, 0)
		if err != nil {
			t.Fatal(i, err)
		}
		_ = unix.Close(fd)
		fd = next
	}
	_ = unix.Close(fd)
	// It works with this small limit of open files.
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	few := unix.Rlimit{Cur: 128, Max: limit.Max}
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &few); err != nil {
		t.Fatal(err)
	}
	defer unix.Setrlimit(unix.RLIMIT_NOFILE, &limit)
	if err := RemoveAll(t.Context(), top); err != nil {
		t.Fatalf("%.300s", err)
	}
	if _, err := os.Lstat(top); !errors.Is(err, os.ErrNotExist) {
		t.Error("it is still there: ", err)
	}
	if _, err := os.Lstat(filepath.Join(outside, "kept")); err != nil {
		t.Error("a link was followed: ", err)
	}
}

func TestRemoveAll(t *testing.T) {
	dir := t.TempDir()
	if err := RemoveAll(t.Context(), filepath.Join(dir, "none", "none")); err != nil {
		t.Error(err)
	}
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := RemoveAll(t.Context(), file); err != nil {
		t.Error(err)
	}
	wide := filepath.Join(dir, "wide")
	for i := range 50 {
		sub := filepath.Join(wide, fmt.Sprint(i), "a", "b")
		if err := os.MkdirAll(sub, 0o700); err != nil {
			t.Fatal(err)
		}
		for j := range 20 {
			if err := os.WriteFile(filepath.Join(sub, fmt.Sprint(j)), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := RemoveAll(ended, wide); !errors.Is(err, context.Canceled) {
		t.Error("cut short: ", err)
	}
	if err := RemoveAll(t.Context(), wide); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

// Several remove the same tree at the same time: what one of them finds removed is removed.
func TestRemovedByOthers(t *testing.T) {
	for round := range 3 {
		top := filepath.Join(t.TempDir(), "top")
		for i := range 10 {
			if err := os.MkdirAll(filepath.Join(top, fmt.Sprint(i), "a", "b", "c"), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		var removers sync.WaitGroup
		for range 4 {
			removers.Go(func() {
				if err := RemoveAll(t.Context(), top); err != nil {
					t.Errorf("round %d: %v", round, err)
				}
			})
		}
		removers.Wait()
		if _, err := os.Lstat(top); !errors.Is(err, os.ErrNotExist) {
			t.Error("it is still there: ", err)
		}
	}
}

// Mounts in a tree are kept, and the rest is removed.
func TestRemoveMounted(t *testing.T) {
	top := filepath.Join(t.TempDir(), "top")
	for _, d := range []string{"a/mount", "b/c"} {
		if err := os.MkdirAll(filepath.Join(top, d), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	mount := filepath.Join(top, "a/mount")
	if err := unix.Mount("kl-test", mount, "tmpfs", 0, "size=64k"); err != nil {
		t.Skip("nothing can be mounted here: ", err)
	}
	defer unix.Unmount(mount, unix.MNT_DETACH)
	kept := filepath.Join(mount, "kept")
	if err := os.WriteFile(kept, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	err := RemoveAll(t.Context(), top)
	if _, there := os.Lstat(kept); err == nil || there != nil {
		t.Errorf("%v; the file behind the mount: %v", err, there)
	}
	if _, err := os.Lstat(filepath.Join(top, "b")); !errors.Is(err, os.ErrNotExist) {
		t.Error("the rest is still there: ", err)
	}
}
