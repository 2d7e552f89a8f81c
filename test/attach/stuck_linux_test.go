package attach

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/kubeloupe/kubeloupe/test/terminal"
)

// TestTerminals has the terminal of attach become slow, or take nothing more: the logs are followed, others look, the recording continues, attach
// ends when it is asked to, and the verbosity is put back.
func TestTerminals(t *testing.T) {
	b := setup(t)
	for _, c := range []struct {
		name  string
		spoil func(*terminal.Terminal)
		end   func(*terminal.Terminal)
	}{
		{"slow-q", (*terminal.Terminal).Slow, func(x *terminal.Terminal) { x.Types("q") }},
		{"stuck-q", (*terminal.Terminal).Stick, func(x *terminal.Terminal) { x.Types("q") }},
		{"stuck-sigterm", (*terminal.Terminal).Stick, func(x *terminal.Terminal) {
			x.Cmd.Process.Signal(syscall.SIGTERM) // Ends tells
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := &attached{socket: filepath.Join(t.TempDir(), "s.sock"), file: filepath.Join(t.TempDir(), "out.klr")}
			a.Cmd = exec.Command(b.Binary, append([]string{
				"attach", "--view", "log", "--pid", strconv.Itoa(b.kubelet.PID()), "--control-socket", a.socket, "--record", a.file,
			}, b.raise()...)...)
			x := terminal.Start(t, a.Cmd)
			x.Sees("RAISED V4→V5")
			c.spoil(x)
			b.create(t, c.name)
			b.seen(t, a.socket, c.name)
			if got := a.memory(t); got > most {
				t.Errorf("attach takes %d MiB", got>>20)
			}
			c.end(x)
			x.Ends()
			b.putBack(t)
			b.nothingLeft(t, a)
			if text := b.kubeloupe(t, "trace", "default/"+c.name, "--from", a.file); !strings.Contains(text, "start    web") {
				t.Errorf("the recording has no start of the pod:\n%s", text)
			}
		})
	}
}

// TestStuckPipe has nobody read what attach prints: it ends when it is asked to.
func TestStuckPipe(t *testing.T) {
	b := setup(t)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	a := &attached{socket: filepath.Join(t.TempDir(), "s.sock"), file: filepath.Join(t.TempDir(), "out.klr"), done: make(chan struct{})}
	a.Cmd = exec.Command(b.Binary, append([]string{
		"attach", "--no-tui", "-o", "json", "--pid", strconv.Itoa(b.kubelet.PID()), "--control-socket", a.socket, "--record", a.file,
	}, b.raise()...)...)
	var errs bytes.Buffer
	a.Stdout, a.Stderr = w, &errs
	if err := a.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	go func() {
		a.Wait() // how it ends is looked at
		close(a.done)
	}()
	t.Cleanup(func() {
		a.Process.Kill() // it has ended when all is well
		<-a.done
	})
	b.create(t, "unread")
	b.seen(t, a.socket, "unread")
	a.Process.Signal(syscall.SIGTERM) // done tells
	a.ends(t, 0)
	if errs.Len() > 0 && strings.Contains(errs.String(), "put back") {
		t.Error(errs.String())
	}
	b.putBack(t)
	b.nothingLeft(t, a)
}
