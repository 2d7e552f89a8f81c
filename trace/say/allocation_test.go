package say

import (
	"testing"

	"github.com/kubeloupe/kubeloupe/trace"
)

func TestAllocation(t *testing.T) {
	cpu := func(o trace.AllocationOutcome, w trace.AllocationWhy) trace.Allocation {
		return trace.Allocation{Manager: trace.ManagerCPU, Outcome: o, Why: w, Container: "web", CPUs: "2-3", Nodes: "0", Affinity: "0", Pool: "0-1,4-7"}
	}
	of := func(e trace.Allocation, source trace.AllocationSource, container string) trace.Allocation {
		e.Source, e.Container = source, container
		return e
	}
	memory := trace.Allocation{
		Manager: trace.ManagerMemory, Outcome: trace.AllocationReleased, Why: trace.AllocationInitDone, Container: "init", Nodes: "1",
		Memory: []trace.NodeMemory{{Resource: "memory", Bytes: 1 << 30, Nodes: "1"}, {Resource: "hugepages-2Mi", Bytes: 2 << 20, Nodes: "1"}},
	}
	for want, e := range map[string]trace.Allocation{
		"cpu: web has CPUs 2-3 (NUMA node 0) for itself, as NUMA nodes 0 were chosen; all others share CPUs 0-1,4-7":                    cpu(trace.AllocationGranted, trace.AllocationAligned),
		"cpu: web has CPUs 2-3 (NUMA node 0) for itself, not all from NUMA nodes 0, which were chosen; all others share CPUs 0-1,4-7":   cpu(trace.AllocationGranted, trace.AllocationPartly),
		"cpu: web has CPUs 2-3 (NUMA node 0) for itself, some of which an init container had; all others share CPUs 0-1,4-7":            cpu(trace.AllocationGranted, trace.AllocationReused),
		"cpu: web has CPUs 2-3 (NUMA node 0) for itself; all others share CPUs 0-1,4-7":                                                 cpu(trace.AllocationGranted, trace.AllocationAnywhere),
		"cpu: the pod has CPUs 2-3 (NUMA node 0) for all of its containers, as NUMA nodes 0 were chosen; all others share CPUs 0-1,4-7": of(cpu(trace.AllocationGranted, trace.AllocationAligned), trace.SourcePod, ""),
		"cpu: web has CPUs 2-3 (NUMA node 0) of the pod for itself":                                                                     of(cpu(trace.AllocationGranted, ""), trace.SourcePodExclusive, "web"),
		"cpu: web shares CPUs 2-3 (NUMA node 0) of the pod":                                                                             of(cpu(trace.AllocationGranted, ""), trace.SourcePodShared, "web"),
		"cpu: the pod keeps CPUs 2-3 (NUMA node 0)":                                                                                     of(cpu(trace.AllocationKept, ""), trace.SourcePod, ""),
		"cpu: CPUs 2-3 (NUMA node 0) of web belong to the pod again: the pod has ended":                                                 of(cpu(trace.AllocationReleased, trace.AllocationEnded), trace.SourcePodExclusive, "web"),
		"cpu: CPUs 2-3 (NUMA node 0) of the pod are free again: the pod has ended":                                                      of(cpu(trace.AllocationReleased, trace.AllocationEnded), trace.SourcePod, ""),
		"cpu: web keeps CPUs 2-3 (NUMA node 0)":                                                                                         cpu(trace.AllocationKept, ""),
		"cpu: CPUs 2-3 (NUMA node 0) of web are free again: the pod has ended":                                                          cpu(trace.AllocationReleased, trace.AllocationEnded),
		"cpu: CPUs 2-3 (NUMA node 0) of web are free again: the kubelet does not list it any more":                                      cpu(trace.AllocationReleased, trace.AllocationUnlisted),
		"cpu: CPUs 2-3 (NUMA node 0) of web are free again: the pod is unknown":                                                         cpu(trace.AllocationReleased, trace.AllocationStale),
		"memory: 1.0 GiB of memory (NUMA node 1) and 2.0 MiB of hugepages-2Mi (NUMA node 1) of init are free again: it has finished":    memory,
		"topology: the pod is admitted by policy restricted, on NUMA nodes 1":                                                           {Manager: trace.ManagerTopology, Outcome: trace.AllocationAdmitted, Policy: "restricted", Affinity: "1"},
		"cpu: policy static has started; containers share CPUs 0-3":                                                                     {Manager: trace.ManagerCPU, Outcome: trace.AllocationStarted, Policy: "static", Pool: "0-3"},
		"topology: the pod is refused by policy restricted: TopologyAffinityError: no; cpu: NUMA nodes 0, not preferred 1; memory: no NUMA nodes have enough": {
			Manager: trace.ManagerTopology, Outcome: trace.AllocationRefused, Policy: "restricted", Code: "TopologyAffinityError", Err: "no",
			Hints: []trace.ResourceHints{{Provider: "cpu", Resource: "cpu", Preferred: "0", Possible: "1"}, {Provider: "memory", Resource: "memory"}},
		},
	} {
		if got := Allocation(&e); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	for want, h := range map[string]trace.ResourceHints{
		"cpu: nothing to share":                       {Resource: "cpu", Err: "nothing to share"},
		"cpu: any NUMA nodes":                         {Resource: "cpu", Any: true},
		"cpu: NUMA nodes 0 1, none of them preferred": {Provider: "cpu", Possible: "0 1"},
	} {
		if got := Hints(&h); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
