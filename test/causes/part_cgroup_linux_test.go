package causes_test

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/kubeloupe/kubeloupe/agent/cgroup"
	podid "github.com/kubeloupe/kubeloupe/agent/pod"
	"github.com/kubeloupe/kubeloupe/trace"
)

// slowFile makes writing to a file take a while, until the test ends or fast is called: it puts a pipe there, whose reader comes late each
// time.
func slowFile(t *testing.T, path string, late time.Duration) {
	t.Helper()
	if err := unix.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-stop:
				return
			case <-time.After(late): // the condition is that it takes time
			}
			f, err := os.Open(path) // blocks until a writer comes
			if err != nil {
				return
			}
			_, _ = io.Copy(io.Discard, f)
			_ = f.Close()
		}
	}()
	t.Cleanup(func() {
		close(stop)
		for {
			// It frees the reader that waits, and a writer that came after the last one.
			if f, err := os.OpenFile(path, os.O_RDWR|unix.O_NONBLOCK, 0); err == nil {
				_ = f.Close()
			}
			select {
			case <-done:
				return
			case <-time.After(10 * time.Millisecond):
			}
		}
	})
}

// grouping is a node of which only the cgroups are real: a tree of files as the kernel has it, in which the pod's weight takes as long to
// write as is said. Then the rest of the pod's start is told by hand.
func grouping(t *testing.T, late time.Duration) *node {
	t.Helper()
	n := newNode(t, t.TempDir())
	p, mount := podOf("web"), t.TempDir()
	top := filepath.Join(mount, "kubepods", "besteffort", "pod"+string(p.UID))
	kubepods := filepath.Join(mount, "kubepods")
	for _, dir := range []string{mount, kubepods, filepath.Join(kubepods, "burstable"), filepath.Join(kubepods, "besteffort"), top} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		for _, file := range []string{"cgroup.controllers", "cgroup.subtree_control", "cgroup.procs", "cpu.max", "memory.max", "pids.max"} {
			write(t, filepath.Join(dir, file), 0o600, "cpu memory pids\n")
		}
		if weight := filepath.Join(dir, "cpu.weight"); dir == top && late > 0 {
			slowFile(t, weight, late)
		} else {
			write(t, weight, 0o600, "100\n")
		}
	}
	m, err := cgroup.New(cgroup.Config{Mount: mount, Bus: n.bus})
	if err != nil {
		t.Fatal(err)
	}
	root := trace.ForPod(trace.Span{}, podid.Ref(p))
	trace.Point(n.bus, root, trace.Milestone{Name: "seen", Source: "file"})
	sync := trace.Begin(n.bus, root, trace.Sync{Why: "create", N: 1})
	step := trace.Begin(n.bus, sync, trace.Action{ID: "cgroup", Verb: "cgroup"})
	if err := m.EnsurePod(trace.ContextWith(context.Background(), step), p); err != nil {
		t.Fatal(err)
	}
	trace.End(n.bus, step, trace.Action{ID: "cgroup", Verb: "cgroup"})
	begun := trace.Begin(n.bus, sync, trace.Action{ID: "start app", Verb: "start", Container: "app"})
	time.Sleep(20 * time.Millisecond) // so that what is quick is a small part
	trace.End(n.bus, begun, trace.Action{ID: "start app", Verb: "start", Container: "app"})
	trace.Point(n.bus, sync, trace.Milestone{Name: "started"})
	trace.Point(n.bus, sync, trace.Milestone{Name: "ready"})
	trace.End(n.bus, sync, trace.Sync{Why: "create", N: 1})
	n.reached("web", "ready")
	return n
}

func TestCgroupTakesItsTime(t *testing.T) {
	t.Parallel()
	n := grouping(t, 300*time.Millisecond)
	if f := n.speaks("web", "KL13", "most of it the ensure of /kubepods/besteffort/poduid-of-web"); f.Cost < 250*time.Millisecond {
		t.Errorf("%+v", f)
	}
	n.silent("web", "KL10", "KL16")
}

func TestCgroupIsQuick(t *testing.T) {
	t.Parallel()
	grouping(t, 0).quickCgroups("web")
}

// quickCgroups fails if the pod's cgroups are said to be slow where they were not.
func (n *node) quickCgroups(pod string) {
	n.t.Helper()
	for _, r := range n.recs {
		if o, ok := r.Event.(*trace.CgroupOp); ok && r.Pod.Name == pod && r.Dur > 40*time.Millisecond {
			n.t.Skipf("%s of %s took %v: nothing is fast now", o.Op, o.Path, r.Dur)
		}
	}
	n.silent(pod, "KL13")
}
