package program

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"
)

// leave is how long a remaining process may keep stdout or stderr open.
const leave = time.Second

// Limits are those of one run. All are required, except Stderr.
type Limits struct {
	// Time is how long the program may run.
	Time time.Duration
	// Stdout is how many bytes it may write to stdout.
	Stdout int
	// Stderr is how many bytes of its stderr are kept; the rest is discarded.
	Stderr int
}

// Output is what a program wrote.
type Output struct {
	Stdout []byte
	// Stderr is the beginning of it, StderrSize its length in bytes.
	Stderr     []byte
	StderrSize int
}

// TooLongError is the error of a program that writes more to stdout than it may.
type TooLongError struct {
	// Max is the limit in bytes.
	Max int
}

// Error implements error.
func (e *TooLongError) Error() string {
	return fmt.Sprintf("its response on stdout is longer than %d bytes", e.Max)
}

// TimeoutError is the error of a program that runs too long.
type TimeoutError struct{ Limit time.Duration }

// Error implements error.
func (e *TimeoutError) Error() string { return fmt.Sprintf("no response within %v", e.Limit) }

// Run runs cmd and returns its output. On a timeout, or if the response is too long, it kills the whole process group
// of cmd, with the children of a shell script. It does so only before cmd is reaped: until then no other process can
// have its PID. The errors are a [*TimeoutError], a [*TooLongError], the context's cause, that a child keeps the output open, and those of
// [exec.Cmd]; with an [*exec.ExitError], the output is complete.
func Run(ctx context.Context, l Limits, cmd func(ctx context.Context) *exec.Cmd) (Output, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, l.Time, &TimeoutError{l.Time})
	defer cancel()
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	c := cmd(ctx)
	stdout := &capped{max: l.Stdout, over: func() { stop(&TooLongError{l.Stdout}) }}
	stderr := &capped{max: l.Stderr}
	out, err := collect(&c.Stdout, stdout)
	if err != nil {
		return Output{}, err
	}
	defer out.close()
	errs, err := collect(&c.Stderr, stderr)
	if err != nil {
		return Output{}, err
	}
	defer errs.close()
	g := &group{c: c}
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.Cancel = g.kill
	c.WaitDelay = leave // for stdin
	err = c.Start()
	out.started()
	errs.started()
	if err == nil {
		left := g.ended(ctx, out, errs)
		g.release()
		err = c.Wait()
		if left {
			err = errors.Join(errors.New("it exited, but a process that it started keeps its stdout or stderr open"), err)
		}
	}
	out.close()
	errs.close()
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return Output{Stdout: stdout.kept.Bytes(), Stderr: stderr.kept.Bytes(), StderrSize: stderr.seen}, err
}

// group is the process group of a running command.
type group struct {
	c *exec.Cmd

	mu       sync.Mutex
	released bool
}

// kill kills the group, unless its PID may have been reused.
func (g *group) kill() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.released {
		return os.ErrProcessDone
	}
	return errors.Join(syscall.Kill(-g.c.Process.Pid, syscall.SIGKILL), g.c.Process.Kill())
}

// release says that the command is about to be reaped: from then on another process may have its PID.
func (g *group) release() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.released = true
}

// ended returns when the command has exited and its output has ended. If the output does not end in time after that, it
// kills the rest of the group.
func (g *group) ended(ctx context.Context, outputs ...*output) (left bool) {
	exited := exits(g.c.Process.Pid)
	var late <-chan time.Time
	done := ctx.Done()
	for _, o := range outputs {
		for open := true; open; {
			select {
			case <-o.done:
				open = false
			case <-exited:
				exited, late = nil, time.After(leave)
			case <-done:
				done, late = nil, time.After(leave)
			case <-late:
				_ = g.kill()
				return true
			}
		}
	}
	if exited != nil {
		<-exited // it closed its output before it exits; the timeout kills it
	}
	return false
}

// output copies what a command writes.
type output struct {
	r, w *os.File
	done chan struct{}
}

// collect copies everything that a command writes to its stdout or stderr to w.
func collect(to *io.Writer, w io.Writer) (*output, error) {
	o := &output{done: make(chan struct{})}
	var err error
	if o.r, o.w, err = os.Pipe(); err != nil {
		return nil, err
	}
	*to = o.w
	go func() {
		defer close(o.done)
		_, _ = io.Copy(w, o.r)
	}()
	return o, nil
}

// started closes the command's end of the pipe.
func (o *output) started() { _ = o.w.Close() }

// close ends the copying, even if other processes have the pipe's other end. It can be called again.
func (o *output) close() {
	_ = o.w.Close()
	_ = o.r.Close()
	<-o.done
}

// capped keeps the first bytes that are written and discards the rest. One goroutine writes to it.
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
