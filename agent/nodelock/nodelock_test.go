//go:build unix

package nodelock

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestMain is also the other agent: if LOCK_PATH is set, it takes that lock, reports this, and holds it until its input
// ends.
func TestMain(m *testing.M) {
	path := os.Getenv("LOCK_PATH")
	if path == "" {
		os.Exit(m.Run())
	}
	if _, err := Acquire(path); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println("locked")
	_, _ = bufio.NewReader(os.Stdin).ReadByte()
}

// hold starts another process that holds the lock, and returns its PID and a function that stops it.
func hold(t *testing.T, path string, end func(*exec.Cmd)) (pid int, stop func()) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "LOCK_PATH="+path)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	stopped := false
	stop = func() {
		if !stopped {
			stopped = true
			end(cmd)
			_ = in.Close()
			_ = cmd.Wait()
		}
	}
	t.Cleanup(stop)
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "locked\n" {
		t.Fatalf("the other process said %q: %v", line, err)
	}
	return cmd.Process.Pid, stop
}

func TestHeldByAnotherProcess(t *testing.T) {
	path := filepath.Join(t.TempDir(), "root", FileName)
	pid, stop := hold(t, path, func(c *exec.Cmd) { _ = c.Process.Kill() })

	_, err := Acquire(path)
	held, ok := errors.AsType[*HeldError](err)
	if !ok {
		t.Fatalf("Acquire of a held lock: %v", err)
	}
	if want := fmt.Sprintf("pid %d (", pid); !strings.HasPrefix(held.Holder, want) || !strings.Contains(err.Error(), path) {
		t.Errorf("error %q does not name holder %q and %s", err, want, path)
	}

	stop() // with SIGKILL: the file still names the dead process
	lock, err := Acquire(path)
	if err != nil {
		t.Fatalf("Acquire after the holder was killed: %v", err)
	}
	if got, _ := os.ReadFile(path); !strings.HasPrefix(string(got), fmt.Sprintf("pid %d (", os.Getpid())) {
		t.Errorf("lock file says %q", got)
	}
	if err := lock.Release(); err != nil {
		t.Error(err)
	}
	if got, _ := os.ReadFile(path); len(got) != 0 {
		t.Errorf("released lock file says %q", got)
	}
}

// The lock belongs to the open file, so a second one in the same process fails too.
func TestHeldByThisProcess(t *testing.T) {
	path := filepath.Join(t.TempDir(), FileName)
	lock, err := Acquire(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Acquire(path); err == nil {
		t.Error("a second Acquire got the lock")
	}
	if err := lock.Release(); err != nil {
		t.Error(err)
	}
	again, err := Acquire(path)
	if err != nil {
		t.Fatalf("Acquire after Release: %v", err)
	}
	_ = again.Release()
}

func TestWait(t *testing.T) {
	path := filepath.Join(t.TempDir(), FileName)
	first, err := Acquire(path)
	if err != nil {
		t.Fatal(err)
	}
	calls := 0
	lock, err := Wait(t.Context(), path, func(*HeldError) {
		calls++
		if err := first.Release(); err != nil {
			t.Error(err)
		}
	})
	if err != nil || calls != 1 {
		t.Fatalf("Wait: %v, after %d calls of waiting", err, calls)
	}
	defer func() { _ = lock.Release() }()

	ctx, cancel := context.WithCancel(t.Context())
	_, err = Wait(ctx, path, func(*HeldError) { cancel() })
	if _, held := errors.AsType[*HeldError](err); !held || !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled Wait: %v", err)
	}
}

func TestAcquireNamesWhatFailed(t *testing.T) {
	path := t.TempDir() // a directory is not a lock file
	if _, err := Acquire(path); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("got %v", err)
	}
}

// The content of a lock file may be shown on a terminal.
func TestHolderIsHarmless(t *testing.T) {
	file, err := os.Create(filepath.Join(t.TempDir(), FileName))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	if _, err := file.WriteString("pid 1 \x1b[2J\u009bx\xff\nmore"); err != nil {
		t.Fatal(err)
	}
	if got, want := read(file), "pid 1 [2Jx"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
