//go:build unix

package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
)

const oneManifest = `apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers: [{name: web, image: busybox, command: [sleep, infinity]}]
`

// terminal is the command running in a real pseudo-terminal.
type terminal struct {
	t   *testing.T
	cmd *exec.Cmd
	tty *os.File

	mu   sync.Mutex
	out  bytes.Buffer
	news chan struct{}
	end  chan struct{}
}

// inTerminal starts the command at 80x24.
func inTerminal(t *testing.T, args ...string) *terminal {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	term := &terminal{t: t, cmd: exec.Command(self), news: make(chan struct{}, 1), end: make(chan struct{})}
	term.cmd.Args = append([]string{"kubeloupe"}, args...)
	races := filepath.Join(t.TempDir(), "race")
	term.cmd.Env = append(os.Environ(), "TERM=xterm-256color", "TMPDIR="+t.TempDir(), "GORACE=exitcode=0 log_path="+races)
	t.Cleanup(func() { noRaces(t, races) })
	term.cmd.Dir = t.TempDir()
	if term.tty, err = pty.StartWithSize(term.cmd, &pty.Winsize{Rows: 24, Cols: 80}); err != nil {
		t.Fatal(err)
	}
	go term.read()
	t.Cleanup(func() {
		_ = term.cmd.Process.Kill() // it is gone already when all is well
		_ = term.tty.Close()
		<-term.end
	})
	return term
}

func (x *terminal) read() {
	defer close(x.end)
	buf := make([]byte, 4096)
	for {
		n, err := x.tty.Read(buf)
		x.mu.Lock()
		x.out.Write(buf[:n])
		x.mu.Unlock()
		select {
		case x.news <- struct{}{}:
		default:
		}
		if err != nil {
			return
		}
	}
}

// sees waits until the terminal has been sent the text.
func (x *terminal) sees(text string) {
	x.t.Helper()
	limit := time.After(time.Minute)
	for ended := false; ; {
		all := x.said()
		if strings.Contains(all, text) {
			return
		}
		if ended {
			x.t.Fatalf("it ended without %q:\n%q", text, all)
		}
		select {
		case <-x.news:
		case <-x.end:
			ended = true // the last text may have come since it was looked at
		case <-limit:
			x.t.Fatalf("no %q within a minute:\n%q", text, all)
		}
	}
}

// over waits until nobody writes to the terminal any more.
func (x *terminal) over() {
	x.t.Helper()
	select {
	case <-x.end:
	case <-time.After(time.Minute):
		x.t.Fatalf("it goes on after a minute:\n%q", x.said())
	}
}

func (x *terminal) types(keys string) {
	x.t.Helper()
	if _, err := x.tty.WriteString(keys); err != nil {
		x.t.Fatal(err)
	}
}

// ends waits for the command and checks that the terminal was given back.
func (x *terminal) ends(code int) {
	x.t.Helper()
	limit := time.AfterFunc(time.Minute, func() { _ = x.cmd.Process.Kill() })
	defer limit.Stop()
	err := x.cmd.Wait()
	got := 0
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		got = exit.ExitCode()
	} else if err != nil {
		x.t.Fatal(err)
	}
	if got != code {
		x.t.Errorf("exit code %d, want %d; it said:\n%s", got, code, x.said())
	}
	x.over() // what it wrote last may not be read yet
	const enter, leave = "\x1b[?1049h", "\x1b[?1049l"
	if in, out := strings.Count(x.said(), enter), strings.Count(x.said(), leave); in != 1 || out < 1 {
		x.t.Errorf("alternate screen entered %d and left %d times", in, out)
	}
}

func manifests(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "web.yaml"), []byte(oneManifest), 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}

func simArgs(t *testing.T) []string {
	t.Helper()
	return []string{"run", "--runtime", "sim", "--hostname-override", "n1", "--healthz-port", "0", "--pod-manifest-path", manifests(t)}
}

func TestRunOnATerminal(t *testing.T) {
	x := inTerminal(t, simArgs(t)...)
	x.sees("SIMULATED")
	x.sees("default/web-n1")
	x.types("3")
	x.sees("RESTARTS")
	x.types("q")
	x.sees("stop the agent?")
	x.types("y")
	x.ends(exitOK)
	x.sees("the agent has stopped; its simulated runtime and pods are gone")
}

func TestSignalsGiveTheTerminalBack(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT} {
		t.Run(sig.String(), func(t *testing.T) {
			x := inTerminal(t, simArgs(t)...)
			x.sees("default/web-n1")
			if err := x.cmd.Process.Signal(sig); err != nil {
				t.Fatal(err)
			}
			x.ends(exitOK)
		})
	}
}

// The pod is gone through key by key, then deleted.
func TestStepOnATerminal(t *testing.T) {
	x := inTerminal(t, "step", filepath.Join(manifests(t), "web.yaml"), "--runtime", "sim", "--hostname-override", "n1", "--healthz-port", "0")
	x.sees("paused before")
	for range 4 {
		x.types("n")
		time.Sleep(300 * time.Millisecond) // a key for each stop; what is typed between stops is refused in words
	}
	x.types("q")
	x.ends(exitOK)
}

// said is all that the terminal was sent.
func (x *terminal) said() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.out.String()
}

// noRaces fails on any data race but one in a library: cancelreader, which Bubble Tea
// reads keys with, closes its file while its own goroutine may still look at it.
func noRaces(t *testing.T, prefix string) {
	t.Helper()
	reports, err := filepath.Glob(prefix + ".*")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range reports {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, report := range strings.Split(string(text), "WARNING: DATA RACE")[1:] {
			if !strings.Contains(report, "cancelreader.(*epollCancelReader).wait") {
				t.Errorf("data race:%s", report)
			}
		}
	}
}

// TestTraceHasColorsOnATerminal: in a pipe, and with NO_COLOR, there is no escape code.
func TestTraceHasColorsOnATerminal(t *testing.T) {
	session, err := filepath.Abs("../../inspect/export/testdata/session.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("NO_COLOR", "")
	term := inTerminal(t, "trace", "--from", session, "shop/web-vm")
	term.over()
	if got := term.said(); !strings.Contains(got, "\x1b[35m\x1b[1m") || !strings.Contains(got, "\x1b[34m") {
		t.Errorf("the image or the sandbox has no color:\n%q", got)
	}
	t.Setenv("NO_COLOR", "1")
	term = inTerminal(t, "trace", "--from", session, "shop/web-vm")
	term.over()
	if got := term.said(); strings.Contains(got, "\x1b") || !strings.Contains(got, "image") {
		t.Errorf("with NO_COLOR:\n%q", got)
	}
}
