package causes_test

import (
	"cmp"
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeloupe/kubeloupe/agent"
	"github.com/kubeloupe/kubeloupe/agent/config"
	"github.com/kubeloupe/kubeloupe/agent/cri/sim"
	"github.com/kubeloupe/kubeloupe/agent/podsource"
	"github.com/kubeloupe/kubeloupe/agent/podspec"
	"github.com/kubeloupe/kubeloupe/inspect/cause"
	"github.com/kubeloupe/kubeloupe/inspect/session"
	"github.com/kubeloupe/kubeloupe/trace"
)

// patience is how long a test waits for what should happen.
const patience = 3 * time.Minute

// node is an agent and what it published so far.
type node struct {
	*agent.Agent
	t      *testing.T
	bus    *trace.Bus
	root   string
	srv    *sim.Server // nil on containerd
	source *podsource.Memory
	cursor *trace.Cursor
	fold   *session.Session
	recs   []trace.Record
	pods   []*v1.Pod // by set

	outside *outside // upstream's kubelet in place of an agent in this process; else nil
}

// runtime is one whose images are small and near, and whose calls take no time.
func runtime() sim.Config {
	return sim.Config{Seed: 1, Latency: map[string]sim.Latency{}, Images: []sim.Image{{Name: "app:1", Size: 8 << 20, Present: true}, {Name: "far:1", Size: 8 << 20}}}
}

// run runs an agent on a simulated runtime until the test ends; change may change its configuration, prepare its root directory, more
// what else the agent gets, and the runtime before it.
func run(t *testing.T, rt sim.Config, change func(*config.Config), prepare func(root string), more ...func(*node, *agent.Config)) *node {
	t.Helper()
	srv, err := sim.New(rt)
	if err != nil {
		t.Fatal(err)
	}
	n := newNode(t, t.TempDir())
	n.srv = srv
	socket := filepath.Join(filepath.Dir(n.root), "s")
	lis, err := sim.Listen(socket)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- srv.Serve(ctx, lis) }()
	t.Cleanup(func() {
		cancel()
		<-served
		srv.Close()
	})
	k := n.kubelet()
	if change != nil {
		change(k)
	}
	if prepare != nil {
		prepare(n.root)
	}
	cfg := agent.Config{Kubelet: k, Endpoint: "unix://" + socket, Simulated: true}
	for _, m := range more {
		m(n, &cfg)
	}
	n.serve(cfg)
	return n
}

// newNode is a node without an agent, whose state goes below dir.
func newNode(t *testing.T, dir string) *node {
	bus := trace.NewBus(1 << 16)
	n := &node{t: t, bus: bus, root: filepath.Join(dir, "root"), fold: session.New(session.Options{})}
	n.cursor, n.source = bus.Subscribe(trace.FromOldest), podsource.NewMemory("memory", bus)
	t.Cleanup(n.cursor.Close)
	recorded(t, bus)
	t.Cleanup(func() { liveIsRecorded(t, bus) })
	return n
}

// kubelet is the agent's configuration, with more flags.
func (n *node) kubelet(flags ...string) *config.Config {
	n.t.Helper()
	fs := pflag.NewFlagSet("test", pflag.ContinueOnError)
	f := config.AddFlags(fs)
	if err := fs.Parse(append([]string{"--root-dir", n.root, "--healthz-port", "0", "--enable-server=false"}, flags...)); err != nil {
		n.t.Fatal(err)
	}
	k, err := config.Load(f)
	if err != nil {
		n.t.Fatal(err)
	}
	k.Pods.LogsDir = filepath.Join(filepath.Dir(n.root), "log", "pods")
	k.Kubelet.EvictionHard = map[string]string{} // the disk of this machine may be nearly full
	return k
}

// serve runs the agent until the test ends, and returns when it is ready.
func (n *node) serve(cfg agent.Config) {
	n.t.Helper()
	cfg.NodeName = cmp.Or(cfg.NodeName, "node")
	cfg.Version, cfg.Bus, cfg.Sources = "test", n.bus, []podsource.Source{n.source}
	var err error
	if n.Agent, err = agent.New(cfg); err != nil {
		n.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- n.Run(ctx) }()
	n.t.Cleanup(func() {
		cancel()
		<-done
	})
	t := n.t                                       // another one, of a part of the test, may have ended then
	t.Cleanup(func() { liveIsRecorded(t, n.bus) }) // before the agent stops
	select {
	case <-n.Ready():
	case err := <-done:
		done <- err
		n.t.Fatalf("the agent did not start: %v", err)
	}
}

// until waits for a record.
func (n *node) until(what string, want func(*trace.Record) bool) {
	n.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if n.outside != nil {
		n.outside.until(ctx, n.t, what, want)
		return
	}
	for from := 0; ; {
		for ; from < len(n.recs); from++ {
			if want(&n.recs[from]) {
				return
			}
		}
		recs, lost, err := n.cursor.Next(ctx, make([]trace.Record, 0, 1024))
		if err != nil || lost > 0 {
			n.t.Fatalf("%s did not come (%v, %d records lost)", what, err, lost)
		}
		for i := range recs {
			n.fold.Apply(&recs[i])
		}
		n.recs = append(n.recs, recs...)
	}
}

// reached waits for a pod's milestone.
func (n *node) reached(pod, name string) {
	n.t.Helper()
	n.until(pod+" "+name, func(r *trace.Record) bool {
		m, ok := r.Event.(*trace.Milestone)
		return ok && string(m.Name) == name && r.Pod.Name == pod
	})
}

// finding is what a rule says of a pod now; nil when it is silent.
func (n *node) finding(pod, id string) *cause.Finding {
	n.t.Helper()
	for _, f := range n.findings(pod) {
		if f.ID == id {
			return &f
		}
	}
	return nil
}

// findings is what all rules say of a pod now.
func (n *node) findings(pod string) []cause.Finding {
	n.t.Helper()
	if n.outside != nil {
		return n.outside.why(n.t, pod, n.outside.logs[:1]).Findings
	}
	life, err := n.fold.Find("default/" + pod)
	if err != nil {
		n.t.Fatal(err)
	}
	return cause.Find(n.fold.Case(life, n.fold.Last()))
}

// speaks fails unless a rule speaks of the pod, in these words and with evidence.
func (n *node) speaks(pod, id, words string) *cause.Finding {
	n.t.Helper()
	f := n.finding(pod, id)
	if f == nil {
		n.t.Fatalf("%s is silent about %s", id, pod)
	}
	if n.outside != nil {
		n.outside.said[verdict{pod, id}] = true
	}
	if !strings.Contains(f.Sentence, words) || len(f.Evidence) == 0 {
		n.t.Errorf("%s says %q of %s, want %q; evidence %+v", id, f.Sentence, pod, words, f.Evidence)
	}
	return f
}

// silent fails if any of the rules speaks of the pod.
func (n *node) silent(pod string, ids ...string) {
	n.t.Helper()
	for _, id := range ids {
		if f := n.finding(pod, id); f != nil {
			n.t.Errorf("%s speaks of %s: %s", id, pod, f.Sentence)
		}
		if n.outside != nil {
			n.outside.said[verdict{pod, id}] = false
		}
	}
}

// claimsLess fails if a rule claims that much time: it is another's. On a busy machine it may have a little of its own to tell, as how long
// a request took.
func (n *node) claimsLess(pod, id string, most time.Duration) {
	n.t.Helper()
	if f := n.finding(pod, id); f != nil && f.Cost >= most {
		n.t.Errorf("%s claims %v: %s", id, f.Cost, f.Sentence)
	}
}

// podOf is a pod of one container that runs the command, or a server if there is none.
func podOf(name string, command ...string) *v1.Pod {
	p := &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", UID: types.UID("uid-of-" + name)},
		Spec:       v1.PodSpec{Containers: []v1.Container{{Name: "app", Image: "app:1", Command: command}}},
	}
	podspec.SetDefaults(p)
	return p
}
