package cpus

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/kubeloupe/kubeloupe/agent/numa"
	"github.com/kubeloupe/kubeloupe/agent/podstate"
	"github.com/kubeloupe/kubeloupe/agent/topology"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/tracetest"
)

// world is a node: its pods, its runtime, and what the runtime was asked.
type world struct {
	mu       sync.Mutex
	pods     []*v1.Pod
	complete bool
	seen     map[types.UID]*podstate.Pod
	updates  []string
	err      error
}

func (w *world) Active() []*v1.Pod {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.pods)
}

func (w *world) Complete() bool { return w.complete }

func (w *world) Get(uid types.UID) *podstate.Pod {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.seen[uid]
}

func (w *world) UpdateContainerResources(_ context.Context, r *runtimeapi.UpdateContainerResourcesRequest, _ ...grpc.CallOption) (*runtimeapi.UpdateContainerResourcesResponse, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.updates = append(w.updates, r.ContainerId+"="+r.GetLinux().GetCpusetCpus())
	return &runtimeapi.UpdateContainerResourcesResponse{}, w.err
}

// asked returns the updates since the last call, sorted.
func (w *world) asked() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	slices.Sort(w.updates)
	out := strings.Join(w.updates, " ")
	w.updates = nil
	return out
}

// start adds a pod whose containers run, with the IDs POD.CONTAINER.
func (w *world) start(pod *v1.Pod) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.pods = append(w.pods, pod)
	state := &podstate.Pod{UID: pod.UID}
	for _, name := range names(pod) {
		state.Containers = append(state.Containers, podstate.Container{ID: string(pod.UID) + "." + name, Name: name, State: podstate.Running})
	}
	w.seen[pod.UID] = state
}

// sees sets the state of a pod's first container.
func (w *world) sees(uid types.UID, state podstate.State) {
	w.mu.Lock()
	defer w.mu.Unlock()
	seen := *w.seen[uid]
	seen.Containers = slices.Clone(seen.Containers)
	seen.Containers[0].State = state
	w.seen[uid] = &seen
}

// fails has updates fail with that error.
func (w *world) fails(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.err = err
}

// pod returns a Guaranteed pod; containers are written name=cpu, an init container as init:name=cpu, a sidecar as sidecar:name=cpu.
func pod(uid string, containers ...string) *v1.Pod {
	p := &v1.Pod{}
	p.UID, p.Name, p.Namespace = types.UID(uid), uid, "shop"
	for _, text := range containers {
		name, cpu, _ := strings.Cut(text, "=")
		kind, rest, of := strings.Cut(name, ":")
		if of {
			name = rest
		}
		amounts := v1.ResourceList{v1.ResourceCPU: resource.MustParse(cpu), v1.ResourceMemory: resource.MustParse("1Mi")}
		c := v1.Container{Name: name, Resources: v1.ResourceRequirements{Requests: amounts, Limits: amounts}}
		if !of {
			p.Spec.Containers = append(p.Spec.Containers, c)
			continue
		}
		if kind == "sidecar" {
			c.RestartPolicy = new(v1.ContainerRestartPolicyAlways)
		}
		p.Spec.InitContainers = append(p.Spec.InitContainers, c)
	}
	return p
}

// fixture is a manager and its world.
type fixture struct {
	*Manager
	*world
	rec *tracetest.Recorder
	cfg Config
}

func newFixture(t *testing.T, m numa.Machine, change func(*Config)) *fixture {
	t.Helper()
	w := &world{seen: map[types.UID]*podstate.Pod{}, complete: true}
	rec := tracetest.New(t)
	cfg := Config{
		Policy: Static, Machine: m, ReservedNumber: 1, Dir: t.TempDir(), Period: 10 * time.Second, Pods: w, Seen: w, Runtime: w, Bus: rec.Bus(),
		AlphaOptions: true, BetaOptions: true,
	}
	if change != nil {
		change(&cfg)
	}
	mgr, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return &fixture{mgr, w, rec, cfg}
}

func with(options ...string) func(*Config) {
	return func(c *Config) {
		c.Options = map[string]string{}
		for _, o := range options {
			c.Options[o] = "true"
		}
	}
}

// admit allocates for all containers of the pod, and returns what they have: "name CPUs ...", or the error.
func (f *fixture) admit(t *testing.T, p *v1.Pod, nodes ...int) string {
	t.Helper()
	f.start(p)
	var out []string
	for _, list := range [][]v1.Container{p.Spec.InitContainers, p.Spec.Containers} {
		for i := range list {
			if err := f.Allocate(t.Context(), p, &list[i], topology.Hint{Nodes: numa.MaskOf(nodes...), Preferred: true}); err != nil {
				return err.Error()
			}
			cpus, own := f.CPUs(p.UID, list[i].Name)
			if !own {
				cpus = "shared"
			}
			out = append(out, list[i].Name+" "+cpus)
		}
	}
	return strings.Join(out, " ")
}

func (f *fixture) pool() string {
	list, _ := f.CPUs("unknown", "unknown")
	return list
}

func TestAllocate(t *testing.T) {
	burstable := pod("burst", "a=2")
	burstable.Spec.Containers[0].Resources.Limits = nil
	podLevel := pod("level", "a=2")
	podLevel.Spec.Resources = podLevel.Spec.Containers[0].Resources.DeepCopy()
	for _, c := range []struct {
		name    string
		machine shape
		change  func(*Config)
		pods    []*v1.Pod
		nodes   []int
		want    string
		pool    string
	}{
		{"a core; 0 is reserved", laptop(), nil, []*v1.Pod{pod("p", "a=2")}, nil, "a 1,5", "0,2-4,6-7"},
		{"two containers", laptop(), nil, []*v1.Pod{pod("p", "a=2", "b=1")}, nil, "a 1,5 b 4", "0,2-3,6-7"},
		{"no whole number", laptop(), nil, []*v1.Pod{pod("p", "a=1500m", "b=2")}, nil, "a shared b 1,5", "0,2-4,6-7"},
		{"Burstable", laptop(), nil, []*v1.Pod{burstable}, nil, "a shared", "0-7"},
		{"pod-level resources", laptop(), nil, []*v1.Pod{podLevel}, nil, "a shared", "0-7"},
		{"too many", laptop(), nil, []*v1.Pod{pod("p", "a=8")}, nil, "not enough cpus available to satisfy request: requested=8, available=7", "0-7"},
		{"from a NUMA node", server(), nil, []*v1.Pod{pod("p", "a=2")}, []int{1}, "a 4,12", "0-3,5-11,13-15"},
		{"more than a NUMA node has", server(), nil, []*v1.Pod{pod("p", "a=9")}, []int{1}, "a 4-8,12-15", "0-3,9-11"},
		{"reserved by number", laptop(), func(c *Config) { c.ReservedNumber = 3 }, []*v1.Pod{pod("p", "a=2")}, nil, "a 2,6", "0-1,3-5,7"},
		{"reserved by list", laptop(), func(c *Config) { c.Reserved, c.ReservedNumber = parseSet(t, "1,5"), 2 }, []*v1.Pod{pod("p", "a=4")}, nil, "a 0,2,4,6", "1,3,5,7"},
		{"strictly reserved", laptop(), with(optionStrict), []*v1.Pod{pod("p", "a=2")}, nil, "a 1,5", "2-4,6-7"},
		{"whole cores", laptop(), with(optionFullCores), []*v1.Pod{pod("p", "a=2")}, nil, "a 1,5", "0,2-4,6-7"},
		{"no whole cores", laptop(), with(optionFullCores), []*v1.Pod{pod("p", "a=3")}, nil, "SMT Alignment Error: requested 3 cpus not multiple cpus per core = 2", "0-7"},
		{
			"too few whole cores: the core of a reserved CPU does not count", laptop(), with(optionFullCores),
			[]*v1.Pod{pod("p", "a=4"), pod("q", "a=4")},
			nil,
			"SMT Alignment Error: not enough free physical CPUs: available physical CPUs = 2, requested CPUs = 4, CPUs per core = 2", "0,3-4,7",
		},
		{"spread", laptop(), with(optionSpread), []*v1.Pod{pod("p", "a=2")}, nil, "a 1-2", "0,3-7"},
		{"distributed", server(), with(optionDistribute), []*v1.Pod{pod("p", "a=10")}, nil, "a 1-2,4-6,8-10,12-13", "0,3,7,11,14-15"},
		{"of a cache", chiplets(), with(optionUncore), []*v1.Pod{pod("p", "a=6")}, nil, "a 4-6,12-14", "0-3,7-11,15"},
		{"of a socket", fourNode(), with(optionSocket), []*v1.Pod{pod("p", "a=6")}, []int{2}, "a 4-6,12-14", "0-3,7-11,15"},
		{"an init container's are reused", laptop(), nil, []*v1.Pod{pod("p", "init:i=4", "a=2")}, nil, "i 1-2,5-6 a 1,5", "0,3-4,7"},
		{"a sidecar's are not", laptop(), nil, []*v1.Pod{pod("p", "sidecar:s=2", "a=2")}, nil, "s 1,5 a 2,6", "0,3-4,7"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFixture(t, c.machine.machine(), c.change)
			got := ""
			for _, p := range c.pods {
				got = f.admit(t, p, c.nodes...)
			}
			if got != c.want || f.pool() != c.pool {
				t.Errorf("%s, shared %s; want %s, shared %s", got, f.pool(), c.want, c.pool)
			}
		})
	}
}

// After the pod, all of its CPUs are free again; also those that an init container and an app container both had.
func TestExclusive(t *testing.T) {
	f := newFixture(t, laptop().machine(), nil)
	f.admit(t, pod("p", "a=2", "b=500m"), 0)
	if own, shared := f.Exclusive("p", "a"), f.Exclusive("p", "b"); !slices.Equal(own, []int{1, 5}) || len(shared) > 0 {
		t.Error(own, shared)
	}
	if got := f.Allocatable(); !slices.Equal(got, []int{1, 2, 3, 4, 5, 6, 7}) {
		t.Error(got)
	}
}

func TestRelease(t *testing.T) {
	f := newFixture(t, laptop().machine(), nil)
	f.admit(t, pod("p", "init:i=4", "a=2", "b=1"))
	f.admit(t, pod("q", "a=1"))
	if !f.Own("p") || f.Own("other") {
		t.Error("p has CPUs of its own, and no other pod")
	}
	f.Release("p")
	q, _ := f.CPUs("q", "a")
	if want := parseSet(t, "0-7").Difference(parseSet(t, q)).String(); f.pool() != want || f.Own("p") {
		t.Errorf("shared %s, want %s", f.pool(), want)
	}
	f.Release("p") // again: nothing
	f.Release("q")
	if f.pool() != "0-7" {
		t.Errorf("shared %s, want all", f.pool())
	}
}

// The next agent has the same allocations. It frees those of pods that are unknown, once it knows all.
func TestRestart(t *testing.T) {
	f := newFixture(t, laptop().machine(), nil)
	f.admit(t, pod("p", "a=2"))
	f.admit(t, pod("q", "a=1"))
	f.world.pods, f.complete = nil, false
	var err error
	if f.Manager, err = New(f.cfg); err != nil {
		t.Fatal(err)
	}
	if got := f.admit(t, pod("p", "a=2")); got != "a 1,5" || f.pool() != "0,2-3,6-7" {
		t.Errorf("%s, shared %s", got, f.pool())
	}
	f.complete = true
	if got := f.admit(t, pod("r", "a=2")); got != "a 2,6" || f.Own("q") || f.pool() != "0,3-4,7" {
		t.Errorf("%s, shared %s: the CPU of the unknown pod must be free", got, f.pool())
	}
	outcomes := map[trace.AllocationOutcome]int{}
	for _, r := range f.rec.Records() {
		if e, ok := r.Event.(*trace.Allocation); ok {
			outcomes[e.Outcome]++
			if e.Outcome == trace.AllocationReleased && (e.Why != trace.AllocationStale || r.Pod.UID != "q") {
				t.Errorf("released %+v of %v", e, r.Pod)
			}
		}
	}
	if want := (map[trace.AllocationOutcome]int{trace.AllocationGranted: 3, trace.AllocationKept: 1, trace.AllocationReleased: 1}); !maps.Equal(outcomes, want) {
		t.Errorf("%v, want %v", outcomes, want)
	}
}

// What a stale container shares with another one of its pod is not free.
func TestStaleContainer(t *testing.T) {
	f := newFixture(t, laptop().machine(), nil)
	replace(`{"policyName":"static","defaultCpuSet":"0,2-4,6-7","entries":{"p":{"old":"1,5","a":"1"}},"checksum":0}`)(&f.cfg)
	var err error
	if f.Manager, err = New(f.cfg); err != nil {
		t.Fatal(err)
	}
	if got := f.admit(t, pod("p", "a=1")); got != "a 1" || f.pool() != "0,2-7" {
		t.Errorf("%s, shared %s", got, f.pool())
	}
}

// If the reserved CPUs are strictly so, containers may have all others. The next agent starts all the same.
func TestAllGivenAway(t *testing.T) {
	f := newFixture(t, laptop().machine(), with(optionStrict))
	p := pod("p", "a=7")
	if got := f.admit(t, p); got != "a 1-7" || f.pool() != "" {
		t.Fatalf("%s, shared %s", got, f.pool())
	}
	var err error
	if f.Manager, err = New(f.cfg); err != nil {
		t.Fatal(err)
	}
	if got := f.admit(t, p); got != "a 1-7" || f.pool() != "" {
		t.Errorf("%s, shared %s", got, f.pool())
	}
	if f.Release("p"); f.pool() != "1-7" {
		t.Errorf("shared %s at the end", f.pool())
	}
	replace(`{"policyName":"static","defaultCpuSet":"","entries":{"p":{"a":"1-6"}},"checksum":0}`)(&f.cfg)
	if _, err := New(f.cfg); err == nil || !strings.Contains(err.Error(), `current set of available CPUs "1-7" doesn't match with CPUs in state "1-6"`) {
		t.Error(err)
	}
}

func TestStateIsRefused(t *testing.T) {
	for want, change := range map[string]func(*Config){
		`configured policy "none" differs from state checkpoint policy "static", please drain this node and delete the CPU manager checkpoint file`: func(c *Config) { c.Policy = None },
		`not all reserved cpus: "1,5" are present in defaultCpuSet: "0,2-4,6-7"`:                                                                    func(c *Config) { c.Reserved, c.ReservedNumber = parseSet(t, "1,5"), 2 },
		`some of strictly reserved cpus: "0" are present in defaultCpuSet: "0,2-4,6-7"`:                                                             with(optionStrict),
		`current set of available CPUs "0-15" doesn't match with CPUs in state "0-7"`:                                                               func(c *Config) { c.Machine = server().machine() },
		"checkpoint is corrupted": spoil(t, "0,2-4", "0,2-5"),
		`pod: p, container: a cpuset: "1,5" overlaps with default cpuset "0-7"`:   replace(`{"policyName":"static","defaultCpuSet":"0-7","entries":{"p":{"a":"1,5"}},"checksum":0}`),
		"default cpuset cannot be empty":                                          replace(`{"policyName":"static","defaultCpuSet":"","entries":{"p":{"a":"1,5"}},"checksum":0}`),
		"cpuManagerPolicyOptions: need cpuManagerPolicy static":                   func(c *Config) { c.Policy = None; with(optionStrict)(c) },
		`cpuManagerPolicy: unknown policy "x"`:                                    func(c *Config) { c.Policy = "x" },
		"reservedSystemCPUs: CPU 9 is not online; online are 0-7":                 func(c *Config) { c.Reserved = parseSet(t, "9") },
		"cpuManagerPolicy static: systemReserved":                                 func(c *Config) { c.ReservedNumber = 0 },
		"cpuManagerPolicy static: reserve 9 CPUs for the system: not enough cpus": func(c *Config) { c.ReservedNumber = 9 },
		"cpuManagerPolicy static: 2 CPUs are reserved, 0-1, want 1":               func(c *Config) { c.Reserved = parseSet(t, "0-1") },
	} {
		f := newFixture(t, laptop().machine(), nil)
		f.admit(t, pod("p", "a=2"))
		change(&f.cfg)
		if _, err := New(f.cfg); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

func spoil(t *testing.T, was, is string) func(*Config) {
	return func(c *Config) {
		path := filepath.Join(c.Dir, stateFile)
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		replace(strings.ReplaceAll(string(text), was, is))(c)
	}
}

func replace(text string) func(*Config) {
	return func(c *Config) {
		if err := os.WriteFile(filepath.Join(c.Dir, stateFile), []byte(text), 0o600); err != nil {
			panic(err)
		}
	}
}

// With the policy none, containers use all CPUs, and nothing is changed.
func TestNone(t *testing.T) {
	f := newFixture(t, laptop().machine(), func(c *Config) { c.Policy = None })
	p := pod("p", "a=2")
	if got := f.admit(t, p); got != "a shared" || f.pool() != "" || f.Hints(p, &p.Spec.Containers[0]) != nil || f.PodHints(p) != nil {
		t.Errorf("%s, shared %q", got, f.pool())
	}
	if err := f.Run(t.Context()); err != nil || f.asked() != "" {
		t.Error(err)
	}
	if _, err := New(f.cfg); err != nil {
		t.Error(err)
	}
}

func show(hints []topology.Hint) string {
	var out []string
	for _, h := range hints {
		text := h.Nodes.String()
		if h.Preferred {
			text += "*"
		}
		out = append(out, text)
	}
	return strings.Join(out, " ")
}

func TestHints(t *testing.T) {
	for _, c := range []struct {
		name           string
		machine        shape
		change         func(*Config)
		before         *v1.Pod
		pod            *v1.Pod
		container, all string
	}{
		{"any node", server(), nil, nil, pod("p", "a=2"), "0* 1* 0,1", "0* 1* 0,1"},
		{"a node has a reserved CPU", server(), nil, nil, pod("p", "a=8"), "1* 0,1", "1* 0,1"},
		{"more than a node", server(), nil, nil, pod("p", "a=9"), "0,1*", "0,1*"},
		{"not even both", server(), nil, nil, pod("p", "a=16"), "", ""},
		{"a node is used", server(), nil, pod("q", "a=7"), pod("p", "a=2"), "1* 0,1", "1* 0,1"},
		{"both containers together", server(), nil, nil, pod("p", "a=5", "b=4"), "0* 1* 0,1", "0,1*"},
		{"the larger init container", server(), nil, nil, pod("p", "init:i=8", "a=5"), "1* 0,1", "1* 0,1"},
		{"sidecars run beside", server(), nil, nil, pod("p", "sidecar:s=4", "init:i=2", "a=5"), "0* 1* 0,1", "0,1*"},
		{"a socket counts as one", fourNode(), with(optionSocket), nil, pod("p", "a=3"), "0* 1* 2* 3* 0,1* 0,2 0,3 1,2 1,3 2,3* 0,1,2 0,1,3 0,2,3 1,2,3 0,1,2,3", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFixture(t, c.machine.machine(), c.change)
			if c.before != nil {
				f.admit(t, c.before, 0)
			}
			f.start(c.pod)
			first := append(slices.Clone(c.pod.Spec.InitContainers), c.pod.Spec.Containers...)
			if got := show(f.Hints(c.pod, &first[0])["cpu"]); got != c.container {
				t.Errorf("container: %s, want %s", got, c.container)
			}
			if got := show(f.PodHints(c.pod)["cpu"]); got != c.all && c.all != "" {
				t.Errorf("pod: %s, want %s", got, c.all)
			}
		})
	}
}

// A container that has CPUs gets hints for these, and none if it requests another number now.
func TestHintsAgain(t *testing.T) {
	f := newFixture(t, server().machine(), nil)
	p := pod("p", "a=2")
	f.admit(t, p, 1)
	c := &p.Spec.Containers[0]
	if got, all := show(f.Hints(p, c)["cpu"]), show(f.PodHints(p)["cpu"]); got != "1* 0,1" || all != got {
		t.Errorf("%s, pod %s", got, all)
	}
	more := pod("p", "a=3")
	for _, h := range []map[string][]topology.Hint{f.Hints(more, &more.Spec.Containers[0]), f.PodHints(more)} {
		if list, ok := h["cpu"]; !ok || list == nil || len(list) > 0 {
			t.Errorf("%v, want an empty list", h)
		}
	}
}

// An init container's CPUs must be a part of what the next containers get: only sets with its nodes are hints.
func TestHintsReuse(t *testing.T) {
	f := newFixture(t, server().machine(), nil)
	p := pod("p", "init:i=2", "a=2")
	f.start(p)
	if err := f.Allocate(t.Context(), p, &p.Spec.InitContainers[0], topology.Hint{Nodes: numa.MaskOf(1)}); err != nil {
		t.Fatal(err)
	}
	if got := show(f.Hints(p, &p.Spec.Containers[0])["cpu"]); got != "1* 0,1" {
		t.Error(got)
	}
}

// All containers that share CPUs are changed as soon as these change; a container that was created with the right ones is not.
func TestRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, laptop().machine(), nil)
		shared := pod("s", "a=500m")
		shared.Spec.EphemeralContainers = []v1.EphemeralContainer{{EphemeralContainerCommon: v1.EphemeralContainerCommon{Name: "debug"}}}
		f.start(shared)
		f.Created("s", "a", "s.a", "0-7")
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- f.Run(ctx) }()
		expect := func(when, want string) {
			t.Helper()
			synctest.Wait()
			if got := f.asked(); got != want {
				t.Errorf("%s: %q, want %q", when, got, want)
			}
		}
		time.Sleep(10 * time.Second)
		expect("the first period", "s.debug=0-7")
		p := pod("p", "a=2")
		f.start(p)
		f.sees("p", podstate.Created)
		if err := f.Allocate(t.Context(), p, &p.Spec.Containers[0], topology.Hint{Preferred: true}); err != nil {
			t.Fatal(err)
		}
		expect("an allocation", "s.a=0,2-4,6-7 s.debug=0,2-4,6-7")
		f.Created("p", "a", "p.a", "1,5")
		f.sees("p", podstate.Running)
		time.Sleep(10 * time.Second)
		expect("nothing has changed", "")
		f.fails(errors.New("no such task"))
		f.Release("p")
		expect("a release", "p.a=0-7 s.a=0-7 s.debug=0-7")
		f.fails(nil)
		time.Sleep(10 * time.Second)
		expect("again after a failure", "p.a=0-7 s.a=0-7 s.debug=0-7")
		late := pod("n", "a=500m")
		f.pods = append(f.pods, late)
		f.Created("n", "a", "n.a", "5")
		f.changed()
		expect("created with the CPUs of before", "") // the runtime would change nothing
		f.Started("n", "a", "n.a")
		expect("started with them", "n.a=0-7")
		f.Started("n", "a", "n.a")
		expect("started with the right ones", "")
		f.world.mu.Lock()
		f.seen["n"] = &podstate.Pod{UID: "n", Containers: []podstate.Container{{ID: "n.a", Name: "a", State: podstate.Created}}}
		f.world.mu.Unlock()
		q := pod("q", "a=2")
		f.start(q)
		f.sees("q", podstate.Created)
		if err := f.Allocate(t.Context(), q, &q.Spec.Containers[0], topology.Hint{}); err != nil {
			t.Fatal(err)
		}
		expect("an allocation, before the runtime shows that it runs", "n.a=0,2-4,6-7 p.a=0,2-4,6-7 s.a=0,2-4,6-7 s.debug=0,2-4,6-7")
		f.sees("n", podstate.Running)
		f.Created("n", "a", "n.a2", "5") // the next attempt; the first one was seen
		f.Release("q")
		expect("a release", "n.a=0-7 p.a=0-7 s.a=0-7 s.debug=0-7")
		f.world.mu.Lock()
		f.pods = slices.DeleteFunc(f.pods, func(p *v1.Pod) bool { return p.UID == "n" })
		f.world.mu.Unlock()
		time.Sleep(10 * time.Second)
		expect("its pod is gone", "")
		f.Manager.mu.Lock()
		if len(f.young) != 0 || f.set["n.a2"] != "" {
			t.Errorf("%v, %v", f.young, f.set)
		}
		f.Manager.mu.Unlock()
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
		var warned []string
		for _, r := range f.rec.Records() {
			if l, ok := r.Event.(*trace.Log); ok {
				warned = append(warned, l.Message)
			}
		}
		es := tracetest.Events[trace.Allocation](f.rec)
		if e := es[0]; e.Outcome != trace.AllocationStarted || e.Shared != 7 || e.Pool != "0-7" || len(e.Own) == 0 || e.Own[0].CPUs != 0 {
			t.Errorf("%+v", e)
		}
		if e := es[1]; e.Outcome != trace.AllocationGranted || e.Shared != 5 || e.Own[0].CPUs != 2 || !e.OneCache || e.WholeCores {
			t.Errorf("%+v", e)
		}
		slices.Sort(warned)
		if len(warned) != 3 || warned[1] != "container a of pod shop/s cannot get the CPUs 0-7: no such task" {
			t.Errorf("%q", warned)
		}
	})
}

// A container that ends meanwhile, or has not started yet, is left alone.
func TestRunStates(t *testing.T) {
	f := newFixture(t, laptop().machine(), nil)
	for i, state := range []podstate.State{podstate.Created, podstate.Exited, podstate.Running, podstate.Unknown} {
		p := pod(fmt.Sprint(i), "a=500m")
		f.start(p)
		f.sees(p.UID, state)
	}
	f.pods = append(f.pods, pod("unseen", "a=500m"))
	f.reconcile(t.Context())
	if got := f.asked(); got != "2.a=0-7" {
		t.Error(got)
	}
}
