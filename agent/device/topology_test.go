package device

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	kubeletv1beta1 "k8s.io/kubelet/config/v1beta1"

	"github.com/kubeloupe/kubeloupe/agent/cpus"
	"github.com/kubeloupe/kubeloupe/agent/memory"
	"github.com/kubeloupe/kubeloupe/agent/numa"
	"github.com/kubeloupe/kubeloupe/agent/topology"
)

// readMachine reads a machine of two NUMA nodes from files as the kernel has them. Each has four CPUs and 4 GiB of memory.
func readMachine(t *testing.T) numa.Machine {
	t.Helper()
	root := t.TempDir()
	files := map[string]string{"node/online": "0-1", "node/node0/cpulist": "0-3", "node/node1/cpulist": "4-7"}
	for node := range 2 {
		files[fmt.Sprintf("node/node%d/meminfo", node)] = fmt.Sprintf("Node %d MemTotal: %d kB", node, 4<<20)
		files[fmt.Sprintf("node/node%d/distance", node)] = []string{"10 21", "21 10"}[node]
	}
	for cpu := range 8 {
		dir := fmt.Sprintf("cpu/cpu%d/topology/", cpu)
		files[dir+"physical_package_id"], files[dir+"core_id"] = fmt.Sprint(cpu/4), fmt.Sprint(cpu%4)
	}
	for name, text := range files {
		path := filepath.Join(root, "sys/devices/system", name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	m, err := numa.Read(root)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// joined is a node with all managers of single pods.
type joined struct {
	*node
	cpus     *cpus.Manager
	memory   *memory.Manager
	topology *topology.Manager
}

// podsOf are the pods of a node for the other managers.
type podsOf struct{ n *node }

func (p podsOf) Active() []*v1.Pod { return p.n.cfg.Active() }
func (p podsOf) Complete() bool    { return true }

const plain = "example.com/plain"

// join makes a node of plugins on a real socket: gpu g0 is on NUMA node 0, g1 and g2 are on 1; the devices of plain are on none. CPU 0 and
// 512 MiB of each NUMA node are reserved.
func join(t *testing.T, policy, scope string) *joined {
	t.Helper()
	machine, dir := readMachine(t), shortDir(t)
	j := &joined{node: newNode(t, dir)}
	j.node.cfg.NUMANodes = machine.IDs()
	j.run(t)
	for name, f := range map[string]*fakePlugin{gpu: {}, plain: {}} {
		socket := strings.ReplaceAll(name, "/", "-") + ".sock"
		f.serve(t, dir, socket)
		if name == gpu {
			f.lists <- append(append(healthy(), on("g0", 0)), on("g1", 1), on("g2", 1))
		} else {
			f.lists <- healthy("p0", "p1")
		}
		if err := register(t, dir, name, socket); err != nil {
			t.Fatal(err)
		}
	}
	j.await(t, gpu, 3, 3)
	j.await(t, plain, 2, 2)
	half, var0 := resource.MustParse("512Mi"), t.TempDir()
	var reserved []kubeletv1beta1.MemoryReservation
	for _, id := range machine.IDs() {
		reserved = append(reserved, kubeletv1beta1.MemoryReservation{NumaNode: int32(id), Limits: v1.ResourceList{v1.ResourceMemory: half}})
	}
	var err error
	if j.cpus, err = cpus.New(cpus.Config{Policy: cpus.Static, Machine: machine, ReservedNumber: 1, Dir: var0, Pods: podsOf{j.node}, TopologyPolicy: policy}); err != nil {
		t.Fatal(err)
	}
	kept := v1.ResourceList{v1.ResourceMemory: resource.MustParse("1Gi")}
	if j.memory, err = memory.New(memory.Config{Policy: memory.Static, Machine: machine, Reserved: reserved, Kept: kept, Dir: var0, Pods: podsOf{j.node}}); err != nil {
		t.Fatal(err)
	}
	j.topology, err = topology.New(topology.Config{
		Policy: policy, Scope: scope, Machine: machine,
		Providers: []topology.Provider{{Name: "device", HintProvider: j.Provider()}, {Name: "cpu", HintProvider: j.cpus}, {Name: "memory", HintProvider: j.memory}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// wants returns a Guaranteed pod. A container is written "name cpus resource=n ...", an init container with "init:" before; each requests
// 1 GiB of memory.
func wants(uid string, all ...string) *v1.Pod {
	pod := podOf(uid, nil)
	for _, text := range all {
		words := strings.Fields(text)
		amounts := v1.ResourceList{v1.ResourceCPU: resource.MustParse(words[1]), v1.ResourceMemory: resource.MustParse("1Gi")}
		for _, w := range words[2:] {
			name, n, _ := strings.Cut(w, "=")
			amounts[v1.ResourceName("example.com/"+name)] = resource.MustParse(n)
		}
		name, init := strings.CutPrefix(words[0], "init:")
		c := v1.Container{Name: name, Resources: v1.ResourceRequirements{Requests: amounts, Limits: amounts}}
		if init {
			pod.Spec.InitContainers = append(pod.Spec.InitContainers, c)
		} else {
			pod.Spec.Containers = append(pod.Spec.Containers, c)
		}
	}
	return pod
}

// admit admits a pod, and returns what its containers got, or why it is refused.
func (j *joined) admit(ctx context.Context, pod *v1.Pod) string {
	j.node.mu.Lock()
	j.active = append(j.active, pod)
	j.node.mu.Unlock()
	if err := j.topology.Admit(ctx, pod); err != nil {
		j.Release(pod.UID)
		j.cpus.Release(pod.UID)
		j.memory.Release(pod.UID)
		return err.Error()
	}
	var out []string
	for _, c := range containers(pod) {
		list, _ := j.cpus.CPUs(pod.UID, c.Name)
		one := c.Name + ": CPUs " + list + ", memory " + j.memory.Nodes(pod.UID, c.Name)
		j.Manager.mu.Lock()
		for _, name := range []string{gpu, plain} {
			if h := j.holds.get(pod.UID, c.Name, name); h != nil {
				one += ", " + strings.Join(h.ids, " ")
			}
		}
		j.Manager.mu.Unlock()
		out = append(out, one)
	}
	return strings.Join(out, "; ")
}

// Devices, CPUs and memory come from the same NUMA nodes, as the policy and its scope say.
func TestJoin(t *testing.T) {
	const apart = "TopologyAffinityError: Resources cannot be allocated with Topology locality"
	few := func(n, of int) string {
		return fmt.Sprintf("UnexpectedAdmissionError: Allocate failed due to requested number of devices unavailable for %s. Requested: %d, Available: %d, which is unexpected", gpu, n, of)
	}
	type by = map[string]string // by policy/scope, or by policy
	both := []string{"a 1 gpu=2", "b 1 gpu=1"}
	for _, tc := range []struct {
		name    string
		earlier []string // containers of a pod that was admitted before
		pod     []string
		want    by
	}{
		{name: "node 1 has both devices", pod: []string{"a 3 gpu=2"}, want: by{
			"none": "a: CPUs 1-3, memory 0, g0 g1", "": "a: CPUs 4-6, memory 1, g1 g2",
		}},
		{name: "two containers, which together need both nodes", pod: both, want: by{
			"none":                       "a: CPUs 1, memory 0, g0 g1; b: CPUs 2, memory 0, g2",
			"best-effort/container":      "a: CPUs 4, memory 1, g1 g2; b: CPUs 1, memory 0, g0",
			"restricted/container":       "a: CPUs 4, memory 1, g1 g2; b: CPUs 1, memory 0, g0",
			"single-numa-node/container": "a: CPUs 4, memory 1, g1 g2; b: CPUs 1, memory 0, g0",
			"best-effort/pod":            "a: CPUs 1, memory 0,1, g0 g1; b: CPUs 2, memory 0,1, g2",
			"restricted/pod":             apart, "single-numa-node/pod": apart,
		}},
		{name: "the CPUs beside the devices are not free", earlier: []string{"x 4"}, pod: []string{"a 2 gpu=2"}, want: by{
			"none": "a: CPUs 1-2, memory 0, g0 g1", "best-effort": "a: CPUs 1-2, memory 0, g0 g1", "restricted": apart, "single-numa-node": apart,
		}},
		{name: "too few devices", pod: []string{"a 1 gpu=4"}, want: by{
			"none": few(4, 3), "best-effort": few(4, 3), "restricted": apart, "single-numa-node": apart,
		}},
		{name: "the devices of an init container are used again", pod: []string{"init:i 1 gpu=2", "a 1 gpu=2"}, want: by{
			"none": "i: CPUs 1, memory 0, g0 g1; a: CPUs 1, memory 0, g0 g1", "": "i: CPUs 4, memory 1, g1 g2; a: CPUs 4, memory 1, g1 g2",
		}},
		{name: "devices of no NUMA node", pod: []string{"a 2 plain=1"}, want: by{"": "a: CPUs 1-2, memory 0, p0"}},
	} {
		for _, policy := range []string{"none", "best-effort", "restricted", "single-numa-node"} {
			for _, scope := range []string{"container", "pod"} {
				want := tc.want[""]
				for _, key := range []string{policy, policy + "/" + scope} {
					if text, ok := tc.want[key]; ok {
						want = text
					}
				}
				j := join(t, policy, scope)
				if tc.earlier != nil {
					j.admit(t.Context(), wants("earlier", tc.earlier...))
				}
				pod := wants("p", tc.pod...)
				if got := j.admit(t.Context(), pod); got != want {
					t.Errorf("%s, %s, %s:\ngot  %s\nwant %s", tc.name, policy, scope, got, want)
				}
				if got := j.admit(t.Context(), pod); got != want {
					t.Errorf("%s, %s, %s, again:\ngot  %s\nwant %s", tc.name, policy, scope, got, want)
				}
				j.stop()
			}
		}
	}
}

// What the plugin is asked for is on the NUMA nodes that were chosen, and is published with them. A pod that runs already keeps what it has,
// whatever its plugin says now; what it lacks, it gets from the nodes that were chosen for it.
func TestJoinedAllocation(t *testing.T) {
	j := join(t, topology.Restricted, topology.ScopeContainer)
	pod := wants("p", "a 1 gpu=2")
	j.admit(t.Context(), pod)
	if err := j.Allocate(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
	if es := j.events(); len(es) != 1 || es[0].Nodes != "1" || es[0].Affinity != "1" || fmt.Sprint(es[0].IDs) != "[g1 g2]" {
		t.Errorf("%+v", es)
	}
	runs := wants("runs", "a 1 plain=3 gpu=1")
	j.node.mu.Lock()
	j.running["runs"] = true
	j.node.mu.Unlock()
	if err := reserve(t.Context(), j.Manager, runs, topology.Hint{Nodes: 1}); err != nil || j.has("runs", "a") != nil {
		t.Errorf("%v, %v: the pod runs", err, j.has("runs", "a"))
	}
	runs.Spec.Containers[0].Resources.Limits[plain] = resource.MustParse("1")
	if _, err := j.Container(t.Context(), runs, &runs.Spec.Containers[0]); err != nil || fmt.Sprint(j.has("runs", "a")) != "[g0]" {
		t.Errorf("%v, %v", err, j.has("runs", "a"))
	}
	j.Release("runs")
	j.Manager.mu.Lock()
	defer j.Manager.mu.Unlock()
	if len(j.near) != 1 {
		t.Errorf("%v", j.near)
	}
}
