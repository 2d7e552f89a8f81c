package oom

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/tracetest"
)

// fakeLog is a kernel log: each read returns one record, or an error.
type fakeLog struct {
	reads  chan any
	closed chan struct{}
	once   sync.Once
}

func (l *fakeLog) Read(b []byte) (int, error) {
	select {
	case r := <-l.reads:
		if err, ok := r.(error); ok {
			return 0, &fs.PathError{Op: "read", Path: kernelLog, Err: err}
		}
		return copy(b, fmt.Sprint(r)), nil
	case <-l.closed:
		return 0, os.ErrClosed
	}
}

func (l *fakeLog) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

// world is a watcher with everything around it.
type world struct {
	log  *fakeLog
	rec  *tracetest.Recorder
	sent []string
	done chan error
}

func (w *world) Node(_ context.Context, eventType, reason, message string) {
	w.sent = append(w.sent, eventType+" "+reason+" "+message)
}

func (w *world) Find(id, container string) (trace.Pod, string, bool) {
	switch {
	case id != uid:
		return trace.Pod{}, "", false
	case container == cid:
		return shop, "web", true
	}
	return shop, "", true
}

var shop = trace.Pod{Namespace: "shop", Name: "cart", UID: uid}

func watched(t *testing.T, test func(*world)) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{log: &fakeLog{reads: make(chan any), closed: make(chan struct{})}, rec: tracetest.New(t), done: make(chan error, 1)}
		watcher, err := New(Config{Pods: w, Events: w, Bus: w.rec.Bus(), Open: func() (io.ReadCloser, error) { return w.log, nil }})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		go func() { w.done <- watcher.Run(ctx) }()
		test(w)
		synctest.Wait()
		cancel()
		if err := <-w.done; err != nil {
			t.Error(err)
		}
		<-w.log.closed
	})
}

func (w *world) say(lines ...string) {
	for i, line := range lines {
		w.log.reads <- fmt.Sprintf("6,%d,%d,-;%s\n", i, i+1, line)
	}
	synctest.Wait()
}

const (
	inPod  = "oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=/,mems_allowed=0,oom_memcg=" + unit + ",task_memcg=" + unit + "/cri-containerd-" + cid + ".scope,task=java,pid=4711,uid=0"
	killed = "Memory cgroup out of memory: Killed process 4711 (java) total-vm:9kB, anon-rss:8kB"
)

func TestPodKill(t *testing.T) {
	watched(t, func(w *world) {
		w.say("java invoked oom-killer: x", inPod, killed)
		recs := w.rec.OfKind("oom.kill")
		want := trace.OOMKill{
			Container: cid, Name: "web", Cgroup: unit + "/cri-containerd-" + cid + ".scope", Limited: unit, Constraint: trace.OOMMemcg,
			Process: "java", PID: 4711, RSS: 8 << 10,
		}
		if d := cmp.Diff([]trace.OOMKill{want}, tracetest.Events[trace.OOMKill](w.rec)); d != "" || recs[0].Pod != shop {
			t.Errorf("%s: %s", recs[0].Pod, d)
		}
		if len(w.sent) > 0 {
			t.Errorf("Events of a kill at a pod's limit: %q", w.sent)
		}
	})
}

// A kill for which the node was short of memory is an Event, whoever is killed; a pod that another agent has is not named.
func TestSystemKill(t *testing.T) {
	watched(t, func(w *world) {
		const summary = "oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=/,mems_allowed=0,global_oom,task_memcg="
		w.say("x invoked oom-killer: x", summary+"/kubepods/podunknown/"+cid+",task=a,pid=7,uid=0", "Out of memory: Killed process 7 (a) total-vm:9kB, anon-rss:8kB")
		w.say("x invoked oom-killer: x", summary+unit+",task=b\\x0a,pid=8,uid=0", "Out of memory: Killed process 8 (b\\x0a) total-vm:9kB, anon-rss:8kB")
		want := []string{"Warning SystemOOM System OOM encountered, victim process: a, pid: 7", `Warning SystemOOM System OOM encountered, victim process: b\x0a, pid: 8`}
		if d := cmp.Diff(want, w.sent); d != "" {
			t.Error(d)
		}
		recs := w.rec.OfKind("oom.kill")
		if len(recs) != 2 || !recs[0].Pod.IsZero() || recs[1].Pod != shop {
			t.Errorf("%+v", recs)
		}
	})
}

// Overwritten records and some that cannot be read do not end the watch; many in a row do, with a warning.
func TestReadErrors(t *testing.T) {
	watched(t, func(w *world) {
		w.say(inPod)
		w.log.reads <- syscall.EPIPE
		w.log.reads <- syscall.EINVAL
		w.log.reads <- "not a record"
		w.log.reads <- "14,1,1,-;" + killed // by a process
		w.say("java invoked oom-killer: x", inPod, killed)
		if got := tracetest.Events[trace.OOMKill](w.rec); len(got) != 2 || got[0].RSS != 0 || got[1].RSS != 8<<10 {
			t.Errorf("%+v", got)
		}
		for range 3 * maxErrors {
			w.log.reads <- syscall.EPIPE
		}
		for range maxErrors - 1 {
			w.log.reads <- syscall.EINVAL
		}
		w.say("fine")
		if logs := tracetest.Events[trace.Log](w.rec); len(logs) > 0 {
			t.Errorf("%+v", logs)
		}
		for range maxErrors {
			w.log.reads <- syscall.EIO
		}
		synctest.Wait()
		warned(t, w.rec, "input/output error")
	})
}

func warned(t *testing.T, rec *tracetest.Recorder, want string) {
	t.Helper()
	logs := tracetest.Events[trace.Log](rec)
	if len(logs) != 1 || logs[0].Level != trace.LevelWarn || len(logs[0].Attrs) != 2 || !strings.Contains(logs[0].Attrs[1].V, want) {
		t.Errorf("want one warning with %q: %+v", want, logs)
	}
}

func TestNoKernelLog(t *testing.T) {
	for _, cause := range []error{syscall.EPERM, os.ErrNotExist, errors.ErrUnsupported} {
		w := &world{rec: tracetest.New(t)}
		watcher, err := New(Config{Pods: w, Bus: w.rec.Bus(), Open: func() (io.ReadCloser, error) { return nil, cause }})
		if err != nil {
			t.Fatal(err)
		}
		if err := watcher.Run(t.Context()); err != nil {
			t.Error(err)
		}
		warned(t, w.rec, cause.Error())
	}
	if _, err := New(Config{}); err == nil {
		t.Error("without Pods")
	}
}
