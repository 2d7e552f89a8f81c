package control_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/kubeloupe/kubeloupe/inspect/control"
	"github.com/kubeloupe/kubeloupe/trace"
)

func TestSocketFile(t *testing.T) {
	a := start(t, nil)
	for path, want := range map[string]os.FileMode{filepath.Dir(a.path): os.ModeDir | 0o700, a.path: os.ModeSocket | 0o600} {
		if info, err := os.Stat(path); err != nil || info.Mode() != want {
			t.Errorf("%s: %v, %v, want mode %v", path, info, err, want)
		}
	}
	again := control.New(control.Config{Path: a.path})
	if err := again.Listen(); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("process %d is already listening on", os.Getpid())) {
		t.Errorf("a second one: %v", err)
	}
	a.cancel()
	if err := await(t, a.done, "the server's end"); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(a.path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("afterwards the socket is there: %v", err)
	}
}

func TestStaleSocket(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c.sock")
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	l.Close()
	if _, err := control.Dial(t.Context(), path); !errors.Is(err, control.ErrNoAgent) || !strings.Contains(err.Error(), path) {
		t.Errorf("a dead one: %v", err)
	}
	start(t, func(c *control.Config) { c.Path = path })
	if _, err := control.Dial(t.Context(), path); err != nil {
		t.Error(err)
	}
}

func TestLongPath(t *testing.T) {
	dir := filepath.Join(t.TempDir(), strings.Repeat("d", 100))
	if err := control.New(control.Config{Path: filepath.Join(dir, "c.sock")}).Listen(); err == nil || !strings.Contains(err.Error(), "use a shorter path") {
		t.Errorf("got %v", err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("its directory: %v", err)
	}
}

func TestNoSocket(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := control.New(control.Config{Path: path}).Listen(); err == nil || !strings.Contains(err.Error(), "is not a socket") {
		t.Errorf("a file: %v", err)
	}
	if text, err := os.ReadFile(path); string(text) != "precious" {
		t.Errorf("the file: %q, %v", text, err)
	}
}

// TestReplacedSocketStays: a socket that another agent created meanwhile is not removed.
func TestReplacedSocketStays(t *testing.T) {
	a := start(t, nil)
	if err := os.Remove(a.path); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", a.path)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	a.cancel()
	if err := await(t, a.done, "the server's end"); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(a.path); err != nil {
		t.Error(err)
	}
}

// TestNoAgent dials other files than a socket with a listener.
func TestNoAgent(t *testing.T) {
	for said, want := range map[string]string{
		"HTTP/1.1 400 Bad Request\r\n\r\n": "is not a kubeloupe agent",
		"{}\n":                             "is not a kubeloupe agent",
		`{"control":7,"version":"9.0","pid":12}` + "\n": "(process 12, version 9.0) uses version 7 of the control protocol, but this program uses version 4",
		"": "the agent has stopped",
	} {
		path := filepath.Join(t.TempDir(), "s")
		l, err := net.Listen("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			if conn, err := l.Accept(); err == nil {
				io.WriteString(conn, said)
				conn.Close()
			}
		}()
		if _, err := control.Dial(t.Context(), path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", said, err, want)
		}
		l.Close()
	}
	if _, err := control.Dial(t.Context(), filepath.Join(t.TempDir(), "none")); !errors.Is(err, control.ErrNoAgent) || !strings.Contains(err.Error(), "kubeloupe run") {
		t.Errorf("nothing there: %v", err)
	}
}

// TestOtherUser dials as nobody: first the file's mode forbids it, then, with another mode, the server.
func TestOtherUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root, to be somebody else")
	}
	dir, err := os.MkdirTemp("/tmp", "control")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	a := start(t, func(c *control.Config) { c.Path = filepath.Join(dir, "c.sock") })
	path := filepath.Join(dir, "c.sock")
	program := filepath.Join(dir, "test")
	text, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(program, text, 0o755); err != nil {
		t.Fatal(err)
	}
	nobody := func() string {
		cmd := exec.CommandContext(t.Context(), program)
		cmd.Env = []string{"CONTROL_TEST_DIAL=" + path}
		cmd.Dir = "/"
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return string(out)
	}
	if got := nobody(); !strings.Contains(got, "permission denied: only root and the agent's own user may use it") {
		t.Errorf("by the file's mode: %s", got)
	}
	if err := os.Chmod(path, 0o666); err != nil {
		t.Fatal(err)
	}
	if got := nobody(); !strings.Contains(got, "uid 65534 may not use this socket: only root and uid 0 may") {
		t.Errorf("by its credentials: %s", got)
	}
	cursor := a.bus.Subscribe(trace.FromOldest)
	defer cursor.Close()
	recs, _, err := cursor.Next(soon(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	if e, ok := recs[0].Event.(*trace.Log); !ok || e.Level != trace.LevelWarn || !strings.Contains(e.Message, "refused a client: uid 65534") {
		t.Errorf("the log: %+v", recs[0].Event)
	}
}
