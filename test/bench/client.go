package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
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

// attached is a client, present or not, whose terminal takes nothing.
type attached struct {
	agent  int
	args   []string // of kubeloupe
	proof  string   // what it draws once it has what the agent said; "": all that it writes is from the agent
	client *client
	t      *terminal
	held   held
}

// socket is where the bench's agent listens.
func (b *bench) socket() string { return filepath.Join(b.dir, "control.sock") }

func withClient(proof string, args ...string) watch {
	return func(ctx context.Context, b *bench) (watcher, error) {
		if err := b.startAgent(ctx, &b.ours, "--control-socket", b.socket()); err != nil {
			return nil, err
		}
		args := append([]string{b.o.bin}, append(args, "--socket", b.socket())...)
		return &attached{agent: b.agent.cmd.Process.Pid, args: args, proof: proof}, nil
	}
}

func (a *attached) set(ctx context.Context, on bool) error {
	if on != (a.client != nil) {
		change := a.end
		if on {
			change = func() error { return a.begin(ctx) }
		}
		if err := change(); err != nil {
			return err
		}
	}
	pids := []int{a.agent}
	if on {
		pids = append(pids, a.client.pid())
	}
	return rest(ctx, pids...)
}

func (a *attached) begin(ctx context.Context) (err error) {
	if a.t, err = openTerminal(); err != nil {
		return err
	}
	if a.proof == "" { // it might have nothing more to write later
		if err := a.t.fill(); err != nil {
			return err
		}
	}
	cmd := exec.Command(a.args[0], a.args[1:]...) //nolint:gosec // the bench's own
	onTerminal(cmd, a.t.tty)
	if a.client, err = startClient(ctx, cmd); err != nil {
		return err
	}
	if a.proof != "" {
		if err := a.client.await(ctx, a.proof, func() bool { _, ok := a.t.seen(a.proof); return ok }); err != nil {
			return err
		}
	}
	a.held, err = a.t.stick(ctx, a.client.pid())
	return err
}

// end kills the client: it would wait for its terminal for a while.
func (a *attached) end() error {
	if a.client == nil {
		return nil
	}
	early := a.client.alive()
	_ = a.client.stop(syscall.SIGKILL) // that is how it ends
	a.client = nil
	return errors.Join(early, a.t.close())
}

func (a *attached) check(on bool, _ string) error {
	if !on {
		return nil
	}
	return errors.Join(a.client.alive(), a.t.still(a.client.pid(), a.held))
}

func (a *attached) close() error { return a.end() }
