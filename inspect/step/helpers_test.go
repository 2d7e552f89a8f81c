package step

import (
	"context"
	"encoding/json"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/gate"
	"github.com/kubeloupe/kubeloupe/trace/tracetest"
)

var (
	web   = trace.Pod{Namespace: "default", Name: "web", UID: "u1"}
	other = trace.Pod{Namespace: "default", Name: "other", UID: "u2"}
	plan  = trace.Plan{Why: "no sandbox", Steps: []trace.PlanStep{
		{ID: "cgroup", Verb: trace.VerbCgroup},
		{ID: "sandbox", Verb: trace.VerbSandbox, Reason: "the pod has none"},
		{ID: "image docker.io/lab/web:1", Verb: trace.VerbImage},
		{ID: "create main", Verb: trace.VerbCreate},
		{ID: "start main", Verb: trace.VerbStart},
	}}
	titles = map[string]string{
		"cgroup":                    "pod cgroup",
		"sandbox":                   "runtime.v1.RunPodSandboxRequest",
		"image docker.io/lab/web:1": "runtime.v1.ImageStatusRequest, then PullImage if needed",
		"create main":               "runtime.v1.CreateContainerRequest",
		"start main":                "runtime.v1.StartContainerRequest",
	}
	calls = map[string][]string{
		"sandbox": {"RunPodSandbox", "PodSandboxStatus"}, "image docker.io/lab/web:1": {"ImageStatus", "PullImage", "ImageStatus"},
		"create main": {"CreateContainer"}, "start main": {"StartContainer"},
	}
)

const object = `{"pod":{"metadata":{"name":"web","annotations":{"a.b/c":"d"}},"spec":{"containers":[{"name":"main","image":"lab/web:1"},{"name":"log","image":"lab/log:2","tty":true}]}},
	"status":{"podIPs":["10.0.0.1"]}}`

// node is a snapshotter with lines from a test.
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

// fixture is a session and a runner of plans, in simulated time.
type fixture struct {
	*Session
	t    *testing.T
	rec  *tracetest.Recorder
	node *node
	ctx  context.Context
	stop context.CancelFunc
	err  error    // of the last run
	done []string // actions done, in order
	fail map[string]error
	took map[string]time.Duration
	over bool
	ends bool // the plan terminates the pod
}

func setup(t *testing.T, hold trace.Pod) *fixture {
	t.Helper()
	f := &fixture{t: t, rec: tracetest.New(t), node: &node{}, fail: map[string]error{}, took: map[string]time.Duration{}}
	var err error
	if f.Session, err = New(Config{Pod: hold, Snapshot: f.node, Bus: f.rec.Bus()}); err != nil {
		t.Fatal(err)
	}
	f.ctx, f.stop = context.WithCancel(t.Context())
	return f
}

// ask asks as the runner does.
func (f *fixture) ask(q *gate.Question) (gate.Answer, error) {
	a, err := f.Ask(f.ctx, q)
	if a.Delay > 0 && err == nil {
		select {
		case <-time.After(a.Delay):
		case <-a.Left:
		}
	}
	return a, err
}

// question returns the question for a plan's action.
func question(p trace.Plan, id string, when gate.When) *gate.Question {
	return &gate.Question{
		Pod: web, Plan: p, Action: id, Container: "main", Image: "lab/web:1", When: when, Attempt: 1, Title: titles[id],
		Request: json.RawMessage(`{"id":"` + id + `"}`), Object: json.RawMessage(object), Sandbox: "sb1",
	}
}

// run runs a plan as the runner does: a refused action ends it.
func (f *fixture) run(p trace.Plan) {
	f.over, f.err = false, nil
	go func() {
		for _, st := range p.Steps {
			for n := 1; f.err == nil && f.one(p, st.ID, n); n++ {
			}
			if f.err != nil {
				break
			}
		}
		f.over = true
	}()
	synctest.Wait()
}

// one runs one action, and reports whether it must run again.
func (f *fixture) one(p trace.Plan, id string, n int) (again bool) {
	q := question(p, id, gate.Before)
	q.Attempt, q.Ending = n, f.ends
	var a gate.Answer
	if a, f.err = f.ask(q); f.err != nil {
		return false
	}
	failed := f.fail[id]
	for _, call := range calls[id] {
		if a.Do == gate.Fail {
			break
		}
		c := *q
		c.When, c.Call, c.Title = gate.Call, call, "runtime.v1."+call+"Request"
		if a, f.err = f.ask(&c); f.err != nil {
			return false
		}
	}
	if a.Do == gate.Fail {
		failed = codeError(a)
	} else {
		f.done = append(f.done, id)
	}
	q.When, q.Err, q.Took = gate.After, failed, f.took[id]
	a, _ = f.ask(q)
	return a.Do == gate.Retry
}

type codeError gate.Answer

func (e codeError) Error() string { return e.Message }

// do executes a command that must succeed.
func (f *fixture) do(line string) string {
	f.t.Helper()
	out, err := f.Do(f.t.Context(), line)
	if err != nil {
		f.t.Fatalf("%q: %v", line, err)
	}
	synctest.Wait()
	return out
}

// at checks which action is paused; "" for none.
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
