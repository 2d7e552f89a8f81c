package main

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"

	"github.com/kubeloupe/kubeloupe/test/product"
)

// screen collects what a program writes to its terminal.
type screen struct {
	mu  sync.Mutex
	buf bytes.Buffer
	new chan struct{}
}

// Write implements io.Writer.
func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case s.new <- struct{}{}:
	default:
	}
	return s.buf.Write(p)
}

func (s *screen) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.buf.String()
}

// await waits until the texts were written.
func (s *screen) await(t *testing.T, texts ...string) {
	t.Helper()
	limit := time.After(showLimit) // the lab is started first
	for {
		got, missing := s.String(), ""
		for _, text := range texts {
			if !strings.Contains(got, text) {
				missing = text
			}
		}
		if missing == "" {
			return
		}
		select {
		case <-s.new:
		case <-limit:
			t.Fatalf("no %q on screen:\n%q", missing, got)
		}
	}
}

// The demo on a terminal: the UI is in front, and whatever ends it, nothing is left.
func TestWatch(t *testing.T) {
	bin, demo := agentBinary(t), filepath.Join(t.TempDir(), "demo")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", demo, ".").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	for _, c := range []struct {
		name, runtime string
		end           func(*exec.Cmd, io.Writer) error
		code          int
	}{
		{"quit", sim, func(_ *exec.Cmd, tty io.Writer) error { _, err := tty.Write([]byte("qy")); return err }, 0},
		{"killed", sim, func(c *exec.Cmd, _ io.Writer) error { return c.Process.Signal(syscall.SIGTERM) }, 130},
		{"quit", containerd, func(_ *exec.Cmd, tty io.Writer) error { _, err := tty.Write([]byte("qy")); return err }, 0},
		{"killed", containerd, func(c *exec.Cmd, _ io.Writer) error { return c.Process.Signal(syscall.SIGTERM) }, 130},
	} {
		t.Run(c.name+" "+c.runtime, func(t *testing.T) {
			if c.runtime == containerd {
				needRoot(t)
			}
			temp := shortTemp(t)
			cmd := exec.CommandContext(t.Context(), demo, "-bin", bin, "-runtime", c.runtime, "-lab-dir", "")
			cmd.Env = append(os.Environ(), "TERM=xterm-256color", "TMPDIR="+temp)
			tty, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 24, Cols: 80})
			if err != nil {
				t.Skipf("no pseudo-terminal here: %v", err)
			}
			defer tty.Close()
			s := &screen{new: make(chan struct{}, 1)}
			read := make(chan struct{})
			go func() {
				defer close(read)
				_, _ = io.Copy(s, tty) // ends with an error when the program does
			}()
			s.await(t, "Overview", "web-demo", "notes-demo") // two pods have come, by and by
			if err := c.end(cmd, tty); err != nil {
				t.Fatal(err)
			}
			if err := cmd.Wait(); cmd.ProcessState.ExitCode() != c.code {
				t.Errorf("it ended with %v, want exit code %d", err, c.code)
			}
			<-read
			if c.runtime == containerd && !strings.Contains(s.String(), "the pods and the lab are gone") {
				t.Errorf("it does not say that all is gone:\n%q", s.String())
			}
			checkEmpty(t, temp)
		})
	}
}

// Without root there are no real containers, and all the rest.
func TestUnprivileged(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("all other tests are run by a user who is not root already")
	}
	const nobody = 65534
	dir := shortTemp(t)
	demo, bin, temp := filepath.Join(dir, "demo"), filepath.Join(dir, "kubeloupe"), filepath.Join(dir, "tmp")
	if said, err := exec.CommandContext(t.Context(), "go", "build", "-o", demo, ".").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, said)
	}
	if err := product.Build(t.Context(), bin); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(temp, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{os.Chown(temp, nobody, nobody), os.Chmod(dir, 0o755)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), demo, "-bin", bin)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "TMPDIR="+temp, "HOME="+temp)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Errorf("%v\n%s", err, &stderr)
	}
	if want := "real containers need root, and this is user 65534: this demo uses the simulated runtime\n"; !strings.HasPrefix(stderr.String(), want) {
		t.Errorf("it begins with\n%swant\n%s", &stderr, want)
	}
	checkOutput(t, stdout.String(), "nginx:latest")
	checkEmpty(t, temp)
}
