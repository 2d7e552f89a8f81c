//go:build linux

// Package terminal runs a command on a pseudo-terminal, for tests: one that is read, or one that takes nothing more.
package terminal

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
)

// deadline is how long a test waits for one thing on a machine that is busy.
const deadline = time.Minute

// Terminal is a command on a pseudo-terminal. Its methods fail the test.
type Terminal struct {
	// Cmd is the command. Its state is there once Ended is closed.
	Cmd *exec.Cmd
	// Ended is closed when the command has ended.
	Ended chan struct{}

	t           *testing.T
	master, tty *os.File
	unread      chan struct{} // closed when nobody reads any more

	mu   sync.Mutex
	out  bytes.Buffer
	slow bool
}

// Start starts a command at 120x40. It is killed when the test ends.
func Start(t *testing.T, cmd *exec.Cmd) *Terminal {
	t.Helper()
	x := &Terminal{Cmd: cmd, Ended: make(chan struct{}), t: t, unread: make(chan struct{})}
	var err error
	if x.master, x.tty, err = pty.Open(); err != nil {
		t.Skipf("no pseudo-terminal here: %v", err)
	}
	// The package leaves it blocking, where deadlines do not end a read.
	if err := syscall.SetNonblock(int(x.master.Fd()), true); err != nil {
		t.Fatal(err)
	}
	if err := pty.Setsize(x.tty, &pty.Winsize{Rows: 40, Cols: 120}); err != nil {
		t.Fatal(err)
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = x.tty, x.tty, x.tty
	cmd.Env = append(os.Environ(), "TERM=xterm-256color", "LANG=C.UTF-8")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = cmd.Wait() // its state is looked at
		close(x.Ended)
	}()
	go x.follow()
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it has ended when all is well
		<-x.Ended
		_ = x.tty.Close()
		_ = x.master.Close()
		<-x.unread
	})
	return x
}

func (x *Terminal) follow() {
	defer close(x.unread)
	buf := make([]byte, 4096)
	for {
		n, err := x.master.Read(buf)
		x.mu.Lock()
		x.out.Write(buf[:n])
		slow := x.slow
		x.mu.Unlock()
		if err != nil {
			return
		}
		if slow {
			buf = buf[:64]
			time.Sleep(100 * time.Millisecond)
		}
	}
}

// Slow makes the terminal as slow as a modem: 640 bytes a second, where a full screen has some thousand.
func (x *Terminal) Slow() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.slow = true
}

// Text is all that the terminal was sent.
func (x *Terminal) Text() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.out.String()
}

// Sees waits until all words are in one screen. It has the screen drawn again, by sizes that change:
// else only what is different is sent.
func (x *Terminal) Sees(words ...string) {
	x.t.Helper()
	for i, end := 0, time.Now().Add(deadline); time.Now().Before(end); i++ {
		from := len(x.Text())
		if err := pty.Setsize(x.tty, &pty.Winsize{Rows: uint16(40 - i%2), Cols: 120}); err != nil {
			x.t.Fatal(err)
		}
		select {
		case <-x.Ended:
			x.t.Fatalf("it ended without %q:\n%q", words, x.Text())
		case <-time.After(500 * time.Millisecond):
		}
		drawn := x.Text()[from:]
		if !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(drawn, w) }) {
			return
		}
	}
	x.t.Fatalf("no %q on the screen:\n%q", words, x.Text())
}

// Ends waits until the command has ended well and sees that it gave the terminal back.
func (x *Terminal) Ends() {
	x.t.Helper()
	select {
	case <-x.Ended:
	case <-time.After(deadline):
		x.t.Fatal("it does not end")
	}
	if code := x.Cmd.ProcessState.ExitCode(); code != 0 {
		x.t.Errorf("exit code %d:\n%q", code, x.Text())
	}
}

// Stick lets nobody read the terminal any more and fills its buffer, so that who writes waits for good.
func (x *Terminal) Stick() {
	x.t.Helper()
	if err := x.master.SetReadDeadline(time.Now()); err != nil {
		x.t.Fatal(err)
	}
	<-x.unread
	for end := time.Now().Add(deadline); !x.Full(); {
		if time.Now().After(end) {
			x.t.Fatal("the terminal takes all that is written")
		}
	}
}

// Full writes, by a descriptor of its own, until the terminal takes no more, and reports whether that is so.
func (x *Terminal) Full() bool {
	x.t.Helper()
	fd, err := syscall.Open(x.tty.Name(), syscall.O_WRONLY|syscall.O_NOCTTY|syscall.O_NONBLOCK|syscall.O_CLOEXEC, 0)
	if err != nil {
		x.t.Fatal(err)
	}
	defer func() { _ = syscall.Close(fd) }()
	for range 1024 {
		if _, err := syscall.Write(fd, make([]byte, 512)); err != nil {
			return errors.Is(err, syscall.EAGAIN)
		}
	}
	return false
}

// Types types keys.
func (x *Terminal) Types(keys string) {
	x.t.Helper()
	if _, err := x.master.WriteString(keys); err != nil {
		x.t.Fatal(err)
	}
}
