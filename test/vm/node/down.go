package node

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// monitorFile is the socket where a detached machine takes the emulator's commands.
const monitorFile = "monitor"

// ErrNone says that a directory has no machine.
var ErrNone = errors.New("no machine")

// Down ends the detached machine of dir, as by pulling its plug, and removes the directory. The error is [ErrNone] if dir has no machine: it
// is left alone then.
func Down(ctx context.Context, dir string) error {
	if _, err := os.Stat(filepath.Join(dir, portFile)); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w in %s", ErrNone, dir)
	}
	if err := quit(ctx, filepath.Join(dir, monitorFile)); err != nil {
		return fmt.Errorf("end the machine in %s: %w", dir, err)
	}
	return os.RemoveAll(dir)
}

// quit has the emulator end, and waits until it has. None may listen any more.
func quit(ctx context.Context, socket string) error {
	c, err := net.Dial("unix", socket)
	if err != nil {
		return nil // it has ended: the socket is the emulator's as long as it runs
	}
	defer func() { _ = c.Close() }()
	end := time.Now().Add(time.Minute)
	if at, ok := ctx.Deadline(); ok && at.Before(end) {
		end = at
	}
	if err := c.SetDeadline(end); err != nil {
		return err
	}
	if _, err := io.WriteString(c, "quit\n"); err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, c) // until its end
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return err
	}
	return nil
}

// Ended reports whether a detached machine has ended.
func (m *Machine) Ended() bool {
	c, err := net.Dial("unix", m.path(monitorFile))
	if err == nil {
		_ = c.Close()
	}
	return errors.Is(err, syscall.ECONNREFUSED)
}
