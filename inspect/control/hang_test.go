package control_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/kubeloupe/kubeloupe/inspect/control"
	"github.com/kubeloupe/kubeloupe/trace"
)

// told waits for a log record with a text.
func (a *agent) told(text string) {
	a.t.Helper()
	ctx := soon(a.t)
	cursor := a.bus.Subscribe(trace.FromOldest)
	defer cursor.Close()
	for {
		recs, _, err := cursor.Next(ctx, nil)
		if err != nil {
			a.t.Fatalf("nobody tells %q: %v", text, err)
		}
		for _, r := range recs {
			if e, ok := r.Event.(*trace.Log); ok && strings.Contains(e.Message, text) {
				return
			}
		}
	}
}

// begin runs a server that may not be able to listen yet.
func begin(t *testing.T, cfg control.Config) *agent {
	t.Helper()
	a := &agent{t: t, path: cfg.Path, bus: trace.NewBus(1024), done: make(chan error, 1)}
	cfg.Bus = a.bus
	ctx, cancel := context.WithCancel(t.Context())
	a.cancel = cancel
	go func() { a.done <- control.New(cfg).Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := await(t, a.done, "the server's end"); err != nil {
			t.Error(err)
		}
	})
	return a
}

// reachable waits until the server serves.
func (a *agent) reachable() {
	a.t.Helper()
	for range 3000 {
		if _, err := control.Dial(a.t.Context(), a.path); err == nil {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	a.t.Fatal("the socket is not served within a minute")
}

// TestLockedDirectory: everyone who can read the directory can lock it, as another user does here, and this blocks
// nobody.
func TestLockedDirectory(t *testing.T) {
	dir := t.TempDir()
	f := must[*os.File](t)(os.Open(dir))
	defer f.Close()
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	a := begin(t, control.Config{Path: filepath.Join(dir, "c.sock")})
	a.reachable()
	if info, err := os.Stat(a.path + ".lock"); err != nil || info.Mode() != 0o600 {
		t.Errorf("the lock's file: %v, %v", info, err)
	}
}

// TestInTheWay: while it cannot listen, the server reports this once and retries; when it can, it serves.
func TestInTheWay(t *testing.T) {
	for name, block := range map[string]func(t *testing.T, path string) (free func()){
		"the lock is held": func(t *testing.T, path string) func() {
			f := must[*os.File](t)(os.OpenFile(path+".lock", os.O_CREATE|os.O_RDWR, 0o600))
			if err := unix.Flock(int(f.Fd()), unix.LOCK_EX); err != nil {
				t.Fatal(err)
			}
			return func() { f.Close() }
		},
		"the lock is a link": func(t *testing.T, path string) func() {
			if err := os.Symlink("/etc/hostname", path+".lock"); err != nil {
				t.Fatal(err)
			}
			return func() { os.Remove(path + ".lock") }
		},
		"the lock is a FIFO": func(t *testing.T, path string) func() {
			if err := unix.Mkfifo(path+".lock", 0o600); err != nil {
				t.Fatal(err)
			}
			return func() { os.Remove(path + ".lock") }
		},
		"the lock is another user's": func(t *testing.T, path string) func() {
			if os.Geteuid() != 0 {
				t.Skip("needs root, to give a file away")
			}
			if err := errors.Join(os.WriteFile(path+".lock", nil, 0o600), os.Chown(path+".lock", 65534, 65534)); err != nil {
				t.Fatal(err)
			}
			return func() { os.Remove(path + ".lock") }
		},
		"a file is there": func(t *testing.T, path string) func() {
			if err := os.WriteFile(path, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			return func() { os.Remove(path) }
		},
		"somebody listens": func(t *testing.T, path string) func() {
			l := must[net.Listener](t)(net.Listen("unix", path))
			return func() { l.Close() }
		},
		"the directory is everybody's": func(t *testing.T, path string) func() {
			if err := os.Chmod(filepath.Dir(path), 0o777); err != nil {
				t.Fatal(err)
			}
			return func() { os.Chmod(filepath.Dir(path), 0o755) }
		},
		"the directory is another user's": func(t *testing.T, path string) func() {
			if os.Geteuid() != 0 {
				t.Skip("needs root, to give a directory away")
			}
			if err := os.Chown(filepath.Dir(path), 65534, 65534); err != nil {
				t.Fatal(err)
			}
			return func() { os.Chown(filepath.Dir(path), 0, 0) }
		},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "c.sock")
			free := block(t, path)
			a := begin(t, control.Config{Path: path})
			a.told("not available yet, retrying")
			free()
			a.reachable()
			a.told("listening on the control socket")
		})
	}
}

// TestPathThatCannotBe: an invalid path ends the server, because a retry does not help.
func TestPathThatCannotBe(t *testing.T) {
	s := control.New(control.Config{Path: filepath.Join(t.TempDir(), strings.Repeat("d", 100), "c.sock")})
	if err := s.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "use a shorter path") {
		t.Errorf("%v", err)
	}
}

// TestSticky: in a directory such as /tmp nobody can replace another user's socket.
func TestSticky(t *testing.T) {
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o777|os.ModeSticky); err != nil {
		t.Fatal(err)
	}
	begin(t, control.Config{Path: filepath.Join(dir, "c.sock")}).reachable()
}

// TestTakenAway: a socket that is removed or replaced is created again, and connected clients stay connected.
func TestTakenAway(t *testing.T) {
	a := start(t, nil)
	s := must[*control.Stepper](t)(a.dial().Step(t.Context(), control.StepRequest{Pod: "shop/web"}))
	defer s.Close()
	for _, take := range []func() error{
		func() error { return os.Remove(a.path) },
		func() error { return os.Rename(a.path, a.path+".old") },
		func() error {
			other := filepath.Join(filepath.Dir(a.path), "other")
			return errors.Join(os.WriteFile(other, nil, 0o600), os.Rename(other, a.path), os.Remove(a.path))
		},
	} {
		if err := take(); err != nil {
			t.Fatal(err)
		}
		(&agent{t: t, path: a.path}).reachable()
		if got, err := s.Do(t.Context(), "p"); got != "did p" || err != nil {
			t.Errorf("who was connected: %q, %v", got, err)
		}
	}
	a.told("was removed or replaced")
}

// stepAndWait is the test's program as a client that steps a pod until it is stopped.
func stepAndWait(path string) {
	c, err := control.Dial(context.Background(), path)
	if err != nil {
		fmt.Println(err)
		return
	}
	s, err := c.Step(context.Background(), control.StepRequest{Pod: "shop/web"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("attached")
	<-s.Done()
	fmt.Println(s.Err())
}

// busy is a silence that a running client never reaches, even if other programs use the CPUs for a second or two.
const busy = 4 * time.Second

// TestStoppedClient: a stopped client (Ctrl-Z) does not hold its pod: the gate opens, a record has the reason, and the
// client reports it when it continues. As long as it ran, it held the pod.
func TestStoppedClient(t *testing.T) {
	t.Parallel()
	a := start(t, func(c *control.Config) { c.Silence = busy })
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute) // limits how long it is silent
	defer cancel()
	cmd := exec.CommandContext(ctx, "/proc/self/exe")
	cmd.Env = []string{"CONTROL_TEST_STEP=" + a.path}
	out := must[io.ReadCloser](t)(cmd.StdoutPipe())
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	if !lines.Scan() || lines.Text() != "attached" {
		t.Fatalf("%q", lines.Text())
	}
	session := a.steps.session()
	select {
	case <-session.closed:
		t.Fatal("a client that is there lost its session")
	case <-time.After(busy + time.Second):
	}
	if err := cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	defer cmd.Process.Kill()
	select {
	case <-session.closed:
	case <-time.After(time.Minute):
		t.Fatal("a client that was stopped holds its pod")
	}
	a.told("pod shop/web continues: the client that steps it has not responded for too long")
	if err := cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	if !lines.Scan() || !strings.Contains(lines.Text(), "the pod continues: the client") {
		t.Errorf("the client says %q", lines.Text())
	}
	cmd.Wait()
}

// TestHungStepper: neither a client that sends bytes without a line end, nor one that reads nothing, holds its pod.
func TestHungStepper(t *testing.T) {
	for name, hang := range map[string]func(*agent, net.Conn){
		"a byte at a time": func(_ *agent, c net.Conn) {
			for {
				if _, err := io.WriteString(c, " "); err != nil {
					return
				}
				time.Sleep(10 * time.Millisecond)
			}
		},
		"many commands, nothing read": func(_ *agent, c net.Conn) {
			for i := 1; ; i++ {
				if _, err := fmt.Fprintf(c, `{"id":%d,"line":"%s"}`+"\n", i, strings.Repeat("x", 10000)); err != nil {
					return
				}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			a := start(t, func(c *control.Config) { c.Silence = 300 * time.Millisecond })
			conn, _ := a.raw()
			io.WriteString(conn, `{"step":{"pod":"shop/web"}}`+"\n")
			for ctx := soon(t); a.steps.session() == nil; time.Sleep(time.Millisecond) {
				if ctx.Err() != nil {
					t.Fatal("no session within a minute")
				}
			}
			go hang(a, conn)
			select {
			case <-a.steps.session().closed:
			case <-time.After(time.Minute):
				t.Fatal("it holds its pod")
			}
		})
	}
}

// TestSilentGiveWay: hung clients do not block a new one; active ones stay. Not in parallel: a test that starts a
// program meanwhile would keep a closed client's end open until the program runs.
func TestSilentGiveWay(t *testing.T) {
	a := start(t, func(c *control.Config) { c.MaxConns, c.Silence = 4, busy })
	c := a.dial()
	follows := must[*control.Stream](t)(c.Events(t.Context(), control.EventsOptions{Follow: true}))
	defer follows.Close()
	steps := must[*control.Stepper](t)(c.Step(t.Context(), control.StepRequest{Pod: "shop/web"}))
	defer steps.Close()
	for range 2 {
		conn, _ := a.raw() // it sends no request and reads nothing
		io.WriteString(conn, `{"events":{"follow":true}}`+"\n")
	}
	subscribed(t, a, 3)
	if _, err := control.Dial(t.Context(), a.path); err == nil || !strings.Contains(err.Error(), "too many clients") {
		t.Errorf("while all have been heard of just now: %v", err)
	}
	for range 3 {
		(&agent{t: t, path: a.path}).reachable()
	}
	if got, err := steps.Do(t.Context(), "p"); got != "did p" || err != nil {
		t.Errorf("who steps: %q, %v", got, err)
	}
	a.say("still there")
	ctx := soon(t)
	for came := false; !came; {
		recs, _, err := follows.Next(ctx, nil)
		if err != nil {
			t.Fatalf("who follows: %v", err)
		}
		came = slices.ContainsFunc(recs, func(r trace.Record) bool { return message(r) == "still there" })
	}
}

// TestGoneGiveWay: a client that has closed its end takes no slot, even before its goroutine notices; one that only
// closed its writing side is still connected.
func TestGoneGiveWay(t *testing.T) {
	a := start(t, func(c *control.Config) { c.MaxConns = 2 })
	stays, read := a.raw()
	io.WriteString(stays, `{"query":{"what":"slow"}}`+"\n")
	if err := stays.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	for range 100 {
		conn, _ := a.raw()
		io.WriteString(conn, `{"query":{"what":"slow"}}`+"\n")
		conn.Close()
	}
	stays.SetReadDeadline(time.Now().Add(10 * time.Millisecond))
	if _, err := read.ReadByte(); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("one that waits for its answer: %v", err)
	}
}

// TestHostileServer: whatever listens at the socket, a client limits the length of the line that it reads.
func TestHostileServer(t *testing.T) {
	hello := string(must[[]byte](t)(json.Marshal(control.Hello{Control: control.Version}))) + "\n"
	for name, c := range map[string]struct {
		says string
		most int
	}{
		"its first line": {"", 4 << 20}, "its answer": {hello, 20 << 20},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "s")
			l := must[net.Listener](t)(net.Listen("unix", path))
			defer l.Close()
			sent := make(chan int, 2)
			go func() {
				for {
					conn, err := l.Accept()
					if err != nil {
						return
					}
					io.WriteString(conn, c.says)
					n, block := 0, []byte(strings.Repeat("x", 1<<20))
					for n < 64<<20 {
						if _, err := conn.Write(block); err != nil {
							break
						}
						n += len(block)
					}
					conn.Close()
					sent <- n
				}
			}()
			client, err := control.Dial(t.Context(), path)
			if c.says != "" && err == nil {
				await(t, sent, "the end of the first connection") // to check whether there is a listener
				_, err = client.Query(t.Context(), "node", nil)
			}
			if err == nil || !strings.Contains(err.Error(), "line is too long") {
				t.Errorf("%v", err)
			}
			if n := await(t, sent, "the end of the connection"); n > c.most {
				t.Errorf("%d bytes were taken", n)
			}
		})
	}
}
