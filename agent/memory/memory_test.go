package memory

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
	kubeletv1beta1 "k8s.io/kubelet/config/v1beta1"

	"github.com/kubeloupe/kubeloupe/agent/memory/state"
	"github.com/kubeloupe/kubeloupe/agent/numa"
	"github.com/kubeloupe/kubeloupe/agent/topology"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/tracetest"
)

// world are the node's pods.
type world struct {
	pods     []*v1.Pod
	complete bool
}

func (w *world) Active() []*v1.Pod { return w.pods }
func (w *world) Complete() bool    { return w.complete }

// machine has NUMA nodes of 4 GiB, of which 512 MiB are huge pages of 2 MiB.
func machine(nodes int) numa.Machine {
	var m numa.Machine
	for i := range nodes {
		m.Nodes = append(m.Nodes, numa.Node{ID: i, Memory: 4 << 30, HugePages: []numa.HugePages{{Size: 2 << 20, Total: 512 << 20}}})
	}
	return m
}

func reserve(amounts ...string) (out []kubeletv1beta1.MemoryReservation) {
	for i, a := range amounts {
		out = append(out, kubeletv1beta1.MemoryReservation{NumaNode: int32(i), Limits: v1.ResourceList{v1.ResourceMemory: resource.MustParse(a)}})
	}
	return out
}

func keep(memory string) v1.ResourceList {
	return v1.ResourceList{v1.ResourceMemory: resource.MustParse(memory), v1.ResourceCPU: resource.MustParse("1")}
}

// pod returns a Guaranteed pod; containers are written name=memory or name=memory+hugepages, with init: or sidecar: before the name.
func pod(uid string, containers ...string) *v1.Pod {
	p := &v1.Pod{}
	p.UID, p.Name, p.Namespace = types.UID(uid), uid, "shop"
	for _, text := range containers {
		name, amount, _ := strings.Cut(text, "=")
		kind, rest, of := strings.Cut(name, ":")
		if of {
			name = rest
		}
		memory, pages, huge := strings.Cut(amount, "+")
		amounts := v1.ResourceList{v1.ResourceCPU: resource.MustParse("1"), v1.ResourceMemory: resource.MustParse(memory)}
		if huge {
			amounts["hugepages-2Mi"] = resource.MustParse(pages)
		}
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

func containers(p *v1.Pod) (out []*v1.Container) {
	for i := range p.Spec.InitContainers {
		out = append(out, &p.Spec.InitContainers[i])
	}
	for i := range p.Spec.Containers {
		out = append(out, &p.Spec.Containers[i])
	}
	return out
}

type fixture struct {
	*Manager
	*world
	rec *tracetest.Recorder
	cfg Config
}

// newFixture has two NUMA nodes, of each of which 256 MiB are reserved.
func newFixture(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{world: &world{complete: true}, rec: tracetest.New(t)}
	f.cfg = Config{Policy: Static, Machine: machine(2), Reserved: reserve("256Mi", "256Mi"), Kept: keep("512Mi"), Dir: t.TempDir(), Pods: f.world, Bus: f.rec.Bus()}
	var err error
	if f.Manager, err = New(f.cfg); err != nil {
		t.Fatal(err)
	}
	return f
}

// admit allocates for all containers, and returns their NUMA nodes, or the error.
func (f *fixture) admit(t *testing.T, p *v1.Pod, preferred bool, nodes ...int) string {
	t.Helper()
	f.pods = append(f.pods, p)
	var out []string
	for _, c := range containers(p) {
		if err := f.Allocate(t.Context(), p, c, topology.Hint{Nodes: numa.MaskOf(nodes...), Preferred: preferred}); err != nil {
			return err.Error()
		}
		out = append(out, c.Name+" "+f.Nodes(p.UID, c.Name))
	}
	return strings.Join(out, " ")
}

// left returns what the NUMA nodes have free, in MiB.
func (f *fixture) left() string {
	var out []string
	for _, id := range slices.Sorted(maps.Keys(f.content.MachineState)) {
		out = append(out, strconv.FormatUint(free(f.content.MachineState, id, v1.ResourceMemory)>>20, 10))
	}
	return strings.Join(out, " ")
}

func TestAllocate(t *testing.T) {
	burstable := pod("b", "a=1Gi")
	burstable.Spec.Containers[0].Resources.Limits = nil
	podLevel := pod("l", "a=1Gi")
	podLevel.Spec.Resources = podLevel.Spec.Containers[0].Resources.DeepCopy()
	for _, c := range []struct {
		name      string
		before    *v1.Pod
		pod       *v1.Pod
		preferred bool
		nodes     []int
		want      string
		left      string
	}{
		{"any node", nil, pod("p", "a=1Gi"), true, nil, "a 0", "2304 3328"},
		{"the chosen node", nil, pod("p", "a=1Gi"), true, []int{1}, "a 1", "3328 2304"},
		{"both nodes", nil, pod("p", "a=4Gi"), true, []int{0, 1}, "a 0,1", "0 2560"},
		{"the chosen node does not have enough", nil, pod("p", "a=4Gi"), false, []int{0}, "a 0,1", "0 2560"},
		{"and had to", pod("q", "a=3Gi"), pod("p", "a=1Gi"), true, []int{0}, "[memorymanager] failed to find NUMA nodes to extend the current topology hint", "256 3328"},
		{"the next node", pod("q", "a=3Gi"), pod("p", "a=1Gi"), true, nil, "a 1", "256 2304"},
		{"too much", nil, pod("p", "a=8Gi"), true, nil, "[memorymanager] failed to get the default NUMA affinity, no NUMA nodes with enough memory is available", "3328 3328"},
		{"a node that gives memory alone gives none together", pod("q", "a=1Gi"), pod("p", "a=4Gi"), true, []int{0, 1}, "[memorymanager] preferred hint violates NUMA node allocation", "2304 3328"},
		{"nodes that give memory together give none alone", pod("q", "a=4Gi"), pod("p", "a=1Gi"), false, nil, "a 0,1", "0 1536"},
		{"huge pages", nil, pod("p", "a=1Gi+512Mi"), true, []int{1}, "a 1", "3328 2304"},
		{"too many huge pages", nil, pod("p", "a=1Gi+2Gi"), true, nil, "[memorymanager] failed to get the default NUMA affinity, no NUMA nodes with enough memory is available", "3328 3328"},
		{"an init container's memory is reused", nil, pod("p", "init:i=2Gi", "a=1Gi", "b=1Gi"), true, []int{0}, "i 0 a 0 b 0", "1280 3328"},
		{"a sidecar's is not", nil, pod("p", "sidecar:s=1Gi", "a=1Gi"), true, []int{0}, "s 0 a 0", "1280 3328"},
		{"Burstable", nil, burstable, true, nil, "a ", "3328 3328"},
		{"pod-level resources", nil, podLevel, true, nil, "a ", "3328 3328"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFixture(t)
			if c.before != nil {
				f.admit(t, c.before, true)
			}
			if got := f.admit(t, c.pod, c.preferred, c.nodes...); got != c.want || f.left() != c.left {
				t.Errorf("%s, left %s; want %s, left %s", got, f.left(), c.want, c.left)
			}
			again, err := New(f.cfg) // the state is consistent
			if err != nil || again.Nodes(c.pod.UID, "a") != f.Nodes(c.pod.UID, "a") {
				t.Error(err)
			}
			f.Release(c.pod.UID)
			f.Release("q")
			if f.left() != "3328 3328" {
				t.Errorf("after the pods: %s", f.left())
			}
		})
	}
}

func TestBlocks(t *testing.T) {
	f := newFixture(t)
	f.admit(t, pod("p", "a=1Gi"), true, 1)
	own := f.Blocks("p", "a")
	if want := []state.Block{{NUMAAffinity: []int{1}, Type: v1.ResourceMemory, Size: 1 << 30}}; !reflect.DeepEqual(own, want) || f.Blocks("p", "b") != nil {
		t.Error(own)
	}
	var all string
	for _, b := range f.Allocatable() {
		all += fmt.Sprintf("%v %s %d; ", b.NUMAAffinity, b.Type, b.Size>>20)
	}
	if want := "[0] hugepages-2Mi 512; [0] memory 3328; [1] hugepages-2Mi 512; [1] memory 3328; "; all != want {
		t.Errorf("%s, want %s", all, want)
	}
}

// TestDescribe has what the nodes have while a container has some of one; with the policy None, what they have in total.
func TestDescribe(t *testing.T) {
	f := newFixture(t)
	f.admit(t, pod("p", "a=1Gi"), true, 1)
	var has, none trace.ResourcesDescribed
	f.Describe(&has)
	want := []trace.NUMAMemory{
		{Node: 0, Resource: "memory", Total: 4 << 30, Allocatable: 3328 << 20, Free: 3328 << 20},
		{Node: 0, Resource: "hugepages-2Mi", Total: 512 << 20, Allocatable: 512 << 20, Free: 512 << 20},
		{Node: 1, Resource: "memory", Total: 4 << 30, Allocatable: 3328 << 20, Free: 2304 << 20},
		{Node: 1, Resource: "hugepages-2Mi", Total: 512 << 20, Allocatable: 512 << 20, Free: 512 << 20},
	}
	if has.MemoryPolicy != Static || !slices.Equal(has.Memory, want) {
		t.Errorf("%+v, want %+v", has, want)
	}
	m, err := New(Config{Policy: None, Machine: machine(1), Dir: t.TempDir(), Pods: f.world})
	if err != nil {
		t.Fatal(err)
	}
	m.Describe(&none)
	if want := []trace.NUMAMemory{{Resource: "memory", Total: 4 << 30}, {Resource: "hugepages-2Mi", Total: 512 << 20}}; none.MemoryPolicy != None || !slices.Equal(none.Memory, want) {
		t.Errorf("%+v, want %+v", none, want)
	}
}

// When the next container is created, the memory of finished init containers is free.
func TestCreated(t *testing.T) {
	f := newFixture(t)
	p := pod("p", "init:i=2Gi", "sidecar:s=256Mi", "a=1Gi")
	f.admit(t, p, true, 0)
	p.Spec.EphemeralContainers = []v1.EphemeralContainer{{EphemeralContainerCommon: v1.EphemeralContainerCommon{Name: "debug"}}}
	for container, want := range map[string]string{"i": "0 0 0", "debug": "0 0 0"} {
		f.Created(p, container)
		if got := f.Nodes("p", "i") + " " + f.Nodes("p", "s") + " " + f.Nodes("p", "a"); got != want {
			t.Errorf("%s: %s, want %s", container, got, want)
		}
	}
	f.Created(p, "a")
	if got := f.Nodes("p", "i") + " " + f.Nodes("p", "s") + " " + f.Nodes("p", "a"); got != " 0 0" || f.left() != "2048 3328" {
		t.Errorf("%q, left %s", got, f.left())
	}
	var whys []trace.AllocationWhy
	var left []trace.NodeMemory
	for _, r := range f.rec.Records() {
		if e, ok := r.Event.(*trace.Allocation); ok && e.Manager == trace.ManagerMemory && e.Outcome == trace.AllocationReleased {
			whys, left = append(whys, e.Why), e.Free
		}
	}
	if want := []trace.NodeMemory{{Resource: "memory", Bytes: 2048 << 20, Nodes: "0"}}; !slices.Equal(left, want) {
		t.Errorf("left %v, want %v", left, want)
	}
	if !slices.Equal(whys, []trace.AllocationWhy{trace.AllocationInitDone}) {
		t.Error(whys)
	}
}

func TestRestart(t *testing.T) {
	f := newFixture(t)
	f.admit(t, pod("p", "a=1Gi"), true)
	f.admit(t, pod("q", "a=1Gi"), true)
	f.pods, f.complete = nil, false
	var err error
	if f.Manager, err = New(f.cfg); err != nil {
		t.Fatal(err)
	}
	if got := f.admit(t, pod("p", "a=1Gi"), true, 1); got != "a 0" || f.left() != "1280 3328" {
		t.Errorf("%s, left %s: it must keep what it has", got, f.left())
	}
	f.complete = true
	p := f.pods[0]
	if h := f.Hints(p, &p.Spec.Containers[0]); show(h["memory"]) != "0*" || f.left() != "2304 3328" || show(f.PodHints(p)["memory"]) != "0*" {
		t.Errorf("%v, left %s: q is unknown", h, f.left())
	}
	more := pod("p", "a=2Gi")
	if h, all := f.Hints(more, &more.Spec.Containers[0]), f.PodHints(more); h != nil || all != nil {
		t.Errorf("%v, %v: another amount than before is no preference", h, all)
	}
}

// A node of those that give memory together gives some alone, too, if the topology manager prefers it: the state is valid, in whatever order
// it is read.
func TestRestartTogetherAndAlone(t *testing.T) {
	f := newFixture(t)
	f.admit(t, pod("q", "a=4Gi"), true)
	if got := f.admit(t, pod("p", "a=1Gi"), true, 1); got != "a 1" {
		t.Fatal(got)
	}
	for range 20 { // the order of a map
		if _, err := New(f.cfg); err != nil {
			t.Fatal(err)
		}
	}
	edit(t, func(c *state.Content) { c.Entries["q"]["a"][0].Size-- })(&f.cfg)
	if _, err := New(f.cfg); err == nil || !strings.Contains(err.Error(), "bytes free and") {
		t.Errorf("%v: what both nodes gave matters", err)
	}
}

// When what such a node gives alone is free again, the node gives only with the others, and the state is valid, too.
func TestRestartTogetherAgain(t *testing.T) {
	f := newFixture(t)
	f.admit(t, pod("q", "a=4Gi"), true)
	f.admit(t, pod("p", "a=1Gi"), true, 1)
	f.Release("p")
	if got := f.content.MachineState[1].Cells; !slices.Equal(got, []int{0, 1}) {
		t.Errorf("NUMA node 1 belongs to %v", got)
	}
	if _, err := New(f.cfg); err != nil {
		t.Fatal(err)
	}
	f.Release("q")
	if got := f.content.MachineState[1].Cells; !slices.Equal(got, []int{1}) {
		t.Errorf("NUMA node 1 belongs to %v", got)
	}
}

// A release gives back to the nodes that gave, if another order left it with others: the amounts fit the blocks that are left.
func TestRestartReleasedInAnotherOrder(t *testing.T) {
	f := newFixture(t)
	before := f.left()
	f.admit(t, pod("q", "a=4Gi"), true, 0, 1)
	f.admit(t, pod("r", "a=1Gi"), true, 0, 1)
	f.Release("q")
	if got := f.admit(t, pod("p", "a=2Gi"), true, 0); got != "a 0" {
		t.Fatal(got)
	}
	f.Release("r")
	if got := f.left(); got != "1280 3328" {
		t.Errorf("left %s", got)
	}
	if _, err := New(f.cfg); err != nil {
		t.Error(err)
	}
	f.Release("p")
	if f.left() != before {
		t.Errorf("left %s, at first %s", f.left(), before)
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
		before         *v1.Pod
		pod            *v1.Pod
		container, all string
	}{
		{"any node", nil, pod("p", "a=1Gi"), "0* 1* 0,1", "0* 1* 0,1"},
		{"both nodes", nil, pod("p", "a=4Gi"), "0,1*", "0,1*"},
		{"too much", nil, pod("p", "a=8Gi"), "", ""},
		{"a node is used", pod("q", "a=3Gi"), pod("p", "a=1Gi"), "1*", "1*"},
		{"together", pod("q", "a=4Gi"), pod("p", "a=1Gi"), "0,1", "0,1"},
		{"both containers", nil, pod("p", "a=2Gi", "b=2Gi"), "0* 1* 0,1", "0,1*"},
		{"the larger init container", nil, pod("p", "init:i=4Gi", "a=1Gi"), "0,1*", "0,1*"},
		{"huge pages", nil, pod("p", "a=1Gi+1Gi"), "0,1*", "0,1*"},
	} {
		f := newFixture(t)
		if c.before != nil {
			f.admit(t, c.before, true)
		}
		f.pods = append(f.pods, c.pod)
		if got, all := show(f.Hints(c.pod, containers(c.pod)[0])["memory"]), show(f.PodHints(c.pod)["memory"]); got != c.container || all != c.all {
			t.Errorf("%s: %s, pod %s; want %s, pod %s", c.name, got, all, c.container, c.all)
		}
	}
}

func TestNewErrors(t *testing.T) {
	for want, change := range map[string]func(*Config){
		`memoryManagerPolicy: unknown policy "x"`:                                      func(c *Config) { c.Policy = "x" },
		"reservedMemory: this machine has no NUMA node 2":                              func(c *Config) { c.Reserved = reserve("1Mi", "1Mi", "1Mi") },
		"memory: the total of all NUMA nodes is 256Mi, and must be 512Mi":              func(c *Config) { c.Reserved = reserve("256Mi") },
		"hugepages-2Mi: the total of all NUMA nodes is 2Mi, and must be 0":             func(c *Config) { c.Reserved[0].Limits["hugepages-2Mi"] = resource.MustParse("2Mi") },
		"memoryManagerPolicy Static needs reservedMemory":                              func(c *Config) { c.Reserved, c.Kept = nil, nil },
		"8589934592 bytes are reserved, more than the":                                 func(c *Config) { c.Reserved, c.Kept = reserve("8Gi"), keep("8Gi") },
		`configured policy "None" differs from state checkpoint policy "Static"`:       func(c *Config) { c.Policy = None },
		"the expected machine state is different from the real one: NUMA node 0: memo": func(c *Config) { c.Reserved, c.Kept = reserve("128Mi", "384Mi"), keep("512Mi") },
		"the expected machine state is different from the real one: 2 NUMA nodes, wan": func(c *Config) { c.Machine, c.Reserved, c.Kept = machine(1), reserve("256Mi"), keep("256Mi") },
		"the memory assignment uses the NUMA that does not exist":                      edit(t, func(c *state.Content) { c.Entries["p"]["a"][0].NUMAAffinity = []int{7} }),
		"the memory assignment uses memory resource that does not exist":               edit(t, func(c *state.Content) { c.Entries["p"]["a"][0].Type = "hugepages-1Gi" }),
		"NUMA node 0 has 1 assignments, want 0":                                        edit(t, func(c *state.Content) { delete(c.Entries, "p") }),
		"NUMA node 0 belongs to [0 1], want [0]":                                       edit(t, func(c *state.Content) { c.MachineState[0].Cells = []int{0, 1} }),
		"NUMA node 0 has 1 resources, want 2":                                          edit(t, func(c *state.Content) { delete(c.MachineState[0].MemoryMap, "memory") }),
		"bytes free and":                                                               edit(t, func(c *state.Content) { c.MachineState[0].MemoryMap["memory"].Free-- }),
		"machine state can not be empty":                                               edit(t, func(c *state.Content) { c.MachineState = nil }),
	} {
		f := newFixture(t)
		f.admit(t, pod("p", "a=1Gi"), true)
		change(&f.cfg)
		if _, err := New(f.cfg); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// edit changes the state file.
func edit(t *testing.T, change func(*state.Content)) func(*Config) {
	return func(cfg *Config) {
		path := filepath.Join(cfg.Dir, stateFile)
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		c, err := state.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		change(&c)
		if text, err = state.Format(c); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func TestNone(t *testing.T) {
	f := newFixture(t)
	f.cfg.Policy, f.cfg.Dir = None, t.TempDir()
	m, err := New(f.cfg)
	if err != nil {
		t.Fatal(err)
	}
	p := pod("p", "a=1Gi")
	c := &p.Spec.Containers[0]
	if err := m.Allocate(t.Context(), p, c, topology.Hint{}); err != nil || m.Nodes("p", "a") != "" || m.Hints(p, c) != nil || m.PodHints(p) != nil {
		t.Error(err)
	}
	if _, err := New(f.cfg); err != nil {
		t.Error(err)
	}
}

// TestAsUpstream: the same pods get memory of the same NUMA nodes as with upstream's static policy (v1.37.1). A program called it with
// random pods and wrote testdata/upstream.json.
func TestAsUpstream(t *testing.T) {
	text, err := os.ReadFile("testdata/upstream.json")
	if err != nil {
		t.Fatal(err)
	}
	var all []struct {
		Shape struct{ Nodes int } `json:"shape"`
		Ops   []struct {
			Remove   string `json:"remove"`
			Pod      string `json:"pod"`
			Nodes    []int  `json:"nodes"`
			Prefer   bool   `json:"prefer"`
			PodHints string `json:"podHints"`
			Ctrs     []struct {
				Kind   string `json:"k"`
				Name   string `json:"n"`
				Memory uint64 `json:"m"`
				Pages  uint64 `json:"h"`
				Hints  string `json:"hints"`
				Got    string `json:"got"`
				Err    string `json:"err"`
			} `json:"ctrs"`
			// Pool is the checksum (FNV-1a) of the machine state as JSON.
			Pool uint32 `json:"pool"`
		} `json:"ops"`
	}
	if err := json.Unmarshal(text, &all); err != nil || len(all) < 20 {
		t.Fatalf("%d scenarios, %v", len(all), err)
	}
	for i, s := range all {
		var r []string
		for range s.Shape.Nodes {
			r = append(r, "256Mi")
		}
		total := resource.NewQuantity(int64(s.Shape.Nodes)<<28, resource.BinarySI).String()
		m, err := New(Config{Policy: Static, Machine: machine(s.Shape.Nodes), Reserved: reserve(r...), Kept: keep(total), Dir: t.TempDir(), Pods: &world{}})
		if err != nil {
			t.Fatal(err)
		}
		for j, op := range s.Ops {
			if op.Remove != "" {
				m.Release(types.UID(op.Remove))
			} else {
				var texts []string
				for _, c := range op.Ctrs {
					text := c.Name + "=" + strconv.FormatUint(c.Memory, 10)
					if c.Kind != "" {
						text = c.Kind + ":" + text
					}
					if c.Pages > 0 {
						text += "+" + strconv.FormatUint(c.Pages, 10)
					}
					texts = append(texts, text)
				}
				p := pod(op.Pod, texts...)
				failed := op.Ctrs[len(op.Ctrs)-1].Err != ""
				if got := shown(m.PodHints(p)); !failed && got != op.PodHints {
					t.Errorf("%d.%d: hints of the pod %s, want %s", i, j, got, op.PodHints)
				}
				for k, c := range containers(p) {
					want := op.Ctrs[k]
					if got := shown(m.Hints(p, c)); got != want.Hints {
						t.Errorf("%d.%d.%d: hints %s, want %s", i, j, k, got, want.Hints)
					}
					err, message := m.Allocate(t.Context(), p, c, topology.Hint{Nodes: numa.MaskOf(op.Nodes...), Preferred: op.Prefer}), ""
					got := ""
					if err != nil {
						message = err.Error()
					} else {
						text, _ := json.Marshal(m.content.Entries[op.Pod][c.Name])
						got = string(text)
					}
					if got != want.Got || message != want.Err {
						t.Fatalf("%d.%d.%d: %s %q, want %s %q", i, j, k, got, message, want.Got, want.Err)
					}
				}
			}
			got, _ := json.Marshal(m.content.MachineState)
			h := fnv.New32a()
			_, _ = h.Write(got)
			if h.Sum32() != op.Pool {
				t.Fatalf("%d.%d: state %s has checksum %d, want %d", i, j, got, h.Sum32(), op.Pool)
			}
		}
	}
}

func shown(hints map[string][]topology.Hint) string {
	list, ok := hints["memory"]
	switch {
	case hints == nil:
		return "nil"
	case !ok:
		return "none"
	}
	return show(list)
}
