package tuitest

import (
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
)

// Attached is another kubelet's node, as the observer of the podresources API tells of it: a machine of two NUMA nodes with static policies,
// devices, a claim, and a pod that the kubelet refused, which is from its log.
func Attached() []trace.Record {
	s := &Script{}
	s.Point(0, Span{}, &trace.Agent{State: trace.AgentReady, Node: "worker-7", Runtime: "containerd", RuntimeVersion: "2.4.2", PID: 741})
	s.Point(time.Second, Span{}, &trace.ResourcesDescribed{
		CPUPolicy: "static", MemoryPolicy: "Static", TopologyPolicy: "single-numa-node", Scope: "pod", Reserved: "0,16",
		Nodes: []trace.NUMANode{{ID: 0, CPUs: "0-7,16-23"}, {ID: 1, CPUs: "8-15,24-31"}},
		Memory: []trace.NUMAMemory{
			{Node: 0, Resource: "hugepages-1Gi", Allocatable: 8 * gib, Free: 4 * gib},
			{Node: 0, Resource: "memory", Allocatable: 60 * gib, Free: 28 * gib},
			{Node: 1, Resource: "memory", Allocatable: 62 * gib, Free: 62 * gib},
		},
	})
	s.Point(time.Second, Span{}, &trace.DevicePlugin{Op: trace.PluginListed, Resource: gpu, Healthy: 4})
	s.Point(time.Second, Span{}, &trace.DevicePlugin{Op: trace.PluginListed, Resource: vf, Healthy: 8})
	train := trace.Pod{Namespace: "ml", Name: "train-0", UID: "a-train"}
	db := trace.Pod{Namespace: "db", Name: "postgres-0", UID: "a-postgres"}
	s.Point(time.Second, Span{}.Of(train), &trace.Allocation{Manager: trace.ManagerCPU, Outcome: trace.AllocationKept, Container: "cuda", CPUs: "1-4,17-20", Nodes: "0"})
	s.Point(time.Second, Span{}.Of(train), &trace.Allocation{
		Manager: trace.ManagerMemory, Outcome: trace.AllocationKept, Container: "cuda", Nodes: "0",
		Memory: []trace.NodeMemory{{Resource: "hugepages-1Gi", Bytes: 4 * gib, Nodes: "0"}, {Resource: "memory", Bytes: 32 * gib, Nodes: "0"}},
	})
	s.Point(time.Second, Span{}.Of(train), &trace.DeviceAllocation{Container: "cuda", Resource: gpu, Outcome: trace.DevicesKept, Count: 2, IDs: []string{"GPU-0", "GPU-1"}, Nodes: "0"})
	s.Point(2*time.Second, Span{}, &trace.ClaimDescribed{
		Namespace: "net", Name: "dpdk-nic", State: trace.ClaimListed, Drivers: []string{nics}, Count: 1, Users: 1,
		Devices: []trace.ClaimDevice{{Driver: nics, Pool: "worker-7", Device: "vf-3", CDI: []string{"nic.example.com/vf=3"}}},
		Pods:    []trace.ClaimPod{{Pod: trace.Pod{Namespace: "net", Name: "dpdk-1"}, Containers: []string{"fwd"}}},
	})
	s.Point(16*time.Second, Span{}.Of(db), &trace.Allocation{Manager: trace.ManagerCPU, Outcome: trace.AllocationGranted, Container: "sql", CPUs: "8-9", Nodes: "1"})
	s.Point(16*time.Second, Span{}.Of(db), &trace.Allocation{
		Manager: trace.ManagerMemory, Outcome: trace.AllocationGranted, Container: "sql", Nodes: "1", Memory: []trace.NodeMemory{{Resource: "memory", Bytes: 16 * gib, Nodes: "1"}},
		Free: []trace.NodeMemory{{Resource: "memory", Bytes: 46 * gib, Nodes: "1"}},
	})
	s.Point(20*time.Second, Span{}.Of(trace.Pod{Namespace: "ml", Name: "large-0", UID: "a-large"}), &trace.Decision{
		By: trace.ByAdmission, Verdict: trace.VerdictReject, Code: "TopologyAffinityError", Reason: "Resources cannot be allocated with Topology locality",
	})
	all := s.Records()
	for i := range all {
		all[i].Observer, all[i].Precision = trace.ObserverKubeletAPI, trace.PrecisionOf(15*time.Second)
		if _, log := all[i].Event.(*trace.Decision); log {
			all[i].Observer, all[i].Precision = trace.ObserverKubeletLog, trace.PrecisionOf(time.Microsecond)
		}
	}
	return all
}
