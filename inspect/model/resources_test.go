package model

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubeloupe/kubeloupe/inspect/internal/tape"
	"github.com/kubeloupe/kubeloupe/trace"
)

var (
	redis = trace.Pod{Namespace: "db", Name: "redis", UID: "r"}
	train = trace.Pod{Namespace: "ml", Name: "train", UID: "t"}
	large = trace.Pod{Namespace: "ml", Name: "large", UID: "l"}
)

const gpu = "example.com/gpu"

// twoNodes is a machine with two NUMA nodes and both static policies.
var twoNodes = trace.ResourcesDescribed{
	CPUPolicy: "static", MemoryPolicy: "Static", TopologyPolicy: "restricted", Scope: "container",
	Nodes: []trace.NUMANode{{ID: 0, CPUs: "0-3"}, {ID: 1, CPUs: "4-7"}}, Reserved: "0", Pool: "0-7",
	Memory: []trace.NUMAMemory{
		{Node: 0, Resource: "memory", Total: 1000, Allocatable: 700, Free: 700},
		{Node: 0, Resource: "hugepages-2Mi", Total: 200, Allocatable: 200, Free: 200},
		{Node: 1, Resource: "memory", Total: 1000, Allocatable: 900, Free: 900},
	},
}

// brief writes what is known, in short.
func brief(r *Resources) string {
	var b strings.Builder
	for _, n := range r.NUMA {
		fmt.Fprintf(&b, "node %d:", n.ID)
		for _, c := range n.CPUs {
			fmt.Fprintf(&b, " %d%c", c.ID, c.Use[0])
			if c.Owner >= 0 {
				fmt.Fprintf(&b, "=%s", r.Owners[c.Owner].Container)
			}
		}
		for _, m := range n.Memory {
			fmt.Fprintf(&b, " %s %d=%d+%d+%d+%d", m.Resource, m.Total, m.Reserved, m.Own, m.Free, m.Pages)
		}
		b.WriteByte('\n')
	}
	for i := range r.Owners {
		o := r.Owners[i]
		fmt.Fprintf(&b, "%s %s: %d CPUs, %d bytes, %d devices on %s\n", o.Pod, o.Container, o.CPUCount(), o.Bytes(), o.DeviceCount(), o.NUMANodes())
	}
	for i := range r.Devices {
		d := &r.Devices[i]
		fmt.Fprintf(&b, "%s %s %v: %d healthy, %d unhealthy, %d given to %v, %d free %s\n", d.Name, d.Plugin, d.Sockets, d.Healthy, d.Unhealthy, d.Given, d.Holders, d.Free(), d.Err)
	}
	for _, f := range r.Refused {
		fmt.Fprintf(&b, "refused %s %s: %s: %s %s%d %d hints\n", f.Pod, f.Container, f.Code, f.Message, f.Resource, f.Count, len(f.Hints))
	}
	return b.String()
}

func TestResources(t *testing.T) {
	type step struct {
		pod  trace.Pod
		e    trace.Event
		want string
	}
	none := trace.Pod{}
	const unused = "node 0: 0r 1s 2s 3s memory 1000=100+0+700+200 hugepages-2Mi 200=0+0+200+0\nnode 1: 4s 5s 6s 7s memory 1000=100+0+900+0\n"
	cpus := func(o trace.AllocationOutcome, container, cpus, nodes, pool string) *trace.Allocation {
		return &trace.Allocation{Manager: trace.ManagerCPU, Outcome: o, Container: container, CPUs: cpus, Nodes: nodes, Pool: pool}
	}
	memory := func(o trace.AllocationOutcome, container string, bytes, left uint64) *trace.Allocation {
		return &trace.Allocation{
			Manager: trace.ManagerMemory, Outcome: o, Container: container, Nodes: "1", Memory: []trace.NodeMemory{{Resource: "memory", Bytes: bytes, Nodes: "1"}},
			Free: []trace.NodeMemory{{Resource: "memory", Bytes: left, Nodes: "1"}},
		}
	}
	of := func(e *trace.Allocation, source trace.AllocationSource) *trace.Allocation {
		e.Source = source
		return e
	}
	const podCPUs = "node 0: 0r 1s 2s 3s memory 1000=100+0+700+200 hugepages-2Mi 200=0+0+200+0\n" +
		"node 1: 4e=redis 5e=redis 6e= 7e= memory 1000=100+0+900+0\ndb/redis : 4 CPUs, 0 bytes, 0 devices on 1\ndb/redis redis: 2 CPUs, 0 bytes, 0 devices on 1\n"
	devices := func(o trace.DeviceOutcome, count int, ids ...string) *trace.DeviceAllocation {
		return &trace.DeviceAllocation{Container: "cuda", Resource: gpu, Outcome: o, Count: count, IDs: ids, Nodes: "0"}
	}
	for name, steps := range map[string][]step{
		"CPUs and memory": {
			{none, &twoNodes, unused},
			{redis, cpus(trace.AllocationGranted, "redis", "4-5", "1", "0-3,6-7"), "node 0: 0r 1s 2s 3s memory 1000=100+0+700+200 hugepages-2Mi 200=0+0+200+0\n" +
				"node 1: 4e=redis 5e=redis 6s 7s memory 1000=100+0+900+0\ndb/redis redis: 2 CPUs, 0 bytes, 0 devices on 1\n"},
			{redis, memory(trace.AllocationGranted, "redis", 300, 600), "node 0: 0r 1s 2s 3s memory 1000=100+0+700+200 hugepages-2Mi 200=0+0+200+0\n" +
				"node 1: 4e=redis 5e=redis 6s 7s memory 1000=100+300+600+0\ndb/redis redis: 2 CPUs, 300 bytes, 0 devices on 1\n"},
			{trace.Pod{UID: "r"}, cpus(trace.AllocationReleased, "redis", "4-5", "", "0-7"), "node 0: 0r 1s 2s 3s memory 1000=100+0+700+200 hugepages-2Mi 200=0+0+200+0\n" +
				"node 1: 4s 5s 6s 7s memory 1000=100+300+600+0\ndb/redis redis: 0 CPUs, 300 bytes, 0 devices on 1\n"},
			{redis, memory(trace.AllocationReleased, "redis", 300, 900), unused},
			{redis, memory(trace.AllocationReleased, "redis", 300, 900), unused},
		},
		"a pod with pod-level resources": {
			{none, &twoNodes, unused},
			{redis, of(cpus(trace.AllocationGranted, "", "4-7", "1", "0-3"), trace.SourcePod), "node 0: 0r 1s 2s 3s memory 1000=100+0+700+200 hugepages-2Mi 200=0+0+200+0\n" +
				"node 1: 4e= 5e= 6e= 7e= memory 1000=100+0+900+0\ndb/redis : 4 CPUs, 0 bytes, 0 devices on 1\n"},
			{redis, of(cpus(trace.AllocationGranted, "redis", "4-5", "1", "0-3"), trace.SourcePodExclusive), podCPUs},
			{redis, of(cpus(trace.AllocationGranted, "log", "6-7", "1", "0-3"), trace.SourcePodShared), podCPUs}, // the pod has them
			{redis, of(memory(trace.AllocationGranted, "", 300, 600), trace.SourcePod), strings.NewReplacer("1000=100+0+900+0", "1000=100+300+600+0", "4 CPUs, 0 bytes", "4 CPUs, 300 bytes").Replace(podCPUs)},
			{redis, of(memory(trace.AllocationReleased, "", 300, 900), trace.SourcePod), podCPUs},
			{redis, of(cpus(trace.AllocationReleased, "log", "6-7", "", "0-3"), trace.SourcePodShared), podCPUs},
			{redis, of(cpus(trace.AllocationReleased, "redis", "4-5", "", "0-3"), trace.SourcePodExclusive), "node 0: 0r 1s 2s 3s memory 1000=100+0+700+200 hugepages-2Mi 200=0+0+200+0\n" +
				"node 1: 4e= 5e= 6e= 7e= memory 1000=100+0+900+0\ndb/redis : 4 CPUs, 0 bytes, 0 devices on 1\n"},
			{redis, of(cpus(trace.AllocationReleased, "", "4-7", "", "0-7"), trace.SourcePod), unused},
		},
		"an earlier agent's container": {
			{none, &trace.ResourcesDescribed{
				CPUPolicy: "static", MemoryPolicy: "None", Nodes: []trace.NUMANode{{CPUs: "0-3"}}, Reserved: "0", Pool: "0-1",
				Memory: []trace.NUMAMemory{{Resource: "memory", Total: 5}},
			}, "node 0: 0r 1s 2e 3e memory 5=0+0+0+0\n"},
			{redis, cpus(trace.AllocationKept, "redis", "2", "0", ""), "node 0: 0r 1s 2e=redis 3e memory 5=0+0+0+0\ndb/redis redis: 1 CPUs, 0 bytes, 0 devices on 0\n"},
			{redis, &trace.Milestone{Name: trace.MilestoneGone}, "node 0: 0r 1s 2e 3e memory 5=0+0+0+0\n"},
			{none, &trace.Agent{State: trace.AgentStarting}, ""},
		},
		"records without a description": {
			{redis, cpus(trace.AllocationGranted, "redis", "2-3", "0", "0-1"), "node -1: 0s 1s 2e=redis 3e=redis\ndb/redis redis: 2 CPUs, 0 bytes, 0 devices on 0\n"},
		},
		"devices": {
			{none, &trace.DevicePlugin{Op: trace.PluginRegistered, Resource: gpu, Socket: "a"}, gpu + " connected [a]: 0 healthy, 0 unhealthy, 0 given to [], 0 free \n"},
			{none, &trace.DevicePlugin{Op: trace.PluginDevices, Resource: gpu, Socket: "a", Healthy: 3, Unhealthy: 1}, gpu + " connected [a]: 3 healthy, 1 unhealthy, 0 given to [], 3 free \n"},
			{train, devices(trace.DevicesAllocated, 2, "g0", "g1"), "ml/train cuda: 0 CPUs, 0 bytes, 2 devices on 0\n" + gpu + " connected [a]: 3 healthy, 1 unhealthy, 2 given to [0], 1 free \n"},
			{train, devices(trace.DevicesPrepared, 2), "ml/train cuda: 0 CPUs, 0 bytes, 2 devices on 0\n" + gpu + " connected [a]: 3 healthy, 1 unhealthy, 2 given to [0], 1 free \n"},
			{none, &trace.DevicePlugin{Op: trace.PluginGone, Resource: gpu, Socket: "a", Err: "EOF"}, "ml/train cuda: 0 CPUs, 0 bytes, 2 devices on 0\n" + gpu + " gone []: 3 healthy, 1 unhealthy, 2 given to [0], 1 free EOF\n"},
			{none, &trace.DevicePlugin{Op: trace.PluginDevices, Resource: gpu, Socket: "a", Unhealthy: 4}, "ml/train cuda: 0 CPUs, 0 bytes, 2 devices on 0\n" + gpu + " gone []: 0 healthy, 4 unhealthy, 2 given to [0], 0 free EOF\n"},
			{none, &trace.DevicePlugin{Op: trace.PluginRemoved, Resource: gpu}, "ml/train cuda: 0 CPUs, 0 bytes, 2 devices on 0\n" + gpu + " removed []: 0 healthy, 0 unhealthy, 2 given to [0], 0 free EOF\n"},
			{train, &trace.Worker{To: trace.WorkerTerminating}, "ml/train cuda: 0 CPUs, 0 bytes, 2 devices on 0\n" + gpu + " removed []: 0 healthy, 0 unhealthy, 2 given to [0], 0 free EOF\n"},
			{train, &trace.Worker{To: trace.WorkerTerminated}, ""},
		},
		"another kubelet": {
			{none, &trace.ResourcesDescribed{
				CPUPolicy: "static", MemoryPolicy: "Static", Nodes: []trace.NUMANode{{ID: 0, CPUs: "0-3"}}, Reserved: "0",
				Memory: []trace.NUMAMemory{{Resource: "memory", Allocatable: 700, Free: 700}},
			}, "node 0: 0r 1s 2s 3s memory 0=0+0+700+0\n"},
			{none, &trace.DevicePlugin{Op: trace.PluginListed, Resource: gpu, Healthy: 2}, "node 0: 0r 1s 2s 3s memory 0=0+0+700+0\n" + gpu + " unknown []: 2 healthy, 0 unhealthy, 0 given to [], 2 free \n"},
			{train, cpus(trace.AllocationKept, "cuda", "2-3", "0", ""), "node 0: 0r 1s 2e=cuda 3e=cuda memory 0=0+0+700+0\nml/train cuda: 2 CPUs, 0 bytes, 0 devices on 0\n" + gpu + " unknown []: 2 healthy, 0 unhealthy, 0 given to [], 2 free \n"},
			{train, devices(trace.DevicesAllocated, 1, "g0"), "node 0: 0r 1s 2e=cuda 3e=cuda memory 0=0+0+700+0\nml/train cuda: 2 CPUs, 0 bytes, 1 devices on 0\n" + gpu + " unknown []: 2 healthy, 0 unhealthy, 1 given to [0], 1 free \n"},
			{train, devices(trace.DevicesReleased, 1, "g0"), "node 0: 0r 1s 2e=cuda 3e=cuda memory 0=0+0+700+0\nml/train cuda: 2 CPUs, 0 bytes, 0 devices on 0\n" + gpu + " unknown []: 2 healthy, 0 unhealthy, 0 given to [], 2 free \n"},
			{train, cpus(trace.AllocationReleased, "cuda", "2-3", "", ""), "node 0: 0r 1s 2s 3s memory 0=0+0+700+0\n" + gpu + " unknown []: 2 healthy, 0 unhealthy, 0 given to [], 2 free \n"},
			{train, devices(trace.DevicesReleased, 1, "g0"), "node 0: 0r 1s 2s 3s memory 0=0+0+700+0\n" + gpu + " unknown []: 2 healthy, 0 unhealthy, 0 given to [], 2 free \n"},
		},
		"plugins": {
			{none, &trace.DevicePlugin{Op: trace.PluginRefused, Resource: "cpu", Err: "invalid"}, "cpu refused []: 0 healthy, 0 unhealthy, 0 given to [], 0 free invalid\n"},
			{none, &trace.DevicePlugin{Op: trace.PluginRegistered, Resource: "cpu", Socket: "a"}, "cpu connected [a]: 0 healthy, 0 unhealthy, 0 given to [], 0 free \n"},
			{none, &trace.DevicePlugin{Op: trace.PluginRegistered, Resource: "cpu", Socket: "b"}, "cpu connected [a b]: 0 healthy, 0 unhealthy, 0 given to [], 0 free \n"},
			{none, &trace.DevicePlugin{Op: trace.PluginGone, Resource: "cpu", Socket: "a"}, "cpu connected [b]: 0 healthy, 0 unhealthy, 0 given to [], 0 free \n"},
			{none, &trace.DevicePlugin{Op: trace.PluginGone, Resource: "cpu", Socket: "b"}, "cpu gone []: 0 healthy, 0 unhealthy, 0 given to [], 0 free \n"},
			{none, &trace.DevicePlugin{Op: trace.PluginDevices, Resource: "x", Healthy: 1}, "cpu gone []: 0 healthy, 0 unhealthy, 0 given to [], 0 free \nx connected []: 1 healthy, 0 unhealthy, 0 given to [], 1 free \n"},
		},
		"refusals": {
			{
				large, &trace.Allocation{Manager: trace.ManagerTopology, Outcome: trace.AllocationRefused, Code: "TopologyAffinityError", Err: "no", Hints: []trace.ResourceHints{{Provider: "cpu"}}},
				"refused ml/large : TopologyAffinityError: no 0 1 hints\n",
			},
			{large, &trace.Decision{By: trace.ByAdmission, Verdict: trace.VerdictReject, Code: "TopologyAffinityError", Reason: "more"}, "refused ml/large : TopologyAffinityError: no 0 1 hints\n"},
			{train, devices(trace.DevicesRefused, 4), "refused ml/train cuda: :  " + gpu + "4 0 hints\nrefused ml/large : TopologyAffinityError: no 0 1 hints\n"},
			{
				train, &trace.Decision{By: trace.ByAdmission, Verdict: trace.VerdictReject, Code: "UnexpectedAdmissionError", Reason: "too few"},
				"refused ml/train cuda: UnexpectedAdmissionError: too few " + gpu + "4 0 hints\nrefused ml/large : TopologyAffinityError: no 0 1 hints\n",
			},
			{
				redis, &trace.Decision{By: trace.ByAdmission, Verdict: trace.VerdictReject, Code: "OutOfcpu", Reason: "node is full"},
				"refused db/redis : OutOfcpu: node is full 0 0 hints\nrefused ml/train cuda: UnexpectedAdmissionError: too few " + gpu + "4 0 hints\nrefused ml/large : TopologyAffinityError: no 0 1 hints\n",
			},
			{
				trace.Pod{Namespace: "a", Name: "b"},
				&trace.Decision{By: trace.ByAdmission, Verdict: trace.VerdictReject, Code: "NodeAffinity"},
				"refused db/redis : OutOfcpu: node is full 0 0 hints\nrefused ml/train cuda: UnexpectedAdmissionError: too few " + gpu + "4 0 hints\nrefused ml/large : TopologyAffinityError: no 0 1 hints\n",
			},
		},
		"a rejected pod has nothing": {
			{redis, cpus(trace.AllocationGranted, "redis", "2-3", "0", "0-1"), "node -1: 0s 1s 2e=redis 3e=redis\ndb/redis redis: 2 CPUs, 0 bytes, 0 devices on 0\n"},
			{redis, &trace.Decision{By: trace.ByAdmission, Verdict: trace.VerdictReject, Code: "NodePorts"}, "node -1: 0s 1s\n"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			m, tp := New(Options{}), tape.New()
			for i, s := range steps {
				tp.Point(ms, s.pod, 0, s.e)
				apply(m, tp.Records()[i:])
				if d := cmp.Diff(s.want, brief(m.Resources())); d != "" {
					t.Errorf("after step %d (-want +got):\n%s", i, d)
				}
			}
			if first := m.Resources(); m.Resources() != first {
				t.Error("it is computed again without a change")
			}
		})
	}
}

// Many containers, devices and refusals need bounded memory: the oldest are not kept.
func TestResourcesAreBounded(t *testing.T) {
	m, tp := New(Options{}), tape.New()
	for i := range maxOwners + 100 {
		pod := trace.Pod{Namespace: "a", Name: fmt.Sprint("p", i), UID: fmt.Sprint(i)}
		tp.Point(0, pod, 0, &trace.DeviceAllocation{Container: "c", Resource: gpu, Outcome: trace.DevicesAllocated, Count: 1, IDs: []string{strings.Repeat("x", 1000)}})
		tp.Point(0, pod, 0, &trace.Allocation{Outcome: trace.AllocationRefused, Code: "TopologyAffinityError"})
		tp.Point(0, trace.Pod{}, 0, &trace.DevicePlugin{Op: trace.PluginRefused, Resource: fmt.Sprint(i)})
	}
	apply(m, tp.Records())
	r := m.Resources()
	if len(r.Owners) > maxOwners || len(r.Owners)+r.Omitted != maxOwners+100 || r.Omitted < 100 || len(r.Owners[0].Devices[0].IDs[0]) > maxID {
		t.Errorf("%d containers, %d omitted", len(r.Owners), r.Omitted)
	}
	if len(r.Refused) != maxRefusals || r.Refused[0].Pod.Name != fmt.Sprint("p", maxOwners+99) || len(r.Devices) != maxDevices+1 {
		t.Errorf("%d refusals, %d resources", len(r.Refused), len(r.Devices))
	}
	for _, o := range r.Owners {
		if o.Pod.Name == "p0" {
			t.Error("the oldest container was kept")
		}
	}
}

// A pod has its own CPUs and those of its containers, a container only its own.
func TestHas(t *testing.T) {
	r := Resources{Owners: []*Owner{{Pod: redis}, {Pod: redis, Container: "redis"}, {Pod: train, Container: "cuda"}}}
	for owner, want := range map[int][]bool{-1: {false, false, false, false}, 0: {false, true, true, false}, 1: {false, false, true, false}, 2: {false, false, false, true}} {
		for i, has := range want {
			if got := r.Has(owner, CPU{Owner: i - 1}); got != has {
				t.Errorf("owner %d has a CPU of %d: %t, want %t", owner, i-1, got, has)
			}
		}
	}
}

func TestCPUList(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "0-3,8": "0-3,8", "7, 5-6": "5-7", "1,1": "1", "x,2": "2", "3-1": "", "0-99999999": "", "4-": "", "16383": "16383", "0-16383,0-16383,0-16383": "0-16383",
	} {
		if got := FormatCPUs(cpuSet(text)); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
