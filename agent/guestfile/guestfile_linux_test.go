package guestfile

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A container can replace a file with any of these: none of it is opened, and nothing blocks.
func TestKinds(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	check(os.WriteFile(at("plain"), []byte("hello"), 0o600))
	check(unix.Mkfifo(at("fifo"), 0o600))
	check(os.Symlink("/etc/passwd", at("link")))
	check(os.Symlink("plain", at("inside")))
	check(os.Symlink("..", at("up")))
	check(os.Symlink("loop", at("loop")))
	check(os.Mkdir(at("dir"), 0o700))
	check(os.WriteFile(at("huge"), nil, 0o600))
	check(os.Truncate(at("huge"), 4<<40))
	l, err := net.Listen("unix", at("sock"))
	check(err)
	defer l.Close()
	device := unix.Mknod(at("device"), unix.S_IFCHR|0o600, int(unix.Mkdev(10, 250))) == nil // whose opening fails with ENXIO
	f := New(Config{})
	for _, c := range []struct {
		name, text         string
		read, readIn, tail string
	}{
		{name: "plain", text: "hello"},
		{name: "fifo", read: "named pipe", readIn: "named pipe", tail: "named pipe"},
		{name: "link", read: "symbolic link", readIn: "leads out of the volume", tail: "symbolic link"},
		{name: "inside", read: "symbolic link", tail: "symbolic link", text: "hello"},
		{name: "up/etc", read: "no such file", readIn: "leads out of the volume", tail: "no such file"},
		{name: "loop", read: "symbolic link", readIn: "too many levels", tail: "symbolic link"},
		{name: "dir", read: "directory", readIn: "directory", tail: "directory"},
		{name: "sock", read: "socket", readIn: "socket", tail: "socket"},
		{name: "device", read: "character device", readIn: "character device", tail: "character device"},
		{name: "huge", read: "4398046511104 bytes long, want at most 100", readIn: "4398046511104 bytes long", text: strings.Repeat("\x00", 10)},
		{name: "none", read: "no such file", readIn: "no such file", tail: "no such file"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.name == "device" && !device {
				t.Skip("no device can be made here")
			}
			text, err := f.Read(t.Context(), at(c.name), 100)
			expect(t, "read", c.read, c.text, string(text), err)
			text, err = f.ReadIn(t.Context(), dir, c.name, 100)
			expect(t, "read in", c.readIn, c.text, string(text), err)
			text, _, err = f.Tail(t.Context(), at(c.name), 10)
			expect(t, "tail", c.tail, c.text, string(text), err)
			if c.name == "huge" {
				err := f.Rewrite(t.Context(), at(c.name), []byte("new"), 0o644)
				expect(t, "rewrite", "", "", "", err)
				text, err := os.ReadFile(at(c.name))
				expect(t, "rewritten", "", "new", string(text), err)
			} else if c.tail != "" && c.name != "none" && c.name != "up/etc" {
				expect(t, "rewrite", c.tail, "", "", f.Rewrite(t.Context(), at(c.name), []byte("new"), 0o644))
			}
		})
	}
}

func expect(t *testing.T, what, wantErr, wantText, text string, err error) {
	t.Helper()
	switch {
	case wantErr == "" && err != nil:
		t.Errorf("%s: %v", what, err)
	case wantErr != "" && (err == nil || !strings.Contains(err.Error(), wantErr)):
		t.Errorf("%s: %v, want an error with %q", what, err, wantErr)
	case wantErr == "" && text != wantText:
		t.Errorf("%s: %q, want %q", what, text, wantText)
	}
}

// A process with a lease on a file makes others wait in open(2), up to 45 s.
func TestLease(t *testing.T) {
	path := filepath.Join(t.TempDir(), "leased")
	held, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	// The kernel reports the break of the lease with SIGIO, which is ignored here.
	if _, err := unix.FcntlInt(held.Fd(), unix.F_SETLEASE, unix.F_WRLCK); err != nil {
		t.Skip("no leases here: ", err)
	}
	f := New(Config{})
	var leased *LeasedError
	if _, err := f.Read(t.Context(), path, 100); !errors.As(err, &leased) {
		t.Errorf("read: %v, want a LeasedError", err)
	}
	if err := f.Rewrite(t.Context(), path, []byte("new"), 0o644); !errors.As(err, &leased) {
		t.Errorf("rewrite: %v, want a LeasedError", err)
	}
}

// Replacing a file by a pipe during a read does no harm.
func TestExchanged(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	end := make(chan struct{})
	defer func() { <-end }()
	stop := make(chan struct{})
	defer close(stop)
	go func() {
		defer close(end)
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			next := filepath.Join(dir, "next")
			if i%2 == 0 {
				_ = unix.Mkfifo(next, 0o600)
			} else {
				_ = os.WriteFile(next, []byte("text"), 0o600)
			}
			_ = os.Rename(next, path)
		}
	}()
	f := New(Config{})
	for range 2000 {
		text, err := f.Read(t.Context(), path, 100)
		var kind *KindError
		if err != nil && !errors.As(err, &kind) && !errors.Is(err, fs.ErrNotExist) || err == nil && string(text) != "text" {
			t.Fatalf("%q, %v", text, err)
		}
		if slow, ok := errors.AsType[*SlowError](err); ok {
			t.Fatal(slow)
		}
	}
}

// A seccomp supervisor that does not respond makes the agent's open hang in the kernel, as on a dead file system.
func TestHangsInTheKernel(t *testing.T) {
	fd, err := unix.FanotifyInit(unix.FAN_CLASS_CONTENT|unix.FAN_CLOEXEC|unix.FAN_NONBLOCK, unix.O_RDONLY)
	if err != nil {
		t.Skip("no fanotify: ", err)
	}
	group := os.NewFile(uintptr(fd), "fanotify")
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := unix.FanotifyMark(fd, unix.FAN_MARK_ADD, unix.FAN_OPEN_PERM, unix.AT_FDCWD, path); err != nil {
		t.Skip("no fanotify permission events: ", err)
	}
	f := New(Config{Deadline: 2 * time.Second}) // long enough on any machine for what does not hang
	for i := range 3 {
		slow, ok := errors.AsType[*SlowError](func() error { _, err := f.Read(t.Context(), path, 100); return err }())
		if !ok || slow.Hung != 1 || (slow.After > 0) != (i == 0) {
			t.Errorf("try %d: %+v", i, slow)
		}
	}
	if err := group.Close(); err != nil { // everything is allowed now
		t.Fatal(err)
	}
	for late := time.Now().Add(time.Minute); f.Hung() > 0; time.Sleep(time.Millisecond) {
		if time.Now().After(late) {
			t.Fatalf("%d operations hang after a minute", f.Hung())
		}
	}
	if text, err := f.Read(t.Context(), path, 100); err != nil || string(text) != "text" {
		t.Errorf("afterwards: %q, %v", text, fmt.Sprint(err))
	}
}
