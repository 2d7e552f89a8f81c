package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"
)

// terminal is a pseudo-terminal that is read, or not read and full: then who writes to it waits for good.
type terminal struct {
	master, tty *os.File
	reader      chan struct{} // closed when nobody reads any more; nil while nobody does
	rows        uint16

	mu   sync.Mutex
	last []byte // what was read last
	read int    // bytes in all
}

// shown is how much of what was read is kept.
const shown = 64 << 10

// openTerminal returns a terminal that is read.
func openTerminal() (*terminal, error) {
	master, tty, err := pty.Open()
	if err != nil {
		return nil, fmt.Errorf("open a pseudo-terminal: %w", err)
	}
	// The package leaves it blocking, where deadlines do not end a read.
	if err := syscall.SetNonblock(int(master.Fd()), true); err != nil {
		return nil, errors.Join(err, master.Close(), tty.Close())
	}
	t := &terminal{master: master, tty: tty, rows: 39}
	return t, errors.Join(t.resize(), t.drain())
}

// resize makes whoever draws on the terminal draw again. It goes by the tty: of the master it would end the deadlines.
func (t *terminal) resize() error {
	t.rows = 79 - t.rows
	return pty.Setsize(t.tty, &pty.Winsize{Rows: t.rows, Cols: 120})
}

// drain reads the terminal from now on.
func (t *terminal) drain() error {
	if t.reader != nil {
		return nil
	}
	if err := t.master.SetReadDeadline(time.Time{}); err != nil {
		return err
	}
	t.reader = make(chan struct{})
	go t.follow(t.reader)
	return nil
}

func (t *terminal) follow(done chan struct{}) {
	defer close(done)
	buf := make([]byte, 4096)
	for {
		n, err := t.master.Read(buf)
		t.mu.Lock()
		t.read += n
		t.last = append(t.last, buf[:n]...)
		t.last = t.last[max(0, len(t.last)-shown):]
		t.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// seen is how many bytes were read, and whether s is among the last ones.
func (t *terminal) seen(s string) (int, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.read, bytes.Contains(t.last, []byte(s))
}

// fill has nobody read the terminal any more and writes to it, by a descriptor of its own, until it takes nothing.
func (t *terminal) fill() error {
	if t.reader != nil {
		if err := t.master.SetReadDeadline(time.Now()); err != nil {
			return err
		}
		<-t.reader
		t.reader = nil
	}
	for {
		if full, err := t.full(512); err != nil || full {
			return err
		}
	}
}

// full writes that many bytes and reports whether the terminal took none of them: it is full, or somebody else is at it.
func (t *terminal) full(size int) (bool, error) {
	fd, err := syscall.Open(t.tty.Name(), syscall.O_WRONLY|syscall.O_NOCTTY|syscall.O_NONBLOCK|syscall.O_CLOEXEC, 0)
	if err != nil {
		return false, fmt.Errorf("open %s: %w", t.tty.Name(), err)
	}
	defer syscall.Close(fd) //nolint:errcheck // nothing is kept in it
	if _, err = syscall.Write(fd, make([]byte, size)); errors.Is(err, syscall.EAGAIN) {
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("fill %s: %w", t.tty.Name(), err)
	}
	return false, nil
}

// waiting is how many bytes nobody has read.
func (t *terminal) waiting() (n int, err error) {
	c, err := t.master.SyscallConn() // Fd would make it blocking again
	if err != nil {
		return 0, err
	}
	e := c.Control(func(fd uintptr) { n, err = unix.IoctlGetInt(int(fd), unread) })
	return n, errors.Join(e, err)
}

func (t *terminal) close() error {
	err := t.master.Close()
	if t.reader != nil {
		<-t.reader
	}
	return errors.Join(err, t.tty.Close())
}

// onTerminal makes the terminal a command's own.
func onTerminal(cmd *exec.Cmd, tty *os.File) {
	cmd.Stdin, cmd.Stdout, cmd.Stderr = tty, tty, tty
	cmd.Env = append(os.Environ(), "TERM=xterm-256color", "LANG=C.UTF-8")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
}
