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
