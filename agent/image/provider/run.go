package provider

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"syscall"
	"time"
)

// Budgets of one call. A provider is a program that root installed, but what it prints may be what a registry or a cloud told it.
const (
	limit     = time.Minute // for the answer
	maxAnswer = 1 << 20     // bytes on stdout; a login is some kilobytes at most
)

var errTooLong = fmt.Errorf("its answer on stdout is longer than %d bytes", maxAnswer)

// run runs cmd to its end and returns its stdout. When the time is over, or the answer is too long, the whole process group of
// cmd is killed: a shell script's children too.
func run(ctx context.Context, cmd func(ctx context.Context) *exec.Cmd) ([]byte, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("no answer within %v", limit))
	defer cancel()
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	c := cmd(ctx)
	stdout := &capped{max: maxAnswer, over: func() { stop(errTooLong) }}
	stderr := &capped{}
	c.Stdout, c.Stderr = stdout, stderr
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.Cancel = func() error { return syscall.Kill(-c.Process.Pid, syscall.SIGKILL) }
	c.WaitDelay = time.Second // for a child of its own that holds stdout
	err := c.Run()
	if errors.Is(err, exec.ErrWaitDelay) {
		_ = syscall.Kill(-c.Process.Pid, syscall.SIGKILL) // the child keeps the group's number from being given away
		err = fmt.Errorf("it ended, and a process that it started keeps its stdout or stderr open: %w", err)
	}
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		// What it printed is not said: it handles logins.
		return nil, fmt.Errorf("%w (%d bytes on stderr)", err, stderr.seen)
	}
	return stdout.kept.Bytes(), nil
}

// capped keeps the first bytes of what is written, and takes the rest. It is written by one goroutine.
type capped struct {
	max  int
	over func() // called when more is written than is kept; may be nil
	kept bytes.Buffer
	seen int // bytes that were written
}

func (c *capped) Write(p []byte) (int, error) {
	c.seen += len(p)
	room := c.max - c.kept.Len()
	c.kept.Write(p[:min(room, len(p))])
	if len(p) > room && c.over != nil {
		c.over()
	}
	return len(p), nil
}
