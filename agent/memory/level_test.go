package memory

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeloupe/kubeloupe/agent/memory/state"
	"github.com/kubeloupe/kubeloupe/agent/numa"
	"github.com/kubeloupe/kubeloupe/agent/topology"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/tracetest"
)

// levelPod returns a Guaranteed pod whose pod-level resources request an amount, memory or memory+hugepages. Containers are written as for
// pod; one without = requests nothing, and one with ~ has larger limits of CPU. Both are Guaranteed only with the pod. CPU/ may be before an
// amount.
func levelPod(uid, amount string, containers ...string) *v1.Pod {
	list := func(text string) v1.ResourceList {
		cpu, rest, has := strings.Cut(text, "/")
		if !has {
			cpu, rest = "1", text
		}
		memory, pages, huge := strings.Cut(rest, "+")
		out := v1.ResourceList{v1.ResourceCPU: resource.MustParse(cpu), v1.ResourceMemory: resource.MustParse(memory)}
		if huge {
			out["hugepages-2Mi"] = resource.MustParse(pages)
		}
		return out
	}
	p := &v1.Pod{}
	p.UID, p.Name, p.Namespace = types.UID(uid), uid, "shop"
	p.Spec.Resources = &v1.ResourceRequirements{Requests: list(amount), Limits: list(amount)}
	for _, text := range containers {
		name, amount, has := strings.Cut(text, "=")
		kind, rest, of := strings.Cut(name, ":")
		if of {
			name = rest
		}
		c := v1.Container{Name: name}
		if has {
			amount, larger := strings.CutPrefix(amount, "~")
			c.Resources = v1.ResourceRequirements{Requests: list(amount), Limits: list(amount)}
			if larger {
				c.Resources.Limits[v1.ResourceCPU] = resource.MustParse("64")
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

// newLevelFixture is newFixture with the feature gate.
func newLevelFixture(t *testing.T) *fixture {
	t.Helper()
	f := newFixture(t)
	f.cfg.PodLevel = true
	f.again(t)
	return f
}

// again starts the next agent.
func (f *fixture) again(t *testing.T) {
	t.Helper()
	var err error
	if f.Manager, err = New(f.cfg); err != nil {
		t.Fatal(err)
	}
}

// admitPod allocates for the pod, and returns what it and its containers have, or the error.
func (f *fixture) admitPod(t *testing.T, p *v1.Pod, preferred bool, nodes ...int) string {
	t.Helper()
	f.pods = append(f.pods, p)
	if err := f.AllocatePod(t.Context(), p, topology.Hint{Nodes: numa.MaskOf(nodes...), Preferred: preferred}); err != nil {
		return err.Error()
	}
	return f.has(p)
}

// has returns what a pod and its containers have: MiB@NUMA nodes, of huge pages after a +.
func (f *fixture) has(p *v1.Pod) string {
	text := func(of []state.Block) string {
		var out []string
		for _, b := range of {
			sign := ""
			if b.Type != v1.ResourceMemory {
				sign = "+"
			}
			out = append(out, fmt.Sprintf("%s%d@%s", sign, b.Size>>20, numa.Join(b.NUMAAffinity)))
		}
		return strings.Join(out, " ")
	}
	out := []string{"pod " + text(f.content.PodEntries[string(p.UID)].MemoryBlocks)}
	for _, c := range containers(p) {
		out = append(out, c.Name+" "+text(f.content.Entries[string(p.UID)][c.Name]))
	}
	return strings.Join(out, ", ")
}

func TestAllocatePod(t *testing.T) {
	burstable := levelPod("p", "2Gi", "a=1Gi", "b")
	burstable.Spec.Resources.Limits = nil
	for _, c := range []struct {
		name      string
		before    *v1.Pod
		pod       *v1.Pod
		preferred bool
		nodes     []int
		want      string
		left      string
	}{
		{"a part for itself, the rest shared", nil, levelPod("p", "2Gi", "a=512Mi", "b", "c"), true, nil, "pod 2048@0, a 512@0, b 1536@0, c 1536@0", "1280 3328"},
		{"the chosen node", nil, levelPod("p", "2Gi", "a=512Mi", "b=~1Gi"), true, []int{1}, "pod 2048@1, a 512@1, b 1536@1", "3328 1280"},
		{"both nodes", nil, levelPod("p", "4Gi", "a=1Gi", "b"), true, []int{0, 1}, "pod 4096@0,1, a 1024@0,1, b 3072@0,1", "0 2560"},
		{"the chosen node does not have enough", nil, levelPod("p", "4Gi", "a=1Gi", "b"), false, []int{0}, "pod 4096@0,1, a 1024@0,1, b 3072@0,1", "0 2560"},
		{"and had to", pod("q", "a=3Gi"), levelPod("p", "1Gi", "a"), true, []int{0}, "[memorymanager] failed to find NUMA nodes to extend the current topology hint", "256 3328"},
		{"too much", nil, levelPod("p", "8Gi", "a"), true, nil, "[memorymanager] failed to get the default NUMA affinity, no NUMA nodes with enough memory is available", "3328 3328"},
		{"all for themselves", nil, levelPod("p", "1Gi", "a=512Mi", "b=512Mi"), true, nil, "pod 1024@0, a 512@0, b 512@0", "2304 3328"},
		{
			"an init container has what a sidecar does not have, then the others", nil, levelPod("p", "2Gi", "sidecar:s=512Mi", "init:i", "init:j=1Gi", "a=512Mi", "b"), true, nil,
			"pod 2048@0, s 512@0, i 1536@0, j 1024@0, a 512@0, b 1024@0", "1280 3328",
		},
		{"a sidecar shares with app containers", nil, levelPod("p", "2Gi", "sidecar:s", "a=512Mi", "b"), true, nil, "pod 2048@0, s 1536@0, a 512@0, b 1536@0", "1280 3328"},
		{"huge pages", nil, levelPod("p", "1Gi+128Mi", "a=512Mi+64Mi", "b"), true, nil, "pod +128@0 1024@0, a +64@0 512@0, b +64@0 512@0", "2304 3328"},
		{"huge pages of a container that the pod does not request", nil, levelPod("p", "1Gi", "a=512Mi+64Mi", "b"), true, nil, "pod 1024@0, a +64@0 512@0, b 512@0", "2304 3328"},
		{"no number of bytes", nil, levelPod("p", "1000500m", "a=1Mi", "b"), true, nil, "pod , a , b ", "3328 3328"},
		{"Burstable", nil, burstable, true, nil, "pod , a , b ", "3328 3328"},
		{"nothing to share", nil, levelPod("p", "1Gi", "a=1Gi", "b"), true, nil, "pod rejected, sum of exclusive container memory requests equals pod budget, leaving no memory for shared containers", "3328 3328"},
		{"nothing to share beside sidecars", nil, levelPod("p", "1Gi", "sidecar:s=1Gi", "init:i", "a"), true, nil, "pod rejected, pod has shared init containers but no memory available for them", "3328 3328"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newLevelFixture(t)
			if c.before != nil {
				f.admit(t, c.before, true)
			}
			got := f.admitPod(t, c.pod, c.preferred, c.nodes...)
			if got != c.want || f.left() != c.left {
				t.Errorf("%s, left %s\nwant %s, left %s", got, f.left(), c.want, c.left)
			}
			if f.again(t); strings.HasPrefix(got, "pod ") && !strings.HasPrefix(got, "pod rej") && f.has(c.pod) != got { // the state is consistent
				t.Errorf("again: %s", f.has(c.pod))
			}
			f.Release("p")
			f.Release("q")
			if f.left() != "3328 3328" || len(f.content.PodEntries)+len(f.content.Entries)+len(f.shared) > 0 {
				t.Errorf("after the pods: %s, %+v", f.left(), f.content)
			}
		})
	}
}

// The reason of an empty pool is upstream's; without the gate, the pod gets nothing.
func TestEmptyPool(t *testing.T) {
	f := newLevelFixture(t)
	p := levelPod("p", "1Gi+64Mi", "a=512Mi+64Mi", "b")
	err := f.AllocatePod(t.Context(), p, topology.Hint{})
	if e, ok := errors.AsType[*topology.EmptyPoolError](err); !ok || e.Reason() != "EmptyPodSharedPoolError" || !strings.Contains(e.Message, "container hugepages-2Mi requests") {
		t.Errorf("%v", err)
	}
	if h := f.PodHints(p); len(h) != 2 || h["memory"] == nil || len(h["memory"]) > 0 || h["hugepages-2Mi"] == nil {
		t.Errorf("hints %v: no NUMA nodes will do", h)
	}
	off := newFixture(t)
	if got := off.admitPod(t, levelPod("p", "2Gi", "a=1Gi", "b"), true); got != "pod , a , b " || off.PodHints(p) != nil {
		t.Errorf("%s: the gate is off", got)
	}
}

// With the scope container, a container that is Guaranteed itself gets memory of the node, and others get none.
func TestLevelByContainer(t *testing.T) {
	f := newLevelFixture(t)
	p := levelPod("p", "2Gi", "a=1Gi", "b=~512Mi", "c")
	if got := f.admit(t, p, true, 1); got != "a 1 b  c " || f.left() != "3328 2304" || f.OfPod("p") != nil {
		t.Errorf("%s, left %s", got, f.left())
	}
	if h := f.Hints(p, &p.Spec.Containers[0]); show(h["memory"]) != "1*" || f.Hints(p, &p.Spec.Containers[1]) != nil {
		t.Error(h)
	}
	es := tracetest.Events[trace.Allocation](f.rec)
	if len(es) != 1 || es[0].Source != trace.SourceNode || es[0].Container != "a" {
		t.Errorf("%+v", es)
	}
	// The scope is now the pod: it keeps what its containers have.
	f.again(t)
	if got := f.admitPod(t, p, true, 0); got != "pod , a 1024@1, b , c " || f.left() != "3328 2304" {
		t.Errorf("%s, left %s", got, f.left())
	}
}

func TestLevelPodResources(t *testing.T) {
	f := newLevelFixture(t)
	f.admitPod(t, levelPod("p", "2Gi", "a=512Mi", "b"), true)
	if own, shared, all := f.Blocks("p", "a"), f.Blocks("p", "b"), f.OfPod("p"); len(own) != 1 || own[0].Size != 512<<20 || shared != nil || len(all) != 1 || all[0].Size != 2<<30 {
		t.Error(own, shared, all)
	}
	if f.Nodes("p", "b") != "0" || f.OfPod("other") != nil {
		t.Errorf("nodes %s: a container that shares is on the pod's NUMA nodes", f.Nodes("p", "b"))
	}
}

// What is decided is published: first of the pod, then of its containers. What a finished init container had belongs to the pod.
func TestLevelEvents(t *testing.T) {
	f := newLevelFixture(t)
	p := levelPod("p", "2Gi", "init:i", "a=512Mi", "b")
	f.admitPod(t, p, true, 0)
	f.Created(p, "a")
	if got, want := f.has(p), "pod 2048@0, i , a 512@0, b 1536@0"; got != want || f.left() != "1280 3328" {
		t.Errorf("%s, left %s; want %s", got, f.left(), want)
	}
	f.Release("p")
	var got []string
	for _, e := range tracetest.Events[trace.Allocation](f.rec) {
		free := ""
		for _, m := range e.Free {
			free = strconv.FormatUint(m.Bytes>>20, 10)
		}
		got = append(got, fmt.Sprintf("%s %s %q %d %s %s", e.Outcome, e.Source, e.Container, e.Memory[0].Bytes>>20, e.Why, free))
	}
	want := []string{
		`granted pod "" 2048 aligned 1280`, `granted pod_shared "i" 2048  `, `granted pod_exclusive "a" 512  `, `granted pod_shared "b" 1536  `,
		`released pod_shared "i" 2048 init 1280`,
		`released pod_exclusive "a" 512 ended 1280`, `released pod_shared "b" 1536 ended 1280`, `released pod "" 2048 ended 3328`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("%s\nwant %s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// The next agent keeps what pods have, and frees that of unknown pods.
func TestLevelRestart(t *testing.T) {
	f := newLevelFixture(t)
	p, q := levelPod("p", "2Gi", "init:i", "a=512Mi", "b"), levelPod("q", "1Gi", "a")
	f.admitPod(t, p, true, 1)
	f.admitPod(t, q, true, 0)
	f.Created(p, "a")
	first := f.has(p)
	f.pods, f.complete = nil, false
	f.again(t)
	if h := show(f.PodHints(p)["memory"]); h != "1*" {
		t.Errorf("hints %s", h)
	}
	if got := f.admitPod(t, p, true, 0); got != first || f.left() != "2304 1280" {
		t.Errorf("%s, left %s; want %s", got, f.left(), first)
	}
	f.complete = true
	f.tidy()
	if f.left() != "3328 1280" || f.OfPod("q") != nil {
		t.Errorf("left %s: the memory of the unknown pod is free", f.left())
	}
	var kept []string
	for _, e := range tracetest.Events[trace.Allocation](f.rec) {
		if e.Outcome == trace.AllocationKept {
			kept = append(kept, string(e.Source)+" "+e.Container)
		}
	}
	if want := []string{"pod ", "pod_exclusive a", "pod_shared b"}; !slices.Equal(kept, want) {
		t.Errorf("kept %q, want %q", kept, want)
	}
	grown := levelPod("p", "3Gi", "init:i", "a=512Mi", "b")
	if got := f.admitPod(t, grown, true, 1); got != first || show(f.PodHints(grown)["memory"]) != "1*" {
		t.Errorf("%s, want %s", got, first)
	}
	// The scope is now container: the containers keep what they have.
	f.again(t)
	for _, c := range containers(p) {
		if err := f.Allocate(t.Context(), p, c, topology.Hint{}); err != nil {
			t.Error(err)
		}
	}
	if f.has(p) != first || f.Blocks("p", "b") != nil {
		t.Errorf("%s, want %s", f.has(p), first)
	}
	// An entry that is missing because another agent was killed is completed.
	edit(t, func(c *state.Content) { delete(c.Entries["p"], "b") })(&f.cfg)
	f.again(t)
	if got := f.admitPod(t, p, true, 1); got != first {
		t.Errorf("%s, want %s", got, first)
	}
}

func TestLevelStateIsRefused(t *testing.T) {
	for want, change := range map[string]func(*Config){
		"the memory assignment uses the NUMA that does not exist": edit(t, func(c *state.Content) { c.PodEntries["p"].MemoryBlocks[0].NUMAAffinity = []int{7} }),
		"bytes free and": edit(t, func(c *state.Content) { c.PodEntries["p"].MemoryBlocks[0].Size++ }),
		// As upstream, the containers count without the gate, and what they share counts for each.
		"NUMA node 0 has 1 assignments, want 3": func(c *Config) { c.PodLevel = false },
	} {
		f := newLevelFixture(t)
		f.admitPod(t, levelPod("p", "2Gi", "a=512Mi", "b", "c"), true)
		change(&f.cfg)
		if _, err := New(f.cfg); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// An entry of a pod without memory is none: its containers have theirs from the node.
func TestEmptyEntry(t *testing.T) {
	f := newLevelFixture(t)
	f.admit(t, pod("p", "a=1Gi"), true)
	edit(t, func(c *state.Content) {
		c.PodEntries["p"], c.PodEntries["q"] = state.PodEntry{}, state.PodEntry{MemoryBlocks: c.Entries["p"]["a"]}
	})(&f.cfg)
	f.again(t)
	if f.Release("p"); f.left() != "3328 3328" || len(f.content.PodEntries) > 0 {
		t.Errorf("left %s, %+v", f.left(), f.content.PodEntries)
	}
}

// TestLevelAsUpstream: the same pods with pod-level resources get the same memory as with upstream's static policy (v1.37.1). A program
// called it with random pods and wrote testdata/podlevel.json.
func TestLevelAsUpstream(t *testing.T) {
	text, err := os.ReadFile("testdata/podlevel.json")
	if err != nil {
		t.Fatal(err)
	}
	var all []struct {
		Shape struct{ Nodes int } `json:"shape"`
		Ops   []struct {
			Remove string   `json:"remove"`
			Pod    string   `json:"pod"`
			CPU    string   `json:"cpu"`
			Memory string   `json:"memory"`
			Pages  string   `json:"pages"`
			Each   bool     `json:"each"` // the scope is container
			Nodes  []int    `json:"nodes"`
			Prefer bool     `json:"prefer"`
			Ctrs   []string `json:"ctrs"`
			Hints  []string `json:"hints"`
			Err    string   `json:"err"`
			All    string   `json:"all"`
			Got    string   `json:"got"`
			// Pool is the checksum (FNV-1a) of the machine state as JSON.
			Pool string `json:"pool"`
		} `json:"ops"`
	}
	if err := json.Unmarshal(text, &all); err != nil || len(all) < 30 {
		t.Fatalf("%d scenarios, %v", len(all), err)
	}
	shownBlocks := func(of []state.Block) string {
		if of == nil {
			return ""
		}
		text, _ := json.Marshal(of)
		return string(text)
	}
	// Of several resources that nothing is left of, upstream names any.
	anyOf := strings.NewReplacer("hugepages-2Mi", "R", "container memory", "container R", "no memory", "no R")
	for i, s := range all {
		var r []string
		for range s.Shape.Nodes {
			r = append(r, "256Mi")
		}
		total := resource.NewQuantity(int64(s.Shape.Nodes)<<28, resource.BinarySI).String()
		m, err := New(Config{Policy: Static, Machine: machine(s.Shape.Nodes), Reserved: reserve(r...), Kept: keep(total), PodLevel: true, Dir: t.TempDir(), Pods: &world{}})
		if err != nil {
			t.Fatal(err)
		}
		for j, op := range s.Ops {
			at := fmt.Sprintf("%d.%d %s of %s+%s: %v", i, j, op.Pod, op.Memory, op.Pages, op.Ctrs)
			if op.Remove != "" {
				m.Release(types.UID(op.Remove))
			} else {
				amount := op.CPU + "/" + op.Memory
				if op.Pages != "" {
					amount += "+" + op.Pages
				}
				p, hint := levelPod(op.Pod, amount, op.Ctrs...), topology.Hint{Nodes: numa.MaskOf(op.Nodes...), Preferred: op.Prefer}
				var hints, got []string
				if err = nil; op.Each {
					for _, c := range containers(p) {
						hints = append(hints, shown(m.Hints(p, c)))
						if err = m.Allocate(t.Context(), p, c, hint); err != nil {
							break
						}
					}
				} else {
					hints = []string{shown(m.PodHints(p))}
					err = m.AllocatePod(t.Context(), p, hint)
				}
				for _, c := range containers(p) {
					if b, ok := m.content.Entries[op.Pod][c.Name]; ok {
						got = append(got, c.Name+" "+shownBlocks(b))
					}
				}
				text := ""
				if err != nil {
					text = err.Error()
				}
				if !slices.Equal(hints, op.Hints) {
					t.Errorf("%s: hints %q, want %q", at, hints, op.Hints)
				}
				if has := shownBlocks(m.content.PodEntries[op.Pod].MemoryBlocks); anyOf.Replace(text) != anyOf.Replace(op.Err) || strings.Join(got, " ") != op.Got || has != op.All {
					t.Fatalf("%s:\n%q, %q of %s; want\n%q, %q of %s", at, text, got, has, op.Err, op.Got, op.All)
				}
			}
			text, _ := json.Marshal(m.content.MachineState)
			h := fnv.New32a()
			_, _ = h.Write(text)
			if got := fmt.Sprint(h.Sum32()); got != op.Pool {
				t.Fatalf("%s: state %s has checksum %s, want %s", at, text, got, op.Pool)
			}
		}
	}
}
