package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"time"
)

// client is another kubeloupe that looks at the agent by its control socket.
type client struct {
	cmd   *exec.Cmd
	ended chan struct{}
	err   error // how it ended, once it has
}

func startClient(ctx context.Context, cmd *exec.Cmd) (*client, error) {
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	c := &client{cmd: cmd, ended: make(chan struct{})}
	go func() {
		defer close(c.ended)
		c.err = cmd.Wait()
	}()
	return c, ctx.Err()
}

func (c *client) pid() int { return c.cmd.Process.Pid }

// alive says by an error that it has ended.
func (c *client) alive() error {
	select {
	case <-c.ended:
		return fmt.Errorf("%v ended before it was told to: %w", c.cmd.Args, c.err)
	default:
		return nil
	}
}

// stop ends it by a signal and returns how it ended.
func (c *client) stop(s os.Signal) error {
	_ = c.cmd.Process.Signal(s) // it may have ended
	<-c.ended
	return c.err
}

// await waits until is is true, while the client lives.
func (c *client) await(ctx context.Context, what string, is func() bool) error {
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); {
		if is() {
			return nil
		}
		if err := errors.Join(c.alive(), pause(ctx, 10*time.Millisecond)); err != nil {
			return err
		}
	}
	return fmt.Errorf("%v: no %s", c.cmd.Args, what)
}
