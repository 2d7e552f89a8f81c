package step

import (
	"context"
	"encoding/json"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/tracetest"
)

var (
	web   = trace.Pod{Namespace: "default", Name: "web", UID: "u1"}
	other = trace.Pod{Namespace: "default", Name: "other", UID: "u2"}
	plan  = trace.Plan{Steps: []trace.PlanStep{
		{ID: "cgroup", Verb: "cgroup"},
		{ID: "sandbox", Verb: "sandbox"},
		{ID: "image docker.io/lab/web:1", Verb: "image"},
		{ID: "create main", Verb: "create"},
		{ID: "start main", Verb: "start"},
	}}
	titles = map[string]string{
		"cgroup":                    "pod cgroup",
		"sandbox":                   "runtime.v1.RunPodSandboxRequest",
		"image docker.io/lab/web:1": "runtime.v1.ImageStatusRequest, then PullImage if needed",
		"create main":               "runtime.v1.CreateContainerRequest",
		"start main":                "runtime.v1.StartContainerRequest",
	}
)

// node is a snapshotter of lines that a test writes.
type node struct {
	mu    sync.Mutex
	lines []string
	hang  bool // until ctx ends
}

func (n *node) Snapshot(ctx context.Context, _ trace.Pod) []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.hang {
		<-ctx.Done()
		return nil
	}
	return n.lines
}

func (n *node) set(hang bool, lines ...string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.hang, n.lines = hang, lines
}

// fixture is a session and a runner of plans, within a synctest bubble.
type fixture struct {
	*Session
	t    *testing.T
	rec  *tracetest.Recorder
	node *node
	ctx  context.Context
	stop context.CancelFunc
	err  error    // of the last run
	done []string // actions let through, in order
	fail map[string]error
	over bool
}

func setup(t *testing.T, hold trace.Pod) *fixture {
	t.Helper()
	f := &fixture{t: t, rec: tracetest.New(t), node: &node{}, fail: map[string]error{}}
	var err error
	if f.Session, err = New(Config{Pod: hold, Snapshot: f.node, Bus: f.rec.Bus()}); err != nil {
		t.Fatal(err)
	}
	f.ctx, f.stop = context.WithCancel(t.Context())
	return f
}

// run goes through a plan as the runner does: a refused action ends it.
func (f *fixture) run(p trace.Plan) {
	f.over, f.err = false, nil
	go func() {
		for _, st := range p.Steps {
			f.err = f.Before(f.ctx, web, p, st.ID, titles[st.ID], json.RawMessage(`{"id":"`+st.ID+`"}`))
			if f.err == nil {
				f.done = append(f.done, st.ID)
			}
			err := f.err
			if err == nil {
				err = f.fail[st.ID]
			}
			f.After(web, st.ID, err)
			if f.err != nil {
				break
			}
		}
		f.over = true
	}()
	synctest.Wait()
}

// do carries out a command that must succeed.
func (f *fixture) do(line string) string {
	f.t.Helper()
	out, err := f.Do(f.t.Context(), line)
	if err != nil {
		f.t.Fatalf("%q: %v", line, err)
	}
	synctest.Wait()
	return out
}

// at checks which action waits; "" for none.
func (f *fixture) at(want string) Stop {
	f.t.Helper()
	synctest.Wait()
	stop, waits := f.Waiting()
	if waits != (want != "") || stop.Next != want {
		f.t.Fatalf("waits: %v before %q, want %q", waits, stop.Next, want)
	}
	return stop
}

func (f *fixture) verdicts() []trace.Gate {
	f.t.Helper()
	return tracetest.Events[trace.Gate](f.rec)
}
