package tuitest

import (
	"fmt"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
)

const (
	gpu  = "nvidia.com/gpu"
	vf   = "intel.com/sriov_net_A"
	fpga = "example.com/fpga"
)

// Machine is a machine of two NUMA nodes with static policies: containers have CPUs, memory, huge pages and devices for themselves, a device
// plugin is gone, and three pods are refused.
func Machine() []trace.Record {
	s := &Script{}
	s.Point(0, Span{}, &trace.Agent{State: trace.AgentStarting, Node: "lab-3", Version: "0.1.0", PID: 815})
	s.Point(20*ms, Span{}, &trace.ResourcesDescribed{
		CPUPolicy: "static", Options: "full-pcpus-only", MemoryPolicy: "Static", TopologyPolicy: "restricted", Scope: "container",
		Nodes: []trace.NUMANode{{ID: 0, CPUs: "0-15,32-47"}, {ID: 1, CPUs: "16-31,48-63"}}, Reserved: "0,32", Pool: "0-63",
		Memory: []trace.NUMAMemory{
			{Node: 0, Resource: "memory", Total: 128 * gib, Allocatable: 114 * gib, Free: 114 * gib},
			{Node: 0, Resource: "hugepages-1Gi", Total: 8 * gib, Allocatable: 8 * gib, Free: 8 * gib},
			{Node: 1, Resource: "memory", Total: 128 * gib, Allocatable: 116 * gib, Free: 116 * gib},
			{Node: 1, Resource: "hugepages-1Gi", Total: 8 * gib, Allocatable: 8 * gib, Free: 8 * gib},
		},
	})
	s.Point(40*ms, Span{}, &trace.Agent{
		State: trace.AgentReady, Node: "lab-3", Runtime: "containerd", RuntimeVersion: "2.4.2", Endpoint: "unix:///run/containerd/containerd.sock",
	})
	n := &nodeScript{Script: s}
	n.plugins()
	n.owners()
	n.refusals()
	return s.Records()
}

// plugins are three, one of which ends.
func (n *nodeScript) plugins() {
	for i, p := range []trace.DevicePlugin{
		{Resource: gpu, Socket: "/var/lib/kubelet/device-plugins/nvidia.sock", Healthy: 7, Unhealthy: 1, Prefers: true},
		{Resource: vf, Socket: "/var/lib/kubelet/device-plugins/sriov.sock", Healthy: 16},
		{Resource: fpga, Socket: "/var/lib/kubelet/device-plugins/fpga.sock", Healthy: 2, PreStart: true},
	} {
		at := time.Second + time.Duration(i)*200*ms
		n.Point(at, Span{}, &trace.DevicePlugin{Op: trace.PluginRegistered, Resource: p.Resource, Socket: p.Socket, PreStart: p.PreStart, Prefers: p.Prefers})
		n.Point(at+ms, Span{}, &trace.DevicePlugin{Op: trace.PluginDevices, Resource: p.Resource, Socket: p.Socket, Healthy: p.Healthy, Unhealthy: p.Unhealthy})
	}
	socket := "/var/lib/kubelet/device-plugins/fpga.sock"
	n.Point(50*time.Second, Span{}, &trace.DevicePlugin{Op: trace.PluginGone, Resource: fpga, Socket: socket, Err: "EOF"})
	n.Point(50*time.Second+ms, Span{}, &trace.DevicePlugin{Op: trace.PluginDevices, Resource: fpga, Socket: socket, Unhealthy: 2})
}

// own is what a container gets.
type own struct {
	ns, pod, container string
	node               int
	cpus, pool         string
	memory, pages      uint64
	freeMem, freePages uint64
	resource           string
	ids                []string
}

// owners are containers with something for themselves.
func (n *nodeScript) owners() {
	for i, o := range []own{
		{ns: "db", pod: "redis-0", container: "redis", node: 0, cpus: "2-3,34-35", pool: "0-1,4-33,36-63", memory: 16 * gib, freeMem: 98 * gib},
		{
			ns: "ml", pod: "train-7c9d-x2z", container: "cuda", node: 1, cpus: "16-23,48-55", pool: "0-1,4-15,24-33,36-47,56-63", memory: 64 * gib, freeMem: 52 * gib,
			resource: gpu, ids: []string{"gpu-4", "gpu-5", "gpu-6", "gpu-7"},
		},
		{ns: "ml", pod: "infer-5f6b-9kq", container: "server", node: 0, resource: gpu, ids: []string{"gpu-0"}},
		{
			ns: "net", pod: "dpdk-1", container: "fwd", node: 0, cpus: "6-7,38-39", pool: "0-1,4-5,8-15,24-33,36-37,40-47,56-63", memory: 2 * gib, freeMem: 96 * gib,
			pages: 4 * gib, freePages: 4 * gib, resource: vf, ids: []string{"0000:3b:02.0", "0000:3b:02.1"},
		},
		{ns: "radio", pod: "l1-0", container: "phy", node: 0, cpus: "8-9,40-41", pool: "0-1,4-5,10-15,24-33,36-37,42-47,56-63", resource: fpga, ids: []string{"fpga0"}},
	} {
		n.own(n.key(o.ns, o.pod), 5*time.Second+time.Duration(i)*3*time.Second, o)
	}
}

func (n *nodeScript) own(key trace.Pod, at time.Duration, o own) {
	sp, node := Span{}.Of(key), fmt.Sprint(o.node)
	n.Point(at, sp, &trace.Milestone{Name: trace.MilestoneSeen, Source: trace.SourceAPI, Spec: &trace.PodSpec{
		Containers: []trace.ContainerSpec{{Name: o.container, Image: "registry.example/" + o.container + ":1"}}, QoS: trace.QoSGuaranteed,
	}})
	a := trace.Allocation{Policy: "static", Outcome: trace.AllocationGranted, Why: trace.AllocationAligned, Container: o.container, Nodes: node, Affinity: node, Preferred: true}
	if o.cpus != "" {
		c := a
		c.Manager, c.CPUs, c.Pool = trace.ManagerCPU, o.cpus, o.pool
		n.Point(at+ms, sp, &c)
	}
	if o.memory > 0 {
		m := a
		m.Manager, m.Policy = trace.ManagerMemory, "Static"
		m.Memory = []trace.NodeMemory{{Resource: "memory", Bytes: o.memory, Nodes: node}}
		m.Free = []trace.NodeMemory{{Resource: "memory", Bytes: o.freeMem, Nodes: node}}
		if o.pages > 0 {
			m.Memory = append(m.Memory, trace.NodeMemory{Resource: "hugepages-1Gi", Bytes: o.pages, Nodes: node})
			m.Free = append(m.Free, trace.NodeMemory{Resource: "hugepages-1Gi", Bytes: o.freePages, Nodes: node})
		}
		n.Point(at+2*ms, sp, &m)
	}
	if len(o.ids) > 0 {
		n.Point(at+9*ms, sp, &trace.DeviceAllocation{
			Container: o.container, Resource: o.resource, Outcome: trace.DevicesAllocated, Count: len(o.ids), IDs: o.ids, Nodes: node, Took: 6 * ms,
		})
	}
	n.Point(at+400*ms, sp, &trace.Milestone{Name: trace.MilestoneStarted, Since: 400 * ms})
	n.Point(at+401*ms, sp, &trace.PodStatus{Phase: trace.PodRunning, Ready: 1, Total: 1})
}

// refusals are for three reasons: NUMA nodes, whole cores, devices.
func (n *nodeScript) refusals() {
	refuse := func(at time.Duration, name string, e trace.Event, code, reason string) {
		key := n.key("ml", name)
		n.Point(at, Span{}.Of(key), &trace.Milestone{Name: trace.MilestoneSeen, Source: trace.SourceAPI, Spec: &trace.PodSpec{
			Containers: []trace.ContainerSpec{{Name: "cuda", Image: "registry.example/cuda:1"}}, QoS: trace.QoSGuaranteed,
		}})
		n.Point(at+ms, Span{}.Of(key), e)
		n.Point(at+2*ms, Span{}.Of(key), &trace.Decision{By: trace.ByAdmission, Subject: key.String(), Verdict: trace.VerdictReject, Code: code, Reason: code + ": " + reason})
		n.Point(at+4*ms, Span{}.Of(key), &trace.PodStatus{Phase: trace.PodFailed, Reason: code, Message: "Pod was rejected: " + reason, Total: 1})
	}
	const odd = "SMT Alignment Error: requested 3 cpus not multiple cpus per core = 2"
	refuse(30*time.Second, "notebook-3", &trace.Allocation{
		Manager: trace.ManagerTopology, Outcome: trace.AllocationRefused, Policy: "restricted", Scope: "container", Container: "cuda", Code: "SMTAlignmentError", Err: odd,
		Hints: []trace.ResourceHints{{Provider: "cpu"}},
	}, "SMTAlignmentError", odd)
	const few = "requested number of devices unavailable for nvidia.com/gpu. Requested: 4, Available: 2"
	refuse(40*time.Second, "train-7c9d-b8m", &trace.DeviceAllocation{Container: "cuda", Resource: gpu, Outcome: trace.DevicesRefused, Count: 4, Err: few}, "UnexpectedAdmissionError", few)
	const far = "Resources cannot be allocated with Topology locality"
	refuse(60*time.Second, "large-0", &trace.Allocation{
		Manager: trace.ManagerTopology, Outcome: trace.AllocationRefused, Policy: "restricted", Scope: "container", Container: "cuda", Code: "TopologyAffinityError", Err: far,
		Affinity: "0,1", Hints: []trace.ResourceHints{
			{Provider: "cpu", Resource: "cpu", Preferred: "0", Possible: "0,1"},
			{Provider: "memory", Resource: "memory", Preferred: "1", Possible: "0,1"},
			{Provider: "memory", Resource: "hugepages-1Gi", Possible: "0,1"},
		},
	}, "TopologyAffinityError", far)
}
