package agent_test

import (
	"context"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spf13/pflag"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/kubeloupe/kubeloupe/agent"
	"github.com/kubeloupe/kubeloupe/agent/config"
	"github.com/kubeloupe/kubeloupe/agent/cri/sim"
	"github.com/kubeloupe/kubeloupe/agent/podsource"
	"github.com/kubeloupe/kubeloupe/agent/podspec"
	"github.com/kubeloupe/kubeloupe/trace"
)

// patience is how long a test waits for what should happen immediately.
const patience = 3 * time.Minute

// host is a machine: a directory for the agent's state and a simulated runtime that
// can be stopped and started. Its pods outlive agents and restarts of the runtime.
type host struct {
	t      testing.TB
	dir    string
	socket string
	srv    *sim.Server
	stop   func() // the runtime
}

// newHost returns a host with a running runtime. Without latencies, calls take no time.
func newHost(t testing.TB, latency map[string]sim.Latency) *host {
	t.Helper()
	srv, err := sim.New(sim.Config{
		Seed: 1, Latency: latency, Images: []sim.Image{{Name: "app:1", Present: true, Cmd: []string{"server"}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	h := &host{t: t, dir: dir, srv: srv, socket: filepath.Join(dir, "s"), stop: func() {}}
	t.Cleanup(func() {
		h.stop()
		srv.Close()
	})
	h.start()
	return h
}

// start starts the runtime.
func (h *host) start() {
	h.t.Helper()
	lis, err := sim.Listen(h.socket)
	if err != nil {
		h.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- h.srv.Serve(ctx, lis) }()
	h.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-served; err != nil {
			h.t.Error(err)
		}
	})
}

// sandboxes returns the number of the runtime's sandboxes.
func (h *host) sandboxes() int {
	h.t.Helper()
	r, err := h.srv.ListPodSandbox(context.Background(), &runtimeapi.ListPodSandboxRequest{})
	if err != nil {
		h.t.Fatal(err)
	}
	return len(r.GetItems())
}

// config returns an agent's configuration on this host, with the given flags.
func (h *host) config(flags ...string) agent.Config {
	h.t.Helper()
	fs := pflag.NewFlagSet("test", pflag.ContinueOnError)
	f := config.AddFlags(fs)
	if err := fs.Parse(append([]string{"--root-dir", filepath.Join(h.dir, "root"), "--healthz-port", "0"}, flags...)); err != nil {
		h.t.Fatal(err)
	}
	k, err := config.Load(f)
	if err != nil {
		h.t.Fatal(err)
	}
	k.Pods.LogsDir = filepath.Join(h.dir, "log", "pods")
	return agent.Config{Kubelet: k, Endpoint: "unix://" + h.socket, Simulated: true, NodeName: "node", Version: "test"}
}

// node is a running agent on a host, with what it has published.
type node struct {
	*agent.Agent
	t      testing.TB
	source *podsource.Memory
	bus    *trace.Bus
	cursor *trace.Cursor
	recs   []trace.Record
	cancel context.CancelFunc
	done   chan error
}

// prepare returns an agent that does not run.
func prepare(t testing.TB, cfg agent.Config) *node {
	t.Helper()
	bus := trace.NewBus(1 << 16)
	n := &node{t: t, bus: bus, cursor: bus.Subscribe(trace.FromOldest), source: podsource.NewMemory("memory", bus), done: make(chan error, 1)}
	t.Cleanup(n.cursor.Close)
	cfg.Bus, cfg.Sources = bus, []podsource.Source{n.source}
	a, err := agent.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	n.Agent = a
	return n
}

// run runs an agent until the test ends or end is called.
func run(t testing.TB, cfg agent.Config) *node {
	t.Helper()
	n := prepare(t, cfg)
	ctx, cancel := context.WithCancel(context.Background())
	n.cancel = cancel
	go func() { n.done <- n.Run(ctx) }()
	t.Cleanup(cancel)
	select {
	case <-n.Ready():
	case err := <-n.done:
		t.Fatalf("the agent did not start: %v", err)
	}
	return n
}

// end stops the agent and checks that it returns no error.
func (n *node) end() {
	n.t.Helper()
	n.cancel()
	select {
	case err := <-n.done:
		if err != nil {
			n.t.Errorf("Run: %v", err)
		}
	case <-time.After(patience):
		n.t.Fatalf("Run does not return; goroutines:\n%s", stacks())
	}
}

// records returns all records so far.
func (n *node) records() []trace.Record {
	n.t.Helper()
	for {
		recs, lost := n.cursor.Poll(make([]trace.Record, 0, 1024))
		if lost > 0 {
			n.t.Fatalf("%d records lost", lost)
		}
		if len(recs) == 0 {
			return n.recs
		}
		n.recs = append(n.recs, recs...)
	}
}

// until waits for a matching record, from the beginning.
func (n *node) until(what string, want func(*trace.Record) bool) {
	n.t.Helper()
	n.untilAll(what, 1, want)
}

// untilAll waits for that many matching records.
func (n *node) untilAll(what string, count int, want func(*trace.Record) bool) {
	n.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	from := 0
	for {
		for ; from < len(n.recs); from++ {
			if want(&n.recs[from]) {
				count--
			}
		}
		if count <= 0 {
			return
		}
		recs, lost, err := n.cursor.Next(ctx, make([]trace.Record, 0, 1024))
		if err != nil || lost > 0 {
			n.t.Fatalf("%s: %d did not come (%v, %d records lost)", what, count, err, lost)
		}
		n.recs = append(n.recs, recs...)
	}
}

// milestone matches the record of a pod's milestone.
func milestone(name string, pod *v1.Pod) func(*trace.Record) bool {
	return func(r *trace.Record) bool {
		m, ok := r.Event.(*trace.Milestone)
		return ok && string(m.Name) == name && (pod == nil || r.Pod.UID == string(pod.UID))
	}
}

// state matches the record of the agent's state.
func state(name string) func(*trace.Record) bool {
	return func(r *trace.Record) bool {
		a, ok := r.Event.(*trace.Agent)
		return ok && string(a.State) == name
	}
}

// calls returns how often a CRI method was called, and the maximum number of concurrent calls.
func (n *node) calls(method string) (count, most int) {
	n.t.Helper()
	busy := 0
	for _, r := range n.records() {
		c, ok := r.Event.(*trace.CRICall)
		if !ok || c.Method != method {
			continue
		}
		switch r.Edge {
		case trace.EdgeBegin:
			count++
			busy++
			most = max(most, busy)
		case trace.EdgeEnd:
			busy--
		case trace.EdgePoint:
		}
	}
	return count, most
}

// open returns the spans that have begun and not ended, as "kind pod".
func (n *node) open() []string {
	n.t.Helper()
	began := map[trace.SpanID]string{}
	for _, r := range n.records() {
		switch r.Edge {
		case trace.EdgeBegin:
			began[r.Span] = fmt.Sprintf("%s %s %+v", r.Event.Kind(), r.Pod.Name, r.Event)
		case trace.EdgeEnd:
			delete(began, r.Span)
		case trace.EdgePoint:
		}
	}
	var out []string
	for _, s := range began {
		out = append(out, s)
	}
	return out
}

// podOf returns a pod with one container that runs the command, or a server if there is none.
func podOf(name string, command ...string) *v1.Pod {
	p := &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", UID: types.UID("uid-of-" + name)},
		Spec:       v1.PodSpec{Containers: []v1.Container{{Name: "app", Image: "app:1", Command: command}}},
	}
	podspec.SetDefaults(p)
	return p
}

// stacks returns the stacks of the agent's goroutines, without the test's and the runtime's.
func stacks() string {
	buf := make([]byte, 1<<22)
	buf = buf[:runtime.Stack(buf, true)]
	var out []string
	for g := range strings.SplitSeq(string(buf), "\n\n") {
		ours := strings.Contains(g, "kubeloupe/agent") || strings.Contains(g, "kubeloupe/trace")
		others := strings.Contains(g, "kubeloupe/agent/cri/sim") || strings.Contains(g, "kubeloupe/agent_test.")
		if ours && !others {
			out = append(out, g)
		}
	}
	return strings.Join(out, "\n\n")
}
