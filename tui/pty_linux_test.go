package tui

import (
	"bytes"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"
)

// patience is how long a test waits for what should happen.
const patience = time.Minute

// terminal is a child on a pseudo-terminal.
type terminal struct {
	t      *testing.T
	master *os.File
	tty    *os.File
	cmd    *exec.Cmd
	before *unix.Termios
	eof    chan struct{}

	mu   sync.Mutex
	cond *sync.Cond
	out  bytes.Buffer
}

func startChild(t *testing.T, mode string, env ...string) *terminal {
	t.Helper()
	return startSized(t, &pty.Winsize{Rows: 24, Cols: 80}, true, mode, env...)
}

// startSized is startChild with a size. Without control, a change of the size sends no signal to the child.
func startSized(t *testing.T, size *pty.Winsize, control bool, mode string, env ...string) *terminal {
	t.Helper()
	master, tty, err := pty.Open()
	if err != nil {
		t.Skipf("no pseudo-terminal here: %v", err)
	}
	term := &terminal{t: t, master: master, tty: tty, eof: make(chan struct{})}
	term.cond = sync.NewCond(&term.mu)
	if err := pty.Setsize(master, size); err != nil {
		t.Fatal(err)
	}
	term.before = term.termios()
	term.cmd = exec.Command(os.Args[0])
	term.cmd.Env = append([]string{childEnv + "=" + mode, "TERM=xterm-256color", "LANG=C.UTF-8", "HOME=" + t.TempDir()}, env...)
	term.cmd.Dir = t.TempDir()
	term.cmd.Stdin, term.cmd.Stdout, term.cmd.Stderr = tty, tty, tty
	term.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: control}
	if err := term.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go term.read()
	t.Cleanup(func() {
		_ = term.cmd.Process.Kill() // it may have ended
		_ = term.cmd.Wait()         // likewise
		_ = tty.Close()
		_ = master.Close() // the test may have closed it
		<-term.eof
	})
	return term
}

func (x *terminal) read() {
	defer close(x.eof)
	buf := make([]byte, 4096)
	for {
		n, err := x.master.Read(buf)
		x.mu.Lock()
		x.out.Write(buf[:n])
		x.cond.Broadcast()
		x.mu.Unlock()
		if err != nil {
			return
		}
	}
}

func (x *terminal) termios() *unix.Termios {
	x.t.Helper()
	s, err := unix.IoctlGetTermios(int(x.tty.Fd()), unix.TCGETS)
	if err != nil {
		x.t.Fatal(err)
	}
	return s
}

// await waits until the output contains s and returns all output.
func (x *terminal) await(s string) string {
	x.t.Helper()
	return x.awaitFrom(0, s)
}

// written is how much output there is.
func (x *terminal) written() int {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.out.Len()
}

// awaitFrom is await for output past the first from bytes.
func (x *terminal) awaitFrom(from int, s string) string {
	x.t.Helper()
	x.mu.Lock()
	defer x.mu.Unlock()
	late := false // under the lock
	giveUp := time.AfterFunc(patience, func() {
		x.mu.Lock()
		defer x.mu.Unlock()
		late = true
		x.cond.Broadcast()
	})
	defer giveUp.Stop()
	for !strings.Contains(x.out.String()[from:], s) {
		if late {
			x.t.Fatalf("no %q in the output:\n%q", s, x.out.String())
		}
		x.cond.Wait()
	}
	return x.out.String()
}

func (x *terminal) send(s string) {
	x.t.Helper()
	if _, err := x.master.WriteString(s); err != nil {
		x.t.Fatal(err)
	}
}

// restored checks that the terminal is as it was, after output ended with ended.
func (x *terminal) restored(ended string) {
	x.t.Helper()
	out := x.await(ended)
	screen, after, ok := strings.Cut(out, "\x1b[?1049h")
	if !ok {
		x.t.Fatalf("the alternate screen was never entered:\n%q", screen)
	}
	i := strings.LastIndex(after, "\x1b[?1049l")
	if i < 0 {
		x.t.Fatalf("the alternate screen was not left:\n%q", after)
	}
	if strings.Contains(after[i:], "\x1b[?1049h") {
		x.t.Error("the alternate screen was entered again")
	}
	for _, mode := range []string{"25h", "1002l", "1006l", "2004l"} { // cursor on, mouse and paste off
		if !strings.Contains(after, "\x1b[?"+mode) {
			x.t.Errorf("mode %s was not restored:\n%q", mode, after[i:])
		}
	}
	if strings.Index(after, ended) < i {
		x.t.Error("the program ended before the terminal was restored")
	}
	if now := x.termios(); *now != *x.before {
		x.t.Errorf("terminal settings are %+v, were %+v", now, x.before)
	}
}

func TestTerminalIsRestored(t *testing.T) {
	for _, c := range []struct {
		name, mode string
		do         func(*terminal)
		ended      string
	}{
		{"quit", "session", func(x *terminal) { x.send("q") }, "ended: <nil>"},
		{"ctrl-c", "session", func(x *terminal) { x.send("\x03") }, "ended: <nil>"},
		{"SIGTERM", "session", func(x *terminal) { x.signal(syscall.SIGTERM) }, "ended: context canceled"},
		{"SIGHUP", "session", func(x *terminal) { x.signal(syscall.SIGHUP) }, "ended: context canceled"},
		{"panic in update", "panic-update", func(*terminal) {}, "ended: terminal UI: panic: boom"},
		{"panic in a command", "panic-command", func(x *terminal) { x.await("paused before"); x.send("n") }, "ended: terminal UI: panic: boom"},
		{"panic in the source", "panic-source", func(x *terminal) { x.await("the source panicked"); x.send("q") }, "ended: <nil>"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			x := startChild(t, c.mode)
			if c.mode == "session" {
				x.await("cart-7d4f-x2z")
			}
			c.do(x)
			x.restored(c.ended)
		})
	}
}

// A terminal that gets its size later, as with kubectl exec, shows the UI, also if the signal of that was lost.
func TestSizeComesLater(t *testing.T) {
	x := startSized(t, &pty.Winsize{}, false, "session")
	x.await("\x1b[?1049h")
	if err := pty.Setsize(x.master, &pty.Winsize{Rows: 24, Cols: 80}); err != nil {
		t.Fatal(err)
	}
	x.await("cart-7d4f-x2z")
	x.send("q")
	x.restored("ended: <nil>")
}

func (x *terminal) signal(s os.Signal) {
	x.t.Helper()
	if err := x.cmd.Process.Signal(s); err != nil {
		x.t.Fatal(err)
	}
}

func TestLostTerminalEndsTheUI(t *testing.T) {
	x := startChild(t, "session")
	x.await("cart-7d4f-x2z")
	_ = x.tty.Close() // so that the child holds the last one
	x.send("2")       // its answer wakes our reader, which holds the other end open
	if err := x.master.Close(); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- x.cmd.Wait() }()
	select {
	case <-done:
	case <-time.After(patience):
		t.Error("the UI goes on without a terminal")
	}
}

// rich is a sequence for more than 16 colors.
var rich = regexp.MustCompile(`\x1b\[[0-9;:]*[34]8[;:][0-9;:]*m`)

func TestColoursAndPlainCharacters(t *testing.T) {
	for _, c := range []struct {
		env         string
		ascii, rich bool
	}{
		{"TERM=xterm-256color", false, true},
		{"TERM=xterm", false, false},
		{"TERM=linux", true, false},
		{"TERM=vt220", true, false},
		{"LANG=C", true, true},
		{"COLORTERM=truecolor", false, true},
	} {
		t.Run(c.env, func(t *testing.T) {
			t.Parallel()
			x := startChild(t, "session", c.env)
			x.await("cart-7d4f-x2z")
			for _, key := range "23456789vtp1" {
				x.send(string(key))
			}
			x.send("/x\r?")
			x.await("help:")
			x.send("q")
			out := x.await("ended: <nil>")
			if got := rich.FindString(out); (got != "") != c.rich {
				t.Errorf("colour %q, want any beyond the 16 of all terminals: %v", got, c.rich)
			}
			if strings.Contains(out, "8;2;") {
				t.Error("a true color, which takes twice the bytes of an index")
			}
			other := strings.ContainsFunc(out, func(r rune) bool { return r > 0x7e })
			if other == c.ascii {
				t.Errorf("characters beyond ASCII: %v", other)
			}
			if strings.Contains(out, "\x1b]52;") {
				t.Error("something was copied that nobody asked for")
			}
		})
	}
}

// TestResizeStormOnARealTerminal changes the size as a person who drags the corner of
// a window does, and beyond.
func TestResizeStormOnARealTerminal(t *testing.T) {
	x := startChild(t, "session")
	x.await("cart-7d4f-x2z")
	x.send("3jjj")
	for i := range 300 {
		size := pty.Winsize{Rows: uint16(1 + i*7%60), Cols: uint16(1 + i*13%220)}
		if err := pty.Setsize(x.master, &size); err != nil {
			t.Fatal(err)
		}
	}
	from := x.written()
	if err := pty.Setsize(x.master, &pty.Winsize{Rows: 24, Cols: 80}); err != nil {
		t.Fatal(err)
	}
	x.awaitFrom(from, "shop/web-01")
	x.send("q")
	x.restored("ended: <nil>")
}

// color is a select-graphic-rendition sequence that sets a color.
var colour = regexp.MustCompile(`\x1b\[(?:[0-9;]*;)?(?:3[0-8]|4[0-8]|9[0-7]|10[0-7])(?:;[0-9;]*)?m`)

func TestNoColor(t *testing.T) {
	for _, c := range []struct {
		env  []string
		want bool
	}{
		{nil, true}, {[]string{"NO_COLOR="}, true}, {[]string{"NO_COLOR=1"}, false}, {[]string{"NO_COLOR=yes"}, false},
	} {
		t.Run(strings.Join(c.env, " "), func(t *testing.T) {
			t.Parallel()
			x := startChild(t, "session", c.env...)
			x.await("cart-7d4f-x2z")
			x.send("3")
			x.await("RESTARTS")
			x.send("q")
			out := x.await("ended: <nil>")
			if got := colour.FindString(out); (got != "") != c.want {
				t.Errorf("colour %q in the output, want any: %v", got, c.want)
			}
			ground := "48;5;238"
			if !c.want {
				ground = "7m"
			}
			if !strings.Contains(out, ground) {
				t.Error("the row under the cursor is not set off")
			}
		})
	}
}

// TestBackground: the theme follows what the terminal answers.
func TestBackground(t *testing.T) {
	x := startChild(t, "session")
	x.await("\x1b]11;?")
	x.await("38;5;75m") // the hue of a sandbox on a dark ground
	x.send("\x1b]11;rgb:ffff/ffff/ffff\x1b\\")
	x.await("38;5;26m") // on a light one
	x.send("q")
	x.restored("ended: <nil>")
}

func TestKeysThroughARealTerminal(t *testing.T) {
	x := startChild(t, "session")
	x.await("cart-7d4f-x2z")
	x.send("9")
	x.await("Back-off restarting")
	x.send(" ")
	x.await("FROZEN")
	x.send("/clock\r")
	x.await("clock jumped by=1.2s")
	x.send("?")
	x.await("help: Log")
	from := x.written()
	x.send("\x1b")
	x.awaitFrom(from, "clock jumped")
	x.send("\x1b[B\x1b[6~\x1b[F") // down, page down, end
	x.send("y")
	x.await("\x1b]52;c;") // the clipboard
	x.await("copied the row")
	from = x.written()
	x.send("M")
	x.awaitFrom(from, "\x1b[?1002l")
	x.send("M")
	x.awaitFrom(from, "\x1b[?1002h")
	from = x.written()
	x.send("\x1b[<0;24;2M\x1b[<0;24;2m") // a click on the third tab
	x.awaitFrom(from, "RESTARTS")
	x.send("9")
	x.awaitFrom(from, "clock jumped")
	from = x.written()
	x.send("T")
	x.awaitFrom(from, "s ago")
	x.send("/\x15ns=shop err\r")
	x.await("nothing matches the filter")
	if err := pty.Setsize(x.master, &pty.Winsize{Rows: 10, Cols: 50}); err != nil {
		t.Fatal(err)
	}
	x.await("This terminal is 50x10")
	x.send("q")
	x.restored("ended: <nil>")
}
