package guard

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// role is what this binary does as a child of a test.
const role = "GUARD_TEST_ROLE"

func TestMain(m *testing.M) {
	dir := os.Getenv("GUARD_TEST_DIR")
	switch os.Getenv(role) {
	case "relay":
		w := Warded()
		if err := os.WriteFile(filepath.Join(dir, "relay"), fmt.Append(nil, os.Getpid()), 0o600); err != nil {
			panic(err)
		}
		go w.Beat(context.Background())
		<-w.Orphaned()
		if err := Turn(filepath.Join(dir, "link"), "runtime"); err != nil {
			panic(err)
		}
		os.Exit(0)
	case "guard":
		g := guardIn(dir)
		g.Tell = func(string) {}
		if err := g.Run(context.Background()); err != nil {
			panic(err)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func guardIn(dir string) *Guard {
	return &Guard{
		Link: filepath.Join(dir, "link"), Proxy: "proxy", Runtime: "runtime", Drain: time.Second, againFirst: 10 * time.Millisecond,
		Command: func() *exec.Cmd {
			c := exec.Command(os.Args[0])
			c.Env = append(os.Environ(), role+"=relay", "GUARD_TEST_DIR="+dir)
			return c
		},
	}
}

// await waits until the link leads somewhere.
func await(t *testing.T, dir, want string) {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		to, err := Leads(filepath.Join(dir, "link"))
		if to == want {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("the link leads to %q (%v), want %q", to, err, want)
		}
	}
}

func relayIn(t *testing.T, dir string) *os.Process {
	t.Helper()
	p, err := os.ReadFile(filepath.Join(dir, "relay"))
	if err != nil {
		t.Fatal(err)
	}
	var pid int
	if _, err := fmt.Sscan(string(p), &pid); err != nil {
		t.Fatal(err)
	}
	relay, err := os.FindProcess(pid)
	if err != nil {
		t.Fatal(err)
	}
	return relay
}

// A relay that is killed, or stopped, or ended with its guard, leaves the link at the runtime.
func TestRelayEnds(t *testing.T) {
	dir := t.TempDir()
	g := guardIn(dir)
	g.silence = 10 * time.Second
	told := make(chan string, 100)
	g.Tell = func(what string) { told <- what }
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- g.Run(ctx) }()
	for range 3 {
		await(t, dir, "proxy")
		if err := relayIn(t, dir).Kill(); err != nil {
			t.Fatal(err)
		}
		for said := ""; !strings.Contains(said, "killed"); {
			said = <-told
		}
	}
	await(t, dir, "proxy")
	cancel()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	await(t, dir, "runtime")
}

// One that hangs is killed.
func TestRelayHangs(t *testing.T) {
	dir := t.TempDir()
	g := guardIn(dir)
	g.silence = 5 * time.Second
	told := make(chan string, 100)
	g.Tell = func(what string) { told <- what }
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- g.Run(ctx) }()
	await(t, dir, "proxy")
	if err := relayIn(t, dir).Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	for said := ""; !strings.Contains(said, "not heard of"); {
		said = <-told
	}
	await(t, dir, "proxy") // by the next one
	cancel()
	<-ended
}

// When the guard is killed, the relay turns the link.
func TestGuardKilled(t *testing.T) {
	dir := t.TempDir()
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), role+"=guard", "GUARD_TEST_DIR="+dir)
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	await(t, dir, "proxy")
	if err := c.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = c.Wait()
	await(t, dir, "runtime")
}

// Whoever follows the link while it is turned gets somewhere; what is no link is not replaced.
func TestTurn(t *testing.T) {
	dir := t.TempDir()
	link := filepath.Join(dir, "run", "crio", "crio.sock")
	if err := Turn(link, "a"); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(filepath.Dir(link)); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := range 1000 {
			if err := Turn(link, string(rune('a'+i%2))); err != nil {
				t.Error(err)
			}
		}
	}()
	for {
		if _, err := Leads(link); err != nil {
			t.Fatal(err)
		}
		select {
		case <-done:
			names, err := os.ReadDir(filepath.Dir(link))
			if err != nil || len(names) != 1 {
				t.Errorf("left: %v, %v", names, err)
			}
			plain := filepath.Join(dir, "plain")
			if err := os.WriteFile(plain, []byte("x"), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := Turn(plain, "a"); err == nil || !strings.Contains(err.Error(), "is not a symbolic link") {
				t.Errorf("a file: %v", err)
			}
			if info, err := os.Lstat(plain); err != nil || info.Mode().Type() != fs.FileMode(0) {
				t.Errorf("the file was replaced: %v", err)
			}
			return
		default:
		}
	}
}
