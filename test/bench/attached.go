package main

import (
	"context"
	"errors"
	"os/exec"
	"path/filepath"
	"syscall"
)

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
	cmd := exec.Command(a.args[0], a.args[1:]...)
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
