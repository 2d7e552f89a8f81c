package eviction

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/tracetest"
)

// helper is the environment variable with the cgroup.procs that the helper process of this test joins.
const helper = "KUBELOUPE_EVICTION_HELPER"

// limit is how long tests wait for the kernel.
const limit = 20 * time.Second

// TestMain runs the helper process: it uses as many more MiB as each line of its input says, and answers when it does.
func TestMain(m *testing.M) {
	procs := os.Getenv(helper)
	if procs == "" {
		os.Exit(m.Run())
	}
	if err := os.WriteFile(procs, []byte("0"), 0); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	var all [][]byte
	fmt.Println("ready")
	for {
		var mib int
		if _, err := fmt.Scanln(&mib); err != nil {
			runtime.KeepAlive(all)
			os.Exit(0)
		}
		more := make([]byte, mib<<20)
		for i := 0; i < len(more); i += 4096 {
			more[i] = 1
		}
		all = append(all, more)
		fmt.Println("ready")
	}
}

// pair makes a cgroup and one in it, of the memory controller of cgroup v1.
func pair(t *testing.T) (outer, inner string) {
	t.Helper()
	const root = "/sys/fs/cgroup/memory"
	if _, err := os.Stat(filepath.Join(root, "cgroup.event_control")); err != nil {
		t.Skip("this machine has no cgroup v1:", err)
	}
	outer, err := os.MkdirTemp(root, "kubeloupe-test-")
	if err != nil {
		t.Skip("cannot create cgroups:", err)
	}
	inner = filepath.Join(outer, "inner")
	if err := os.Mkdir(inner, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, dir := range []string{inner, outer} {
			for end := time.Now().Add(limit); ; time.Sleep(10 * time.Millisecond) { // its processes are dying
				if err := os.Remove(dir); err == nil {
					break
				} else if time.Now().After(end) {
					t.Error(err)
					break
				}
			}
		}
	})
	return outer, inner
}

// grower is the helper process.
type grower struct {
	t   *testing.T
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

func grow(t *testing.T, cgroup string) *grower {
	t.Helper()
	g := &grower{t: t, cmd: exec.Command("/proc/self/exe")}
	g.cmd.Env = append(os.Environ(), helper+"="+filepath.Join(cgroup, "cgroup.procs"))
	in, err := g.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := g.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	g.in, g.out = in, bufio.NewReader(out)
	if err := g.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.end)
	g.ready()
	return g
}

func (g *grower) ready() {
	g.t.Helper()
	if line, err := g.out.ReadString('\n'); line != "ready\n" {
		g.t.Fatalf("the helper: %q, %v", line, err)
	}
}

func (g *grower) by(mib int) {
	g.t.Helper()
	if _, err := fmt.Fprintln(g.in, mib); err != nil {
		g.t.Fatal(err)
	}
	g.ready()
}

func (g *grower) end() {
	_ = g.in.Close()
	_ = g.cmd.Wait()
}

func crossed(t *testing.T, c *Crossings) {
	t.Helper()
	select {
	case <-c.C():
	case <-time.After(limit):
		t.Fatal("the kernel reports nothing")
	}
}

// The kernel reports when the memory of a cgroup in the watched one grows past a mark, and when it is free again.
func TestCrossings(t *testing.T) {
	outer, inner := pair(t)
	g := grow(t, inner)
	c := NewCrossings(nil, map[trace.Signal]string{trace.SignalAllocatable: outer})
	marks := []Mark{{trace.SignalAllocatable, 64 << 20}, {trace.SignalMemory, 1}, {trace.SignalAllocatable, -1 << 40}}
	if err := c.register(marks); err != nil || len(c.held) != 1 {
		t.Fatal(err, c.held)
	}
	first := c.held[0]
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- c.Run(ctx) }()
	g.by(16)
	select {
	case <-c.C():
		t.Error("reported below the mark")
	default:
	}
	g.by(96)
	crossed(t, c)
	g.end()
	crossed(t, c)
	cancel()
	select {
	case err := <-done: // and all readers have ended
		if err != nil {
			t.Error(err)
		}
	case <-time.After(limit):
		t.Fatal("Run does not end")
	}
	if _, err := first.event.Read(make([]byte, 8)); err == nil {
		t.Error("the registration is not closed")
	}
}

// A mark that has hardly moved stays registered, another one replaces it.
func TestCrossingsMove(t *testing.T) {
	outer, inner := pair(t)
	g := grow(t, inner)
	c := NewCrossings(nil, map[trace.Signal]string{trace.SignalMemory: outer})
	defer func() { release(c.held); c.readers.Wait() }()
	register := func(headroom int64) registration {
		t.Helper()
		if err := c.register([]Mark{{trace.SignalMemory, headroom}}); err != nil || len(c.held) != 1 {
			t.Fatal(err, c.held)
		}
		return c.held[0]
	}
	first := register(256 << 20)
	if again := register(256 << 20); again.event != first.event {
		t.Error("registered again for the same")
	}
	moved := register(32 << 20)
	if moved.event == first.event {
		t.Error("not registered again")
	}
	if _, err := first.event.Read(make([]byte, 8)); err == nil {
		t.Error("the first registration is not closed")
	}
	g.by(64)
	crossed(t, c)
}

// Only the last marks count that Run has not come to, and Set does not wait for Run.
func TestCrossingsSet(t *testing.T) {
	c := NewCrossings(nil, nil)
	for n := range int64(3) {
		c.Set([]Mark{{trace.SignalMemory, n}})
	}
	if got := <-c.want; len(got) != 1 || got[0].Headroom != 2 {
		t.Errorf("%+v", got)
	}
}

// A cgroup that is not there is told once, and again after it was there.
func TestCrossingsTell(t *testing.T) {
	rec := tracetest.New(t)
	dir := t.TempDir()
	c := NewCrossings(rec.Bus(), map[trace.Signal]string{trace.SignalMemory: dir})
	try := func() { c.tell(c.register([]Mark{{trace.SignalMemory, -10}})) }
	try()
	try()
	if err := os.WriteFile(filepath.Join(dir, usageFile), []byte("5\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	try() // the mark is below nothing: there is none to register
	if err := os.WriteFile(filepath.Join(dir, usageFile), []byte("many"), 0o600); err != nil {
		t.Fatal(err)
	}
	try()
	var text []string
	for _, e := range tracetest.Events[trace.Log](rec) {
		text = append(text, e.Message)
	}
	if len(text) != 2 || !strings.Contains(text[0], "every 3s: open "+dir) || !strings.Contains(text[1], `parsing "many"`) {
		t.Errorf("%q", text)
	}
}
