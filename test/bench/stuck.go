package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"

	"github.com/creack/pty"
)

// stuck is a terminal that nobody reads and whose buffer is full: who writes to it waits for good.
type stuck struct{ master, tty *os.File }

func openStuck() (*stuck, error) {
	master, tty, err := pty.Open()
	if err != nil {
		return nil, fmt.Errorf("open a pseudo-terminal: %w", err)
	}
	t := &stuck{master, tty}
	if err := errors.Join(pty.Setsize(master, &pty.Winsize{Rows: 40, Cols: 120}), t.fill()); err != nil {
		return nil, errors.Join(err, t.close())
	}
	return t, nil
}

// fill writes to the terminal, by a descriptor of its own, until that would wait.
func (t *stuck) fill() error {
	fd, err := syscall.Open(t.tty.Name(), syscall.O_WRONLY|syscall.O_NOCTTY|syscall.O_NONBLOCK|syscall.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("open %s: %w", t.tty.Name(), err)
	}
	defer syscall.Close(fd) //nolint:errcheck // nothing is kept in it
	for block := make([]byte, 512); err == nil; {
		_, err = syscall.Write(fd, block)
	}
	if errors.Is(err, syscall.EAGAIN) {
		return nil
	}
	return fmt.Errorf("fill %s: %w", t.tty.Name(), err)
}

func (t *stuck) close() error { return errors.Join(t.tty.Close(), t.master.Close()) }

// onTerminal makes the terminal a command's own.
func onTerminal(cmd *exec.Cmd, tty *os.File) {
	cmd.Stdin, cmd.Stdout, cmd.Stderr = tty, tty, tty
	cmd.Env = append(os.Environ(), "TERM=xterm-256color")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
}
