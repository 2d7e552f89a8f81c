package attach

import (
	"errors"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// TestTwo runs two attaches at once: both see, a third one on the socket of the first is refused in words, and when one ends the other keeps
// its socket.
func TestTwo(t *testing.T) {
	b := setup(t)
	first, second := b.attach(t), b.attach(t)
	out, err := b.try(t, "attach", "--no-tui", "--pid", strconv.Itoa(b.kubelet.PID()), "--control-socket", first.socket)
	if err == nil || code(err) != 2 || !strings.Contains(out, "process "+strconv.Itoa(first.Process.Pid)+" is already listening on "+first.socket) {
		t.Errorf("one more on the same socket: %v, %s", err, out)
	}
	b.create(t, "two")
	b.seen(t, first.socket, "two")
	b.seen(t, second.socket, "two")
	first.Process.Signal(syscall.SIGTERM) // ends tells
	first.ends(t, 0)
	if _, err := os.Lstat(first.socket); err == nil {
		t.Error("the first left its socket")
	}
	b.create(t, "one")
	b.seen(t, second.socket, "one")
	second.Process.Signal(syscall.SIGTERM) // ends tells
	second.ends(t, 0)
	b.nothingLeft(t, second)
}

// TestTwoByDefault runs two attaches that name no socket: the second one says that it has none, runs, and leaves that of the first alone.
func TestTwoByDefault(t *testing.T) {
	b := setup(t)
	const socket = "/run/kubeloupe/attach.sock"
	if _, err := os.Lstat(socket); err == nil {
		t.Skip("somebody uses " + socket)
	}
	first := b.attach(t, "--control-socket", socket) // it counts: it is the last one
	second := b.attach(t, "--control-socket", socket)
	eventually(t, "the second's words", func() string {
		if text := second.said(); !strings.Contains(text, "is already listening on "+socket) || !strings.Contains(text, "attached to") {
			return "it said: " + text
		}
		return ""
	})
	second.Process.Signal(syscall.SIGTERM) // ends tells
	second.ends(t, 0)
	b.create(t, "still")
	b.seen(t, socket, "still")
	first.Process.Signal(syscall.SIGTERM) // ends tells
	first.ends(t, 0)
	if _, err := os.Lstat(socket); err == nil {
		t.Error("the first left its socket")
	}
	b.well(t)
}

// code is the exit code of a command that failed.
func code(err error) int {
	exit, ok := errors.AsType[*exec.ExitError](err)
	if !ok {
		return -1
	}
	return exit.ExitCode()
}
