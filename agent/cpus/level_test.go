package cpus

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeloupe/kubeloupe/agent/checksum"
	"github.com/kubeloupe/kubeloupe/agent/numa"
	"github.com/kubeloupe/kubeloupe/agent/topology"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/tracetest"
)

// levelPod returns a Guaranteed pod whose pod-level resources request the CPUs. Containers are written as for pod; one without = requests
// nothing, and one with ~ before its CPUs has larger limits. Both are Guaranteed only with the pod.
func levelPod(uid, cpus string, containers ...string) *v1.Pod {
	amounts := func(cpu, memory string) v1.ResourceList {
		return v1.ResourceList{v1.ResourceCPU: resource.MustParse(cpu), v1.ResourceMemory: resource.MustParse(memory)}
	}
	p := &v1.Pod{}
	p.UID, p.Name, p.Namespace = types.UID(uid), uid, "shop"
	p.Spec.Resources = &v1.ResourceRequirements{Requests: amounts(cpus, "1Gi"), Limits: amounts(cpus, "1Gi")}
	for _, text := range containers {
		name, cpu, has := strings.Cut(text, "=")
		kind, rest, of := strings.Cut(name, ":")
		if of {
			name = rest
		}
		c := v1.Container{Name: name}
		if has {
			cpu, larger := strings.CutPrefix(cpu, "~")
			cpu, _, _ = strings.Cut(cpu, "/")
			c.Resources = v1.ResourceRequirements{Requests: amounts(cpu, "1Mi"), Limits: amounts(cpu, "1Mi")}
			if larger {
				c.Resources.Limits[v1.ResourceMemory] = resource.MustParse("2Mi")
			}
		}
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

func gateOn(c *Config) { c.PodLevel = true }

// admitPod allocates for the pod, and returns what it and its containers have; the own CPUs of containers have a star.
func (f *fixture) admitPod(t *testing.T, p *v1.Pod, nodes ...int) string {
	t.Helper()
	if !slices.ContainsFunc(f.pods, func(other *v1.Pod) bool { return other.UID == p.UID }) {
		f.start(p)
	}
	if err := f.AllocatePod(t.Context(), p, topology.Hint{Nodes: numa.MaskOf(nodes...), Preferred: true}); err != nil {
		return err.Error()
	}
	return f.has(p)
}

func (f *fixture) has(p *v1.Pod) string {
	var out []string
	if all := f.content.Pods[string(p.UID)].CPUSet; !all.IsEmpty() {
		out = append(out, "pod "+all.String())
	}
	for _, name := range names(p) {
		list, own := f.CPUs(p.UID, name)
		if own {
			list += "*"
		}
		out = append(out, name+" "+list)
	}
	return strings.Join(out, ", ")
}

func TestAllocatePod(t *testing.T) {
	burstable := levelPod("p", "4", "a=2", "b")
	burstable.Spec.Resources.Limits = nil
	for _, c := range []struct {
		name    string
		machine shape
		change  func(*Config)
		pod     *v1.Pod
		nodes   []int
		want    string
		pool    string
		own     bool // the whole pod has no CPU quota
	}{
		{"a part for itself, the rest shared", laptop(), gateOn, levelPod("p", "4", "a=2", "b", "c"), nil, "pod 1-2,5-6, a 1,5*, b 2,6, c 2,6", "0,3-4,7", false},
		{"all for themselves", laptop(), gateOn, levelPod("p", "4", "a=2", "b=2"), nil, "pod 1-2,5-6, a 1,5*, b 2,6*", "0,3-4,7", true},
		{"a rest that nobody has", laptop(), gateOn, levelPod("p", "4", "a=2"), nil, "pod 1-2,5-6, a 1,5*", "0,3-4,7", true},
		{"none for itself", laptop(), gateOn, levelPod("p", "2", "a", "b=~1", "c=500m"), nil, "pod 1,5, a 1,5, b 1,5, c 1,5", "0,2-4,6-7", false},
		{"the chosen NUMA node", server(), gateOn, levelPod("p", "4", "a=2", "b"), []int{1}, "pod 4-5,12-13, a 4,12*, b 5,13", "0-3,6-11,14-15", false},
		{
			"an init container has what a sidecar does not have, then the others", laptop(), gateOn,
			levelPod("p", "4", "sidecar:s=1", "init:i", "init:j=2", "a=1", "b"), nil,
			"pod 1-2,5-6, s 1*, i 2,5-6, j 2,6*, a 5*, b 2,6", "0,3-4,7", false,
		},
		{"a sidecar shares with app containers", laptop(), gateOn, levelPod("p", "4", "init:i=4", "sidecar:s", "a=2", "b"), nil, "pod 1-2,5-6, i 1-2,5-6*, s 2,6, a 1,5*, b 2,6", "0,3-4,7", false},
		{"no whole number", laptop(), gateOn, levelPod("p", "3500m", "a=2", "b"), nil, "a 0-7, b 0-7", "0-7", false},
		{"Burstable", laptop(), gateOn, burstable, nil, "a 0-7, b 0-7", "0-7", false},
		{"the gate is off", laptop(), nil, levelPod("p", "4", "a=2", "b"), nil, "a 0-7, b 0-7", "0-7", false},
		{"too many", laptop(), gateOn, levelPod("p", "8", "a=2", "b"), nil, "not enough cpus available to satisfy request: requested=8, available=7", "0-7", false},
		{"nothing to share", laptop(), gateOn, levelPod("p", "4", "a=4", "b"), nil, "pod rejected, sum of exclusive container cpu requests equals pod budget, leaving no cpus for shared containers", "0-7", false},
		{"nothing to share beside sidecars", laptop(), gateOn, levelPod("p", "2", "sidecar:s=2", "init:i", "a"), nil, "pod rejected, pod has shared init containers but no cpus available for them", "0-7", false},
		{"no whole cores", laptop(), func(c *Config) { with(optionFullCores)(c); gateOn(c) }, levelPod("p", "3", "a=2", "b"), nil, "SMT Alignment Error: requested 3 cpus not multiple cpus per core = 2", "0-7", false},
		{"containers request more than the pod", laptop(), gateOn, levelPod("p", "2", "a=2", "b=2"), nil, "not enough cpus available to satisfy request: requested=2, available=0", "0-7", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFixture(t, c.machine.machine(), c.change)
			got := f.admitPod(t, c.pod, c.nodes...)
			if got != c.want || f.pool() != c.pool {
				t.Errorf("%s, shared %s\nwant %s, shared %s", got, f.pool(), c.want, c.pool)
			}
			if has := strings.HasPrefix(got, "pod 1") || strings.HasPrefix(got, "pod 4"); has && f.Own("p") != c.own {
				t.Errorf("own %t, want %t", f.Own("p"), c.own)
			}
			f.Release("p")
			if f.pool() != "0-7" && f.pool() != "0-15" || len(f.levels)+len(f.content.Pods)+len(f.content.Assigned) > 0 {
				t.Errorf("after the pod: shared %s, %v, %+v", f.pool(), f.levels, f.content)
			}
		})
	}
}

// The reason of an empty pool is upstream's.
func TestEmptyPool(t *testing.T) {
	f := newFixture(t, laptop().machine(), gateOn)
	p := levelPod("p", "2", "a=2", "b")
	err := f.AllocatePod(t.Context(), p, topology.Hint{})
	if e, ok := errors.AsType[*topology.EmptyPoolError](err); !ok || e.Reason() != "EmptyPodSharedPoolError" {
		t.Errorf("%v", err)
	}
	if h := f.PodHints(p)["cpu"]; h == nil || len(h) > 0 {
		t.Errorf("hints %v: no NUMA nodes will do", h)
	}
}

// With the scope container, a container that is Guaranteed itself gets CPUs of the node, and others share the node's.
func TestLevelByContainer(t *testing.T) {
	f := newFixture(t, laptop().machine(), gateOn)
	p := levelPod("p", "4", "a=2", "b=~1", "c")
	if got := f.admit(t, p); got != "a 1,5 b shared c shared" || f.pool() != "0,2-4,6-7" || f.Own("p") || len(f.OfPod("p")) > 0 {
		t.Errorf("%s, shared %s", got, f.pool())
	}
	if h := f.Hints(p, &p.Spec.Containers[0]); show(h["cpu"]) != "0*" {
		t.Error(h)
	}
	all := levelPod("q", "4", "a=1", "b=1")
	if got := f.admit(t, all); !f.Own("q") {
		t.Errorf("%s: each container has CPUs for itself", got)
	}
	es := tracetest.Events[trace.Allocation](f.rec)
	if len(es) != 3 || es[0].Source != trace.SourceNode || es[0].Container != "a" {
		t.Errorf("%+v", es)
	}
	// The scope is now the pod: it keeps what its containers have.
	var err error
	if f.Manager, err = New(f.cfg); err != nil {
		t.Fatal(err)
	}
	if got := f.admitPod(t, p); got != "a 1,5*, b 0,3,6-7, c 0,3,6-7" || len(f.OfPod("p")) > 0 {
		t.Errorf("%s, %v", got, f.OfPod("p"))
	}
}

func TestLevelPodResources(t *testing.T) {
	f := newFixture(t, laptop().machine(), gateOn)
	f.admitPod(t, levelPod("p", "4", "a=2", "b"))
	if own, shared, all := f.Exclusive("p", "a"), f.Exclusive("p", "b"), f.OfPod("p"); !slices.Equal(own, []int{1, 5}) || shared != nil || !slices.Equal(all, []int{1, 2, 5, 6}) {
		t.Error(own, shared, all)
	}
	if len(f.OfPod("other")) > 0 {
		t.Error("a pod without CPUs has some")
	}
}

// What is decided is published: first of the pod, then of its containers.
func TestLevelEvents(t *testing.T) {
	f := newFixture(t, laptop().machine(), gateOn)
	f.admitPod(t, levelPod("p", "4", "a=2", "b"), 0)
	f.Release("p")
	var got []string
	for _, e := range tracetest.Events[trace.Allocation](f.rec) {
		got = append(got, fmt.Sprintf("%s %s %q %s %s | %s", e.Outcome, e.Source, e.Container, e.CPUs, e.Why, e.Pool))
	}
	want := []string{
		`granted pod "" 1-2,5-6 aligned | 0,3-4,7`, `granted pod_exclusive "a" 1,5  | 0,3-4,7`, `granted pod_shared "b" 2,6  | 0,3-4,7`,
		`released pod_exclusive "a" 1,5 ended | 0,3-4,7`, `released pod_shared "b" 2,6 ended | 0,3-4,7`, `released pod "" 1-2,5-6 ended | 0-7`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("%s\nwant %s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	for _, e := range tracetest.Events[trace.Allocation](f.rec)[:3] {
		if len(e.Own) != 1 || e.Own[0].CPUs != 4 || e.Shared != 3 || e.Nodes != "0" {
			t.Errorf("%+v", e)
		}
	}
}

// The next agent keeps what pods have, whatever is free, and frees that of unknown pods.
func TestLevelRestart(t *testing.T) {
	f := newFixture(t, laptop().machine(), gateOn)
	p, q := levelPod("p", "4", "init:i", "a=2", "b"), levelPod("q", "2", "a")
	first := f.admitPod(t, p)
	f.admitPod(t, q)
	again := func(change func(*Config)) {
		t.Helper()
		f.world.pods, f.complete = nil, false
		if change != nil {
			change(&f.cfg)
		}
		var err error
		if f.Manager, err = New(f.cfg); err != nil {
			t.Fatal(err)
		}
	}
	again(nil)
	if h := show(f.PodHints(p)["cpu"]); h != "0*" {
		t.Errorf("hints %s", h)
	}
	if got := f.admitPod(t, p); got != first || f.pool() != "0,4" {
		t.Errorf("%s, shared %s; want %s", got, f.pool(), first)
	}
	f.complete = true
	f.tidy()
	if f.pool() != "0,3-4,7" || len(f.OfPod("q")) > 0 || len(f.OfPod("p")) != 4 {
		t.Errorf("shared %s: the CPUs of the unknown pod are free", f.pool())
	}
	var kept []string
	for _, e := range tracetest.Events[trace.Allocation](f.rec) {
		if e.Outcome == trace.AllocationKept {
			kept = append(kept, string(e.Source)+" "+e.Container+" "+e.CPUs)
		}
	}
	if want := []string{"pod  1-2,5-6", "pod_shared i 1-2,5-6", "pod_exclusive a 1,5", "pod_shared b 2,6"}; !slices.Equal(kept, want) {
		t.Errorf("kept %q, want %q", kept, want)
	}
	// A pod-level request that has grown meanwhile, as another kubelet may have admitted it, does not end the pod.
	grown := levelPod("p", "6", "init:i", "a=2", "b")
	if h := show(f.PodHints(grown)["cpu"]); h != "0*" {
		t.Errorf("hints %s", h)
	}
	if got := f.admitPod(t, grown); got != first {
		t.Errorf("%s, want %s", got, first)
	}
	// The scope is now container: what the containers have, they keep.
	again(nil)
	f.start(p)
	for _, list := range [][]v1.Container{p.Spec.InitContainers, p.Spec.Containers} {
		for i := range list {
			if err := f.Allocate(t.Context(), p, &list[i], topology.Hint{}); err != nil {
				t.Error(err)
			}
		}
	}
	if got := f.has(p); got != first {
		t.Errorf("%s, want %s", got, first)
	}
	// Without the gate, the containers have the same CPUs, as with upstream, until the pod ends.
	again(func(c *Config) { c.PodLevel = false })
	f.start(p)
	if got, want := f.has(p), "i 1-2,5-6*, a 1,5*, b 2,6*"; got != want || len(f.content.Pods) > 0 {
		t.Errorf("%s, want %s", got, want)
	}
	f.Release("p")
	if f.pool() != "0-7" {
		t.Errorf("shared %s", f.pool())
	}
}

// What an agent that was killed has not written is completed: here a container of three.
func TestLevelPartlySaved(t *testing.T) {
	f := newFixture(t, laptop().machine(), gateOn)
	p := levelPod("p", "4", "a=1", "b=1", "c")
	replace(podFile("0,3-4,7", `"p":{"b":"1"}`, `"p":{"cpuSet":"1-2,5-6"}`))(&f.cfg)
	var err error
	if f.Manager, err = New(f.cfg); err != nil {
		t.Fatal(err)
	}
	if got, want := f.admitPod(t, p), "pod 1-2,5-6, a 5*, b 1*, c 2,6"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	// One that has no container yet is not free while the pod is known.
	replace(podFile("0,3-4,7", "", `"p":{"cpuSet":"1-2,5-6"}`))(&f.cfg)
	if f.Manager, err = New(f.cfg); err != nil {
		t.Fatal(err)
	}
	if f.tidy(); f.pool() != "0,3-4,7" {
		t.Errorf("shared %s", f.pool())
	}
	f.world.pods = nil
	if f.tidy(); f.pool() != "0-7" || len(f.content.Pods) > 0 {
		t.Errorf("shared %s", f.pool())
	}
}

// podFile is a state file with that content.
func podFile(pool, entries, pods string) string {
	data := fmt.Sprintf(`{"policyName":"static","defaultCpuSet":%q,"entries":{%s},"podEntries":{%s}}`, pool, entries, pods)
	text, _ := json.Marshal(map[string]any{"policyName": "static", "defaultCpuSet": pool, "data": data, "dataChecksum": checksum.New(data)})
	return string(text)
}

func TestLevelStateIsRefused(t *testing.T) {
	for want, text := range map[string]string{
		`pod: p cpuset: "1-2,5-6" overlaps with default cpuset "0,2-4,7"`: podFile("0,2-4,7", `"p":{"a":"1,5-6"}`, `"p":{"cpuSet":"1-2,5-6"}`),
		`available CPUs "0-7" doesn't match with CPUs in state "0,3-5,7"`: podFile("0,3-4,7", `"p":{"a":"5"}`, `"p":{"cpuSet":"5"}`),
		`CPUs of pod "p"`: podFile("0,3-4,7", "", `"p":{"cpuSet":"x"}`),
		"":                podFile("0-7", "", `"p":{"cpuSet":"1-2"}`), // released, but not yet removed
	} {
		f := newFixture(t, laptop().machine(), gateOn)
		replace(text)(&f.cfg)
		m, err := New(f.cfg)
		if want == "" && (err != nil || len(m.content.Pods) > 0) || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	// An entry without CPUs is none: the container has its CPUs from the node.
	empty := newFixture(t, laptop().machine(), gateOn)
	replace(podFile("0,2-4,6-7", `"p":{"a":"1,5"}`, `"p":{"cpuSet":""}`))(&empty.cfg)
	var err error
	if empty.Manager, err = New(empty.cfg); err != nil {
		t.Fatal(err)
	}
	if empty.Release("p"); empty.pool() != "0-7" {
		t.Errorf("shared %s", empty.pool())
	}
	// Without the gate, what only the pod has is missing in the state, as with upstream.
	f := newFixture(t, laptop().machine(), gateOn)
	f.admitPod(t, levelPod("p", "4", "a=2"))
	f.cfg.PodLevel = false
	if _, err := New(f.cfg); err == nil || !strings.Contains(err.Error(), `doesn't match with CPUs in state "0-1,3-5,7"`) {
		t.Error(err)
	}
}

// TestLevelAsUpstream: the same pods with pod-level resources get the same CPUs as with upstream's static policy (v1.37.1). A program called
// it with random pods and wrote testdata/podlevel.json.
func TestLevelAsUpstream(t *testing.T) {
	text, err := os.ReadFile("testdata/podlevel.json")
	if err != nil {
		t.Fatal(err)
	}
	var all []struct {
		Shape    struct{ Sockets, Nodes, Cores, Threads, Caches int } `json:"shape"`
		Options  []string                                             `json:"options"`
		Reserved int                                                  `json:"reserved"`
		Ops      []struct {
			Remove string   `json:"remove"`
			Pod    string   `json:"pod"`
			CPU    string   `json:"cpu"`
			Each   bool     `json:"each"` // the scope is container
			Nodes  []int    `json:"nodes"`
			Ctrs   []string `json:"ctrs"`
			Hints  []string `json:"hints"`
			Err    string   `json:"err"`
			All    string   `json:"all"`
			Got    string   `json:"got"`
			Pool   string   `json:"pool"`
		} `json:"ops"`
	}
	if err := json.Unmarshal(text, &all); err != nil || len(all) < 30 {
		t.Fatalf("%d scenarios, %v", len(all), err)
	}
	for i, s := range all {
		cfg := Config{
			Policy: Static, Options: map[string]string{}, Machine: shape{s.Shape.Sockets, s.Shape.Nodes, s.Shape.Cores, s.Shape.Threads, s.Shape.Caches}.machine(),
			ReservedNumber: s.Reserved, Dir: t.TempDir(), Pods: &world{}, AlphaOptions: true, BetaOptions: true, PodLevel: true,
		}
		for _, o := range s.Options {
			cfg.Options[o] = "true"
		}
		m, err := New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		for j, op := range s.Ops {
			at := fmt.Sprintf("%d.%d %+v %v %s of %s CPUs: %v", i, j, s.Shape, s.Options, op.Pod, op.CPU, op.Ctrs)
			if op.Remove != "" {
				m.Release(types.UID(op.Remove))
			} else {
				p, hint := levelPod(op.Pod, op.CPU, op.Ctrs...), topology.Hint{Nodes: numa.MaskOf(op.Nodes...), Preferred: true}
				var hints []string
				if err = nil; op.Each {
					for _, name := range names(p) {
						c := containerOf(p, name)
						hints = append(hints, shown(m.Hints(p, c)))
						if err = m.Allocate(t.Context(), p, c, hint); err != nil {
							break
						}
					}
				} else {
					hints = []string{shown(m.PodHints(p))}
					err = m.AllocatePod(t.Context(), p, hint)
				}
				var got []string
				for _, name := range names(p) {
					if set, ok := m.content.Assigned[op.Pod][name]; ok {
						got = append(got, name+" "+set.String())
					}
				}
				text := ""
				if err != nil {
					text = err.Error()
				}
				if !slices.Equal(hints, op.Hints) {
					t.Errorf("%s: hints %q, want %q", at, hints, op.Hints)
				}
				if text != op.Err || strings.Join(got, " ") != op.Got || m.content.Pods[op.Pod].CPUSet.String() != op.All {
					t.Fatalf("%s: %q, %q of %s; want %q, %q of %s", at, text, got, m.content.Pods[op.Pod].CPUSet, op.Err, op.Got, op.All)
				}
			}
			if got := m.content.Default.String(); got != op.Pool {
				t.Fatalf("%s: shared %s, want %s", at, got, op.Pool)
			}
		}
	}
}

func containerOf(p *v1.Pod, name string) *v1.Container {
	for _, list := range [][]v1.Container{p.Spec.InitContainers, p.Spec.Containers} {
		for i := range list {
			if list[i].Name == name {
				return &list[i]
			}
		}
	}
	return nil
}
