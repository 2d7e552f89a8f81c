package provider

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

// Budgets of one call. A provider is a program that root installed, but what it prints may be what a registry or a cloud told it.
const (
	limit     = time.Minute // for the answer
	maxAnswer = 1 << 20     // bytes on stdout; a login is some kilobytes at most
)

var errTooLong = fmt.Errorf("its response on stdout is longer than %d bytes", maxAnswer)

// leave is how long a process that a provider leaves behind may keep its stdout or stderr open.
const leave = time.Second

// run runs cmd to its end and returns its stdout. When the time is over, or the answer is too long, the whole process group of
// cmd is killed: a shell script's children too. That is done only while cmd has not been waited for: until then nobody else has its number.
func run(ctx context.Context, cmd func(ctx context.Context) *exec.Cmd) ([]byte, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("no response within %v", limit))
	defer cancel()
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	c := cmd(ctx)
	stdout := &capped{max: maxAnswer, over: func() { stop(errTooLong) }}
	stderr := &capped{}
	out, err := collect(&c.Stdout, stdout)
	if err != nil {
		return nil, err
	}
	defer out.close()
	errs, err := collect(&c.Stderr, stderr)
	if err != nil {
		return nil, err
	}
	defer errs.close()
	g := &group{c: c}
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.Cancel = g.kill
	c.WaitDelay = leave // for its stdin
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
	if err != nil {
		// What it printed is not said: it handles logins.
		return nil, fmt.Errorf("%w (%d bytes on stderr)", err, stderr.seen)
	}
	return stdout.kept.Bytes(), nil
}

// group are the processes of a command that runs.
type group struct {
	c *exec.Cmd

	mu       sync.Mutex
	released bool
}

// kill kills all of it, as long as its number is its own.
func (g *group) kill() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.released {
		return os.ErrProcessDone
	}
	return errors.Join(syscall.Kill(-g.c.Process.Pid, syscall.SIGKILL), g.c.Process.Kill())
}

// release says that the command is waited for: from then on its number may be another's.
func (g *group) release() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.released = true
}

// ended returns when the command has ended and its output too, or when the output does not end a while after it: what is left of its
// group is killed then.
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
		<-exited // it has closed its output before; it is killed when its time is over
	}
	return false
}

// output copies what a command writes.
type output struct {
	r, w *os.File
	done chan struct{}
}

// collect has what is written to a command's stdout or stderr copied to w.
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

// started closes the end that is the command's.
func (o *output) started() { _ = o.w.Close() }

// close ends the copying, whoever has the other end. It may be called again.
func (o *output) close() {
	_ = o.w.Close()
	_ = o.r.Close()
	<-o.done
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
