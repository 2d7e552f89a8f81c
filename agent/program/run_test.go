package program

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// script runs a shell script. It also returns the PID that the script wrote into the file $PID.
func script(t *testing.T, ctx context.Context, text string) (out Output, child int, err error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "pid")
	out, err = Run(ctx, Limits{Time: time.Minute, Stdout: 1 << 20}, func(ctx context.Context) *exec.Cmd {
		cmd := exec.CommandContext(ctx, "/bin/sh", "-c", text)
		cmd.Env = append(os.Environ(), "PID="+file)
		return cmd
	})
	if raw, readErr := os.ReadFile(file); readErr == nil {
		child, _ = strconv.Atoi(strings.TrimSpace(string(raw)))
	}
	return out, child, err
}

// gone waits until a process has exited or is a zombie.
func gone(t *testing.T, pid int) {
	t.Helper()
	if pid <= 0 {
		t.Fatal("the script has started no process")
	}
	for range 1000 {
		stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
		if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) || err == nil && strings.Contains(string(stat), ") Z ") {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("process %d lives on", pid)
}

// A program with endless output is killed with its children, and no more than the limit is kept.
func TestEndlessAnswer(t *testing.T) {
	out, child, err := script(t, t.Context(), `(until [ -s $PID ]; do :; done; exec yes) & echo $! > $PID; wait`)
	if _, long := errors.AsType[*TooLongError](err); !long || len(out.Stdout) > 1<<20 {
		t.Errorf("%d bytes, %v", len(out.Stdout), err)
	}
	gone(t, child)
}

func TestEndlessErrors(t *testing.T) {
	out, _, err := script(t, t.Context(), `echo said; head -c 10000000 /dev/zero | tr '\0' x >&2; exit 3`)
	if err == nil || err.Error() != "exit status 3" || out.StderrSize != 10000000 || len(out.Stderr) > 0 || string(out.Stdout) != "said\n" {
		t.Errorf("%.200v, %d bytes on stderr, %d of them kept, stdout %q", err, out.StderrSize, len(out.Stderr), out.Stdout)
	}
}

// The timeout also applies to the children.
func TestNoAnswer(t *testing.T) {
	for name, before := range map[string]string{"says nothing": "", "closes its output": "exec >&- 2>&-; "} {
		t.Run(name, func(t *testing.T) { noAnswer(t, before) })
	}
}

func noAnswer(t *testing.T, before string) {
	ctx, cancel := context.WithCancelCause(t.Context())
	started := filepath.Join(t.TempDir(), "started")
	go func() {
		for range 6000 { // a minute
			if _, err := os.Stat(started); err == nil {
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
		cancel(errors.New("enough"))
	}()
	_, child, err := script(t, ctx, before+`sleep 1000 & echo $! > $PID; : > `+started+`; wait`)
	if err == nil || !strings.Contains(err.Error(), "enough") {
		t.Error(err)
	}
	gone(t, child)
}

// A daemon that keeps the program's stdout open does not outlive the call.
func TestLeftBehind(t *testing.T) {
	_, child, err := script(t, t.Context(), `sleep 1000 & echo $! > $PID; echo {}`)
	if err == nil || !strings.Contains(err.Error(), "keeps its stdout") {
		t.Error(err)
	}
	gone(t, child)
}

// A daemon that has left the program's group and keeps its stdout is not killed: after the program was reaped,
// another group may have the PID.
func TestLeftTheGroup(t *testing.T) {
	if _, err := exec.LookPath("setsid"); err != nil {
		t.Skip("needs setsid")
	}
	_, child, err := script(t, t.Context(), `setsid sleep 1000 & echo $! > $PID; while [ "$(cut -d' ' -f5 /proc/$!/stat)" = $$ ]; do :; done; echo {}`)
	if err == nil || !strings.Contains(err.Error(), "keeps its stdout") {
		t.Error(err)
	}
	if err := syscall.Kill(child, syscall.SIGKILL); err != nil {
		t.Error(err)
	}
	gone(t, child)
}

// A reaped process is not killed by its PID: here the PID of a group that continues.
func TestNumberOfAnother(t *testing.T) {
	c := exec.Command("sleep", "1000")
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	g := &group{c: c}
	g.release()
	if err := g.kill(); !errors.Is(err, os.ErrProcessDone) {
		t.Error(err)
	}
	if err := c.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	var ended *exec.ExitError
	if err := c.Wait(); !errors.As(err, &ended) || ended.Sys().(syscall.WaitStatus).Signal() != syscall.SIGTERM {
		t.Errorf("another's process: %v", err)
	}
}
