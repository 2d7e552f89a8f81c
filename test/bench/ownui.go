package main

import (
	"context"
	"errors"
)

// ownUI is an agent's own UI, on a terminal that is stuck (that is "looked at" here) or read.
type ownUI struct {
	b    *bench
	t    *terminal
	pid  int
	held *held // while it is stuck
	read int   // what was read before the sample
}

// withOwnUI has an agent draw its UI on a terminal; what comes is in view, so that it draws much.
func withOwnUI(ctx context.Context, b *bench) (watcher, error) {
	t, err := openTerminal()
	if err != nil {
		return nil, err
	}
	if err := b.startAgentOn(ctx, &b.ours, t.tty, "--view", "log"); err != nil {
		return nil, errors.Join(err, t.close())
	}
	return &ownUI{b: b, t: t, pid: b.agent.cmd.Process.Pid}, nil
}

func (u *ownUI) set(ctx context.Context, on bool) error {
	switch {
	case on && u.held == nil:
		if n, _ := u.t.seen(""); n == 0 {
			return errors.New("the UI has drawn nothing")
		}
		h, err := u.t.stick(ctx, u.pid)
		if err != nil {
			return err
		}
		u.held = &h
	case !on && u.held != nil:
		u.held = nil
		if err := u.t.drain(); err != nil {
			return err
		}
	}
	if err := rest(ctx, u.pid); err != nil {
		return err
	}
	u.read, _ = u.t.seen("")
	return nil
}

func (u *ownUI) check(on bool, _ string) error {
	if on {
		return u.t.still(u.pid, *u.held)
	}
	if n, _ := u.t.seen(""); n == u.read {
		return errors.New("the UI drew nothing of a pod's start on a terminal that is read")
	}
	return nil
}

// close ends the agent too: its terminal goes last.
func (u *ownUI) close() error { return errors.Join(u.t.drain(), u.b.stopAgent(), u.t.close()) }
