package metrics

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kubeloupe/kubeloupe/trace"
)

// allocations are the collectors of the managers of CPUs, memory and topology. Upstream: pkg/kubelet/metrics/metrics.go.
type allocations struct {
	cpuRequests, cpuErrors, memoryRequests, memoryErrors, admissions, admissionErrors prometheus.Counter
	admissionTook                                                                     prometheus.Histogram
	shared, exclusive                                                                 prometheus.Gauge
	perNode                                                                           *prometheus.GaugeVec
	aligned, unaligned                                                                *prometheus.CounterVec
}

// The boundaries of alignment.
const (
	ofNode  = "numa_node"
	ofCore  = "physical_cpu"
	ofCache = "uncore_cache"
)

func newAllocations() allocations {
	a := allocations{
		cpuRequests:     counter("cpu_manager_pinning_requests_total", "The number of cpu core allocations which required pinning."),
		cpuErrors:       counter("cpu_manager_pinning_errors_total", "The number of cpu core allocations which required pinning failed."),
		memoryRequests:  counter("memory_manager_pinning_requests_total", "The number of memory pages allocations which required pinning."),
		memoryErrors:    counter("memory_manager_pinning_errors_total", "The number of memory pages allocations which required pinning that failed."),
		admissions:      counter("topology_manager_admission_requests_total", "The number of admission requests where resources have to be aligned."),
		admissionErrors: counter("topology_manager_admission_errors_total", "The number of admission request failures where resources could not be aligned."),
		admissionTook:   histogram("topology_manager_admission_duration_ms", "Duration in milliseconds to serve a pod admission request.", prometheus.ExponentialBuckets(.05, 2, 15)),
		shared:          gauge("cpu_manager_shared_pool_size_millicores", "The size of the shared CPU pool for non-guaranteed QoS pods, in millicores."),
		exclusive:       gauge("cpu_manager_exclusive_cpu_allocation_count", "The total number of CPUs exclusively allocated to containers running on this node"),
		perNode:         gauges("cpu_manager_allocation_per_numa", "Number of CPUs allocated per NUMA node", ofNode),
		aligned: counters("container_aligned_compute_resources_count", "Cumulative number of aligned compute resources allocated to containers by alignment type.",
			"scope", "boundary"),
		unaligned: counters("container_aligned_compute_resources_failure_count", "Cumulative number of failures to allocate aligned compute resources to containers by alignment type.",
			"scope", "boundary"),
	}
	for _, c := range []*prometheus.CounterVec{a.aligned, a.unaligned} {
		c.WithLabelValues("container", ofNode)
		c.WithLabelValues("pod", ofNode)
		c.WithLabelValues("container", ofCore)
	}
	a.aligned.WithLabelValues("container", ofCache)
	return a
}

func (a *allocations) all() []prometheus.Collector {
	return []prometheus.Collector{
		a.cpuRequests, a.cpuErrors, a.memoryRequests, a.memoryErrors, a.admissions, a.admissionErrors, a.admissionTook, a.shared, a.exclusive, a.perNode,
		a.aligned, a.unaligned,
	}
}

// apply counts a decision.
func (a *allocations) apply(e *trace.Allocation) {
	switch e.Manager {
	case trace.ManagerTopology:
		a.admission(e)
	case trace.ManagerMemory:
		if e.Outcome == trace.AllocationGranted || e.Outcome == trace.AllocationKept {
			a.memoryRequests.Inc()
		}
	case trace.ManagerCPU:
		a.cpu(e)
	}
}

// cpu counts what the manager of CPUs did. Upstream: pkg/kubelet/cm/cpumanager/policy_static.go.
func (a *allocations) cpu(e *trace.Allocation) {
	if e.Outcome == trace.AllocationGranted || e.Outcome == trace.AllocationKept {
		a.cpuRequests.Inc()
		if e.WholeCores {
			a.aligned.WithLabelValues("container", ofCore).Inc()
		}
		if e.OneCache {
			a.aligned.WithLabelValues("container", ofCache).Inc()
		}
	}
	if e.Outcome == trace.AllocationKept {
		return // nothing has changed
	}
	a.shared.Set(float64(e.Shared * 1000))
	all := 0
	for _, n := range e.Own {
		all += n.CPUs
		a.perNode.WithLabelValues(strconv.Itoa(n.Node)).Set(float64(n.CPUs))
	}
	a.exclusive.Set(float64(all))
}

// admission counts an admission, and the manager that failed. Upstream: pkg/kubelet/cm/topologymanager/scope_*.go.
func (a *allocations) admission(e *trace.Allocation) {
	a.admissions.Inc()
	a.admissionTook.Observe(float64(e.Took.Milliseconds()))
	a.aligned.WithLabelValues(scope(e), ofNode).Add(float64(e.Aligned))
	if e.Outcome != trace.AllocationRefused {
		return
	}
	if e.Policy != "none" {
		a.admissionErrors.Inc()
	}
	switch {
	case e.Code == "TopologyAffinityError":
		if e.Policy == "single-numa-node" {
			a.unaligned.WithLabelValues(scope(e), ofNode).Inc()
		}
	case len(e.Hints) == 0:
	case e.Hints[0].Provider == "cpu":
		a.cpuRequests.Inc()
		a.cpuErrors.Inc()
		if e.WholeCores {
			a.unaligned.WithLabelValues("container", ofCore).Inc()
		}
	case e.Hints[0].Provider == "memory":
		a.memoryRequests.Inc()
		a.memoryErrors.Inc()
	}
}

// scope returns the label of a scope.
func scope(e *trace.Allocation) string {
	if e.Scope == "pod" {
		return "pod"
	}
	return "container"
}
