package metrics

import (
	"strings"
	"testing"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
)

// The managers of CPUs, memory and topology: upstream's names.
func TestAllocations(t *testing.T) {
	s, reg := newSink(t)
	put := func(e trace.Allocation) { s.Apply(&trace.Record{Edge: trace.EdgePoint, Event: &e}) }
	use := []trace.NodeCPUs{{Node: 0, CPUs: 3}, {Node: 1}}
	put(trace.Allocation{Manager: trace.ManagerCPU, Outcome: trace.AllocationStarted, Shared: 7, Own: []trace.NodeCPUs{{Node: 0}, {Node: 1}}})
	put(trace.Allocation{Manager: trace.ManagerCPU, Outcome: trace.AllocationGranted, Shared: 4, Own: use, WholeCores: true, OneCache: true})
	put(trace.Allocation{Manager: trace.ManagerCPU, Outcome: trace.AllocationKept})
	put(trace.Allocation{Manager: trace.ManagerMemory, Outcome: trace.AllocationGranted})
	put(trace.Allocation{Manager: trace.ManagerMemory, Outcome: trace.AllocationReleased})
	admission := func(scope, code, provider string, aligned int) {
		e := trace.Allocation{
			Manager: trace.ManagerTopology, Outcome: trace.AllocationAdmitted, Policy: "single-numa-node", Scope: scope, Code: code, Aligned: aligned, Took: 3 * time.Millisecond,
			WholeCores: true, Hints: []trace.ResourceHints{{Provider: provider}},
		}
		if code != "" {
			e.Outcome = trace.AllocationRefused
		}
		put(e)
	}
	admission("container", "", "", 2)
	admission("pod", "", "", 1)
	admission("pod", "TopologyAffinityError", "", 0)
	admission("container", "SMTAlignmentError", "cpu", 0)
	admission("container", "UnexpectedAdmissionError", "memory", 1)
	got := ours(t, reg)
	for _, line := range []string{
		"kubelet_cpu_manager_pinning_requests_total 3", "kubelet_cpu_manager_pinning_errors_total 1",
		"kubelet_memory_manager_pinning_requests_total 2", "kubelet_memory_manager_pinning_errors_total 1",
		"kubelet_cpu_manager_shared_pool_size_millicores 4000", "kubelet_cpu_manager_exclusive_cpu_allocation_count 3",
		`kubelet_cpu_manager_allocation_per_numa{numa_node="0"} 3`, `kubelet_cpu_manager_allocation_per_numa{numa_node="1"} 0`,
		"kubelet_topology_manager_admission_requests_total 5", "kubelet_topology_manager_admission_errors_total 3",
		"kubelet_topology_manager_admission_duration_ms_sum 15",
		`kubelet_container_aligned_compute_resources_count{boundary="numa_node",scope="container"} 3`,
		`kubelet_container_aligned_compute_resources_count{boundary="numa_node",scope="pod"} 1`,
		`kubelet_container_aligned_compute_resources_count{boundary="physical_cpu",scope="container"} 1`,
		`kubelet_container_aligned_compute_resources_count{boundary="uncore_cache",scope="container"} 1`,
		`kubelet_container_aligned_compute_resources_failure_count{boundary="numa_node",scope="pod"} 1`,
		`kubelet_container_aligned_compute_resources_failure_count{boundary="numa_node",scope="container"} 0`,
		`kubelet_container_aligned_compute_resources_failure_count{boundary="physical_cpu",scope="container"} 1`,
	} {
		if !strings.Contains(got, line+"\n") {
			t.Errorf("no %s", line)
		}
	}
	if t.Failed() {
		t.Log(got)
	}
}

// With the feature gate PodLevelResourceManagers, records say whose an allocation is; without it, the metrics of that have no series.
func TestAllocationSources(t *testing.T) {
	s, reg := newSink(t)
	put := func(e trace.Allocation) { s.Apply(&trace.Record{Edge: trace.EdgePoint, Event: &e}) }
	put(trace.Allocation{Manager: trace.ManagerCPU, Outcome: trace.AllocationGranted, CPUs: "1"})
	put(trace.Allocation{Manager: trace.ManagerMemory, Outcome: trace.AllocationGranted, Memory: []trace.NodeMemory{{}}})
	put(trace.Allocation{Manager: trace.ManagerTopology, Outcome: trace.AllocationRefused, Policy: "none", Hints: []trace.ResourceHints{{Provider: "cpu"}}})
	if got := ours(t, reg); strings.Contains(got, "kubelet_resource_manager_") {
		t.Error(got)
	}
	for _, manager := range []trace.AllocationManager{trace.ManagerCPU, trace.ManagerMemory} {
		of := func(outcome trace.AllocationOutcome, source trace.AllocationSource) {
			put(trace.Allocation{Manager: manager, Outcome: outcome, Source: source, Memory: make([]trace.NodeMemory, 2)})
		}
		of(trace.AllocationGranted, trace.SourceNode)
		of(trace.AllocationGranted, trace.SourcePod)
		of(trace.AllocationGranted, trace.SourcePodExclusive)
		of(trace.AllocationGranted, trace.SourcePodShared)
		of(trace.AllocationGranted, trace.SourcePodShared)
		of(trace.AllocationKept, trace.SourcePodShared)
		of(trace.AllocationReleased, trace.SourcePod)
		for _, source := range []trace.AllocationSource{trace.SourceNode, trace.SourcePod, trace.SourcePod} {
			put(trace.Allocation{
				Manager: trace.ManagerTopology, Outcome: trace.AllocationRefused, Policy: "none", Source: source, Code: "UnexpectedAdmissionError",
				Hints: []trace.ResourceHints{{Provider: string(manager)}},
			})
		}
	}
	got := ours(t, reg)
	for _, line := range []string{
		`kubelet_resource_manager_allocations_total{resource_name="cpu",source="node"} 1`,
		`kubelet_resource_manager_allocations_total{resource_name="cpu",source="pod"} 3`,
		`kubelet_resource_manager_allocations_total{resource_name="memory",source="node"} 2`,
		`kubelet_resource_manager_allocations_total{resource_name="memory",source="pod"} 3`,
		`kubelet_resource_manager_allocation_errors_total{resource_name="cpu",source="node"} 1`,
		`kubelet_resource_manager_allocation_errors_total{resource_name="memory",source="pod"} 2`,
		`kubelet_resource_manager_container_assignments_total{assignment_type="node_exclusive",resource_name="cpu"} 1`,
		`kubelet_resource_manager_container_assignments_total{assignment_type="pod_exclusive",resource_name="cpu"} 1`,
		`kubelet_resource_manager_container_assignments_total{assignment_type="pod_shared",resource_name="memory"} 2`,
		// Of CPUs, the pod itself is no request; of memory, it is. A failure for the pod is no request of CPUs.
		"kubelet_cpu_manager_pinning_requests_total 5", "kubelet_cpu_manager_pinning_errors_total 4",
		"kubelet_memory_manager_pinning_requests_total 7", "kubelet_memory_manager_pinning_errors_total 3",
	} {
		if !strings.Contains(got, line+"\n") {
			t.Errorf("no %s", line)
		}
	}
	if t.Failed() {
		t.Log(got)
	}
}
