package causes_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"

	"github.com/kubeloupe/kubeloupe/agent/cgroup"
	"github.com/kubeloupe/kubeloupe/agent/podspec"
	"github.com/kubeloupe/kubeloupe/trace"
)

// slowFile makes writing to a file take long: it puts a pipe there, which has no reader until the latest operation on cgroups has gone on
// for that long, and one from then on until all have ended. So each that writes there takes as long, however busy the machine is.
func slowFile(t *testing.T, bus *trace.Bus, path string, late time.Duration) {
	t.Helper()
	if err := unix.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cursor := bus.Subscribe(trace.FromNow)
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer cursor.Close()
		open, latest := map[trace.SpanID]bool{}, time.Time{}
		note := func(recs []trace.Record) {
			for i := range recs {
				switch r := &recs[i]; {
				case r.Event.Kind() != (*trace.CgroupOp)(nil).Kind():
				case r.Edge == trace.EdgeBegin:
					open[r.Span], latest = true, r.At()
				default:
					delete(open, r.Span)
				}
			}
		}
		reader := -1
		for {
			recs, _, err := cursor.Next(ctx, nil)
			if err != nil {
				return // a reader that is there stays
			}
			note(recs)
			for reader < 0 && len(open) > 0 {
				until := latest.Add(late)
				time.Sleep(time.Until(until)) // the condition is that it takes time
				recs, _ = cursor.Poll(make([]trace.Record, 0, 64))
				if note(recs); len(open) > 0 && !latest.Add(late).After(until) {
					reader = pipeReader(path)
				}
			}
			if reader >= 0 && len(open) == 0 {
				unread(reader)
				reader = -1
			}
		}
	}()
	t.Cleanup(func() {
		cancel()
		<-done
		pipeReader(path) // for who came to write after the last one; it stays
	})
}

// pipeReader opens a pipe, so that others can open it for writing, and write a little.
func pipeReader(path string) int {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1
	}
	return fd
}

// unread closes a reader of a pipe once nobody has it open for writing, or after a minute.
func unread(fd int) {
	for late := time.Now().Add(time.Minute); time.Now().Before(late); time.Sleep(time.Millisecond) {
		if n, err := unix.Read(fd, make([]byte, 4096)); n <= 0 && !errors.Is(err, unix.EAGAIN) {
			break
		}
	}
	_ = unix.Close(fd)
}

// grouping is a node of which only the cgroups are real: a tree of files as the kernel has it, in which the pod's weight takes as long to
// write as is said. Then the rest of the pod's start is told manually.
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
		for _, file := range []string{"cgroup.controllers", "cgroup.subtree_control", "cgroup.procs", "cpu.max", "memory.max", "memory.high", "memory.low", "memory.min", "pids.max"} {
			write(t, filepath.Join(dir, file), 0o600, "cpu memory pids\n")
		}
		if weight := filepath.Join(dir, "cpu.weight"); dir == top && late > 0 {
			slowFile(t, n.bus, weight, late)
		} else {
			write(t, weight, 0o600, "100\n")
		}
	}
	m, err := cgroup.New(cgroup.Config{Mount: mount, Bus: n.bus})
	if err != nil {
		t.Fatal(err)
	}
	root := trace.ForPod(trace.Span{}, podspec.Ref(p))
	trace.Point(n.bus, root, trace.Milestone{Name: trace.MilestoneSeen, Source: trace.SourceFile})
	sync := trace.Begin(n.bus, root, trace.Sync{Why: trace.SyncCreate, N: 1})
	step := trace.Begin(n.bus, sync, trace.Action{ID: "cgroup", Verb: trace.VerbCgroup})
	if err := m.EnsurePod(trace.ContextWith(context.Background(), step), p); err != nil {
		t.Fatal(err)
	}
	trace.End(n.bus, step, trace.Action{ID: "cgroup", Verb: trace.VerbCgroup})
	begun := trace.Begin(n.bus, sync, trace.Action{ID: "start app", Verb: trace.VerbStart, Container: "app"})
	time.Sleep(20 * time.Millisecond) // so that what is quick is a small part
	trace.End(n.bus, begun, trace.Action{ID: "start app", Verb: trace.VerbStart, Container: "app"})
	trace.Point(n.bus, sync, trace.Milestone{Name: trace.MilestoneStarted})
	trace.Point(n.bus, sync, trace.Milestone{Name: trace.MilestoneReady})
	trace.End(n.bus, sync, trace.Sync{Why: trace.SyncCreate, N: 1})
	n.reached("web", "ready")
	return n
}

func TestCgroupTakesItsTime(t *testing.T) {
	t.Parallel()
	const late = 300 * time.Millisecond
	n := grouping(t, late)
	if f := n.speaks("web", "KL13", "most of it the ensure of /kubepods/besteffort/poduid-of-web"); f.Cost < late {
		t.Errorf("%+v", f)
	}
	n.silent("web", "KL10", "KL16")
}

func TestCgroupIsQuick(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { // nothing takes time here but what sleeps, and so it is on any machine
		grouping(t, 0).silent("web", "KL13")
	})
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
