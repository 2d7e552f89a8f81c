package e2e

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"

	"github.com/kubeloupe/kubeloupe/trace"
)

// terminal is a command on a pseudo-terminal.
type terminal struct {
	t           *testing.T
	cmd         *exec.Cmd
	master, tty *os.File
	end         chan struct{} // closed when the command has ended
	unread      chan struct{} // closed when nobody reads any more

	mu  sync.Mutex
	out bytes.Buffer
}

// onTerminal starts a command at 120x40.
func (n *node) onTerminal(cmd *exec.Cmd) *terminal {
	n.t.Helper()
	x := &terminal{t: n.t, cmd: cmd, end: make(chan struct{}), unread: make(chan struct{})}
	var err error
	if x.master, x.tty, err = pty.Open(); err != nil {
		n.t.Skipf("no pseudo-terminal here: %v", err)
	}
	// The package leaves it blocking, where deadlines do not end a read.
	if err := syscall.SetNonblock(int(x.master.Fd()), true); err != nil {
		n.t.Fatal(err)
	}
	if err := pty.Setsize(x.tty, &pty.Winsize{Rows: 40, Cols: 120}); err != nil {
		n.t.Fatal(err)
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = x.tty, x.tty, x.tty
	cmd.Env = append(os.Environ(), "TERM=xterm-256color", "LANG=C.UTF-8")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		n.t.Fatal(err)
	}
	go func() {
		_ = cmd.Wait() // its state is looked at
		close(x.end)
	}()
	go x.follow()
	n.t.Cleanup(func() {
		_ = cmd.Process.Kill() // it has ended when all is well
		<-x.end
		_ = x.tty.Close()
		_ = x.master.Close()
		<-x.unread
	})
	return x
}

func (x *terminal) follow() {
	defer close(x.unread)
	buf := make([]byte, 4096)
	for {
		n, err := x.master.Read(buf)
		x.mu.Lock()
		x.out.Write(buf[:n])
		x.mu.Unlock()
		if err != nil {
			return
		}
	}
}

func (x *terminal) text() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.out.String()
}

// sees waits until all words are in one screen. It has the screen drawn again, by sizes that change:
// else only what is different is sent.
func (x *terminal) sees(words ...string) {
	x.t.Helper()
	for i, end := 0, time.Now().Add(deadline); time.Now().Before(end); i++ {
		from := len(x.text())
		if err := pty.Setsize(x.tty, &pty.Winsize{Rows: uint16(40 - i%2), Cols: 120}); err != nil {
			x.t.Fatal(err)
		}
		select {
		case <-x.end:
			x.t.Fatalf("it ended without %q:\n%q", words, x.text())
		case <-time.After(500 * time.Millisecond):
		}
		drawn := x.text()[from:]
		if !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(drawn, w) }) {
			return
		}
	}
	x.t.Fatalf("no %q on the screen:\n%q", words, x.text())
}

// ends waits until the command has ended well and sees that it gave the terminal back.
func (x *terminal) ends() {
	x.t.Helper()
	select {
	case <-x.end:
	case <-time.After(deadline):
		x.t.Fatal("it does not end")
	}
	if code := x.cmd.ProcessState.ExitCode(); code != 0 {
		x.t.Errorf("exit code %d:\n%q", code, x.text())
	}
}

// stick lets nobody read the terminal any more and fills its buffer, so that who writes waits for good.
func (x *terminal) stick() {
	x.t.Helper()
	if err := x.master.SetReadDeadline(time.Now()); err != nil {
		x.t.Fatal(err)
	}
	<-x.unread
	for end := time.Now().Add(deadline); !x.full(); {
		if time.Now().After(end) {
			x.t.Fatal("the terminal takes all that is written")
		}
	}
}

// full writes, by a descriptor of its own, until the terminal takes no more, and reports whether that is so.
func (x *terminal) full() bool {
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

// TestAttach looks at an agent from another terminal while it is killed and comes back.
func TestAttach(t *testing.T) {
	n := newNode(t)
	a := n.start()
	n.put("web.yaml", named("web"))
	a.ready("web")
	x := n.onTerminal(exec.Command(n.binary, "tui", "--socket", n.socket(), "--view", "workers"))
	x.sees(fmt.Sprintf("ATTACHED pid %d", a.cmd.Process.Pid), n.pod("web"))
	a.kill()
	x.sees("CUT OFF", "the agent has stopped; reconnecting")
	a = n.start()
	x.sees(fmt.Sprintf("ATTACHED pid %d", a.cmd.Process.Pid), n.pod("web"))
	n.put("other.yaml", named("other"))
	a.ready("other")
	x.sees(n.pod("other"))
	if _, err := x.master.WriteString("q"); err != nil {
		t.Fatal(err)
	}
	x.ends()
	n.await("the terminal to be given back", func() bool { return strings.Contains(x.text(), "\x1b[?1049l") })
	if a.exited() {
		t.Error("q in an attached UI ended the agent")
	}
	n.says("ready after", "events", "--socket", n.socket())
}

// stuckPods are what starts under an agent whose terminal is stuck.
const stuckPods = 100

// TestStuckTerminal has the agent's own terminal, and that of a UI that is attached, take nothing more: all pods start, others can look, and it
// ends in order. What it costs is measured by test/bench.
func TestStuckTerminal(t *testing.T) {
	n := newNode(t)
	t.Cleanup(func() { n.start() }) // and with it, what a node is looked at for when it is finished
	cmd := n.command()
	cmd.Args = slices.DeleteFunc(cmd.Args, func(a string) bool { return a == "-o" || a == "json" })
	x := n.onTerminal(cmd)
	x.sees("Overview")
	x.stick()
	n.await("the agent's socket", func() bool { _, err := os.Stat(n.socket()); return err == nil })
	y := n.onTerminal(exec.Command(n.binary, "tui", "--socket", n.socket(), "--view", "log"))
	y.sees("ATTACHED")
	y.stick()
	seen := n.listen()
	defer seen.kill()
	var pods []string
	for i := range stuckPods {
		pods = append(pods, fmt.Sprintf("s%d", i))
		n.put(pods[i]+".yaml", sleeper(pods[i], "$BUSYBOX", "IfNotPresent"))
	}
	seen.ready(pods...)
	for _, p := range pods {
		if !x.full() || !y.full() {
			t.Fatal("a terminal is not stuck: something reads it")
		}
		n.drop(p + ".yaml")
	}
	seen.gone(pods...)
	for _, ui := range []*terminal{y, x} {
		if err := ui.cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		ui.ends()
	}
}

// listen follows the running agent's records by its socket.
func (n *node) listen() *agent {
	n.t.Helper()
	a := n.begin(exec.Command(n.binary, "events", "--follow", "-o", "json", "--socket", n.socket()), nil, nil)
	a.wait("agent ready", func(r *trace.Record) bool {
		e, ok := r.Event.(*trace.Agent)
		return ok && e.State == trace.AgentReady
	})
	return a
}
