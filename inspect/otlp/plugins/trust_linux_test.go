package plugins

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
)

// plugging is a watched directory with a program in it.
type plugging struct {
	t       *testing.T
	program string
	runs    chan Exec
	strange chan string
	asked   int // how often told was
}

func plug(t *testing.T, runtime string) *plugging {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root, to be another user")
	}
	dir := t.TempDir()
	if err := os.Chmod(filepath.Dir(dir), 0o755); err != nil {
		t.Fatal(err)
	}
	p := &plugging{t: t, program: copyOf(t, "sleep", dir, "bridge"), runs: make(chan Exec, 1024), strange: make(chan string, 1024)}
	w, err := New(Config{Dirs: []string{dir}, Runtime: runtime, Done: func(e Exec) { p.runs <- e }, Stranger: func(why string) {
		select {
		case p.strange <- why:
		default:
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	start(t, w)
	return p
}

func (p *plugging) run(sandbox string, uid uint32, via ...string) {
	p.t.Helper()
	args := append(via, p.program, "0.5") // on a busy machine, one that ends sooner is gone before it is looked at
	cmd := exec.CommandContext(p.t.Context(), args[0], args[1:]...)
	cmd.Env = []string{"CNI_COMMAND=ADD", "CNI_CONTAINERID=" + sandbox, "CNI_ARGS=K8S_POD_NAMESPACE=shop;K8S_POD_NAME=web;K8S_POD_UID=1"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
	must(p.t, cmd.Run())
}

// told runs until the watcher said something, since it takes a moment to begin.
func (p *plugging) told(uid uint32, via ...string) (run *Exec, why string) {
	p.t.Helper()
	p.asked++
	sandbox := fmt.Sprint("abc", p.asked)
	for range 200 {
		p.run(sandbox, uid, via...)
		for late := time.After(50 * time.Millisecond); late != nil; {
			select {
			case e := <-p.runs:
				if e.Sandbox == sandbox { // not one that is told late
					return &e, ""
				}
			case why := <-p.strange:
				return nil, why
			case <-late:
				late = nil
			}
		}
	}
	p.t.Fatal("nothing is told")
	return nil, ""
}

// TestStrangers: only root's runs count, and of those the runtime's and what it began.
func TestStrangers(t *testing.T) {
	const nobody = 65534
	watched := plug(t, "")
	if e, why := watched.told(0); e == nil {
		t.Errorf("root's run does not count: %s", why)
	}
	if e, why := watched.told(nobody); e != nil || !strings.Contains(why, "uid 65534") {
		t.Errorf("another user's run: %+v, %q", e, why)
	}

	socket := filepath.Join(t.TempDir(), "cri.sock")
	l, err := net.Listen("unix", socket) // this process is the runtime
	must(t, err)
	t.Cleanup(func() { _ = l.Close() })
	ours := plug(t, socket)
	if e, why := ours.told(0); e == nil {
		t.Errorf("the runtime's run does not count: %s", why)
	}
	if e, why := ours.told(0, "/bin/sh", "-c", `"$0" "$@"; exit $?`); e == nil {
		t.Errorf("a run of what the runtime ran does not count: %s", why)
	}
	if e, why := ours.told(nobody); e != nil || !strings.Contains(why, "uid 65534") {
		t.Errorf("another user's run: %+v, %q", e, why)
	}

	other := filepath.Join(t.TempDir(), "cri.sock")
	child := exec.CommandContext(t.Context(), "/proc/self/exe")
	child.Env = []string{runtimeEnv + "=" + other}
	must(t, child.Start())
	t.Cleanup(func() { _ = child.Process.Kill(); _ = child.Wait() })
	for range 1000 {
		if _, err := os.Stat(other); err == nil {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	theirs := plug(t, other)
	if e, why := theirs.told(0); e != nil || !strings.Contains(why, "another process than the runtime") {
		t.Errorf("root's run beside the runtime: %+v, %q", e, why)
	}
	must(t, child.Process.Kill())
	_ = child.Wait()
	for range 100 { // its pid may be another's soon
		if e, why := theirs.told(0); e != nil {
			t.Errorf("without a runtime: %+v", e)
		} else if strings.Contains(why, "not known") {
			return
		}
	}
	t.Error("that the runtime has gone is not noticed")
}

// runtimeEnv makes this test's program one that listens at a socket.
const runtimeEnv = "KUBELOUPE_TEST_RUNTIME"

func TestMain(m *testing.M) {
	if socket := os.Getenv(runtimeEnv); socket != "" {
		l, err := net.Listen("unix", socket)
		if err != nil {
			os.Exit(1)
		}
		for {
			if c, err := l.Accept(); err == nil {
				_ = c.Close()
			}
		}
	}
	os.Exit(m.Run())
}

// TestTableIsNotFilled by what does not count.
func TestTableIsNotFilled(t *testing.T) {
	tab := &table{runs: map[int]*running{}}
	self := os.Getpid()
	if !tab.trust.counts(self) && os.Geteuid() == 0 {
		t.Error("root does not count")
	}
	if tab.trust.counts(1<<22 + 1) {
		t.Error("a process that is not there counts")
	}
	for i := range 10 * maxRuns {
		tab.begin(1<<23+i, "x", time.Now())
	}
	if len(tab.runs) > maxRuns {
		t.Errorf("%d runs", len(tab.runs))
	}
}

// FuzzDescribe: an environment is whatever who runs a program wants it to be.
func FuzzDescribe(f *testing.F) {
	f.Add([]byte("CNI_COMMAND=ADD\x00CNI_ARGS=K8S_POD_NAME=web;K8S_POD_UID=1\x00CNI_IFNAME=eth0\x00CNI_CONTAINERID=abc"))
	f.Add([]byte("CNI_COMMAND=" + strings.Repeat("x", 1000) + "\x00\x00=;=\x00CNI_ARGS=;;=;K8S_POD_NAME"))
	f.Fuzz(func(t *testing.T, b []byte) {
		e, ok := describe(b)
		for _, s := range []string{e.Command, e.IfName, e.Sandbox, e.Pod.Namespace, e.Pod.Name, e.Pod.UID} {
			if len(s) > 253 {
				t.Errorf("%d bytes of a value are kept", len(s))
			}
		}
		if !ok && e.Command != "" || e.Plugin != "" || e.ID != 0 || e.Parent != trace.SpanID(0) {
			t.Errorf("%+v %t", e, ok)
		}
	})
}
