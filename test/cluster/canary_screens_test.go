package cluster

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/creack/pty"

	"github.com/kubeloupe/kubeloupe/tui"
)

// screens looks at every view of the UI, and at what opens in it, on the agent and on its recording.
func (c *canaries) screens(s *space, recording string) {
	c.t.Helper()
	socket := "--socket=" + filepath.Join(c.agent.RootDir, "kubeloupe.sock")
	c.screen("the UI", 40, len(tui.ViewNames()), "ATTACHED", "tui", socket)
	c.screen("the UI in narrow columns", 24, 6, "kubeloupe", "tui", socket)
	c.screen("the replay", 40, 6, "REPLAY", "replay", recording)
}

// screen runs the program on a terminal, opens some of what it shows, and looks at all that was drawn.
func (c *canaries) screen(where string, rows uint16, views int, begun string, args ...string) {
	c.t.Helper()
	master, tty, err := pty.Open()
	if err != nil {
		c.t.Skipf("no pseudo-terminal here: %v", err)
	}
	defer func() { _ = master.Close() }()
	size := func(rows uint16) { must(c.t, pty.Setsize(tty, &pty.Winsize{Rows: rows, Cols: rows * 3})) }
	size(rows)
	cmd := exec.CommandContext(c.t.Context(), c.bench.binary, args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = tty, tty, tty
	cmd.Env = append(os.Environ(), "TERM=xterm-256color", "LANG=C.UTF-8")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	must(c.t, cmd.Start())
	var mu sync.Mutex
	var drawn bytes.Buffer
	read := make(chan struct{})
	go func() {
		defer close(read)
		buf := make([]byte, 32<<10)
		for {
			n, err := master.Read(buf)
			mu.Lock()
			drawn.Write(buf[:n])
			mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	text := func() string {
		mu.Lock()
		defer mu.Unlock()
		return ansi.Strip(drawn.String())
	}
	eventually(c.t, where, func() string {
		if out := text(); !strings.Contains(out, begun) {
			return out
		}
		return ""
	})
	for range views {
		for i, keys := range []string{"G", "\r", "\x1b", "gjj", "\r", "\x1b", "\t"} {
			_, err := master.WriteString(keys)
			must(c.t, err)
			time.Sleep(50 * time.Millisecond)
			size(rows - uint16(i%2)) // it draws all again
			time.Sleep(150 * time.Millisecond)
		}
	}
	_ = cmd.Process.Signal(syscall.SIGTERM)
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait()
		close(ended)
	}()
	select {
	case <-ended:
	case <-time.After(deadline):
		_ = cmd.Process.Kill()
		c.t.Errorf("%s does not end", where)
		<-ended
	}
	_ = tty.Close() // then there is an end to what is drawn
	<-read
	c.look(where, []byte(text()))
	if n := len(text()); n < 1000 {
		c.t.Errorf("%s shows %d bytes", where, n)
	}
}
