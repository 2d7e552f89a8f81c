//go:build unix

package main

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"
)

// endsWithin is how long a command may take to end after SIGTERM with an output that nobody reads: lastWords, and time for what it
// has to do on a busy machine.
const endsWithin = lastWords + 12*time.Second

// TestStuckTerminal ends each kind of command by SIGTERM while its terminal, or its pipe, takes nothing.
func TestStuckTerminal(t *testing.T) {
	t.Parallel()
	from, err := filepath.Abs(filepath.Join("..", "..", "tui", "testdata", "recordings", "cluster.klr"))
	if err != nil {
		t.Fatal(err)
	}
	for name, args := range map[string][]string{
		"run":       append(simArgs(t), "-o", "json"),
		"run-ui":    simArgs(t),
		"events":    {"events", "--from", from, "-o", "json"},
		"why":       {"why", "--all", "--from", from, "-o", "json"},
		"replay":    {"replay", from, "-o", "json"},
		"replay-ui": {"replay", from},
		"tui":       {"tui", "--from", from},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			endsStuck(t, args, func(cmd *exec.Cmd) (*os.File, error) {
				return pty.StartWithSize(cmd, &pty.Winsize{Rows: 24, Cols: 80})
			})
		})
	}
	t.Run("pipe", func(t *testing.T) {
		t.Parallel()
		endsStuck(t, []string{"events", "--from", from, "-o", "json"}, func(cmd *exec.Cmd) (*os.File, error) {
			r, w, err := os.Pipe()
			if err != nil {
				return nil, err
			}
			defer w.Close()
			cmd.Stdout, cmd.Stderr = w, w
			return r, cmd.Start()
		})
	})
}

// endsStuck starts a command whose output nobody reads, and tells it to end when it writes no more.
func endsStuck(t *testing.T, args []string, start func(*exec.Cmd) (*os.File, error)) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Args = append([]string{"kubeloupe"}, args...)
	cmd.Env = append(os.Environ(), "TERM=xterm-256color", "TMPDIR="+t.TempDir())
	cmd.Dir = t.TempDir()
	out, err := start(cmd)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	unread(t, out)
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case err := <-ended:
		t.Logf("it took %v: %v", time.Since(began), err)
	case <-time.After(endsWithin):
		_ = cmd.Process.Kill()
		<-ended
		t.Errorf("it was alive %v after SIGTERM", endsWithin)
	}
}

// unread waits until there is something to read, and no more comes.
func unread(t *testing.T, f *os.File) {
	t.Helper()
	limit := time.Now().Add(time.Minute)
	for last, same := 0, 0; same < 20; time.Sleep(50 * time.Millisecond) {
		var n int
		conn, err := f.SyscallConn()
		if err == nil {
			err = errors.Join(conn.Control(func(fd uintptr) { n, err = unix.IoctlGetInt(int(fd), unix.TIOCINQ) }), err)
		}
		if err != nil {
			t.Fatal(err)
		}
		if same++; n != last || n == 0 {
			same = 0
		}
		last = n
		if time.Now().After(limit) {
			t.Fatalf("it has not stopped writing: %d bytes are to be read", n)
		}
	}
}

// TestOutput has a reader read slowly, or stop, before and after the command is to end.
func TestOutput(t *testing.T) {
	for _, c := range []struct {
		name         string
		reads, every time.Duration // until it stops; a piece each
		ends         time.Duration
		err          error
		most         time.Duration
	}{
		{"slow while it runs", time.Hour, time.Minute, 2 * time.Hour, nil, 30 * time.Minute},
		{"slow when it is to end", time.Hour, lastOutput / 2, 0, nil, 30 * time.Second},
		{"stops when it is to end", 2 * time.Second, time.Second, 0, errStopped, 2*time.Second + lastWords},
		{"stopped before", 0, time.Second, time.Minute, errStopped, time.Minute + lastWords},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r, w := io.Pipe()
				ending := make(chan struct{})
				time.AfterFunc(c.ends, func() { close(ending) })
				began := time.Now()
				go func() {
					buf := make([]byte, pieceSize)
					for time.Since(began) < c.reads {
						time.Sleep(c.every)
						if _, err := r.Read(buf); err != nil {
							return
						}
					}
				}()
				o := &output{to: w, ending: ending, patience: lastOutput}
				n, err := o.Write(make([]byte, 10*pieceSize))
				took := time.Since(began)
				if !errors.Is(err, c.err) || err == nil && n != 10*pieceSize || took > c.most {
					t.Errorf("%d bytes, %v after %v", n, err, took)
				}
				if err != nil {
					if _, again := o.Write([]byte("x")); !errors.Is(again, errStopped) || time.Since(began) != took {
						t.Errorf("then it is tried again: %v", again)
					}
				}
				w.Close()
				r.Close()
				time.Sleep(3 * time.Hour) // all ends
			})
		})
	}
}
