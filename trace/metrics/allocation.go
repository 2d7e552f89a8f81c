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
	// With the feature gate PodLevelResourceManagers. Without it, they have no series.
	bySource, bySourceErrors, assignments *prometheus.CounterVec
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
		bySource: counters("resource_manager_allocations_total", "Number of exclusive resource allocations performed by a resource manager.", "resource_name", "source"),
		bySourceErrors: counters("resource_manager_allocation_errors_total", "Number of errors encountered during exclusive resource allocation.",
			"resource_name", "source"),
		assignments: counters("resource_manager_container_assignments_total", "Number of containers with a specific type of resource assignment.",
			"resource_name", "assignment_type"),
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
		a.aligned, a.unaligned, a.bySource, a.bySourceErrors, a.assignments,
	}
}

// apply counts a decision.
func (a *allocations) apply(e *trace.Allocation) {
	switch e.Manager {
	case trace.ManagerTopology:
		a.admission(e)
	case trace.ManagerMemory:
		if requests(e) && e.Source != trace.SourcePodShared {
			a.memoryRequests.Inc()
		}
		a.source(e)
	case trace.ManagerCPU:
		a.cpu(e)
	}
}

// cpu counts what the manager of CPUs did. Upstream: pkg/kubelet/cm/cpumanager/policy_static.go.
func (a *allocations) cpu(e *trace.Allocation) {
	if requests(e) {
		if e.Source != trace.SourcePod && e.Source != trace.SourcePodShared {
			a.cpuRequests.Inc()
		}
		if e.WholeCores {
			a.aligned.WithLabelValues("container", ofCore).Inc()
		}
		if e.OneCache {
			a.aligned.WithLabelValues("container", ofCache).Inc()
		}
	}
	a.source(e)
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
		if e.Source != trace.SourcePod {
			a.cpuRequests.Inc()
		}
		a.cpuErrors.Inc()
		a.sourceFailed("cpu", e.Source)
		if e.WholeCores {
			a.unaligned.WithLabelValues("container", ofCore).Inc()
		}
	case e.Hints[0].Provider == "memory":
		a.memoryRequests.Inc()
		a.memoryErrors.Inc()
		a.sourceFailed("memory", e.Source)
	}
}

// requests reports whether something was requested and given.
func requests(e *trace.Allocation) bool {
	return e.Outcome == trace.AllocationGranted || e.Outcome == trace.AllocationKept
}

// source counts whose part of the node a container got. As upstream, memory and huge pages are one allocation each, unless they are of the
// pod.
func (a *allocations) source(e *trace.Allocation) {
	if e.Outcome != trace.AllocationGranted {
		return
	}
	name := string(e.Manager)
	switch e.Source {
	case trace.SourceNode:
		n := 1
		if e.Manager == trace.ManagerMemory {
			n = len(e.Memory)
		}
		a.bySource.WithLabelValues(name, "node").Add(float64(n))
		a.assignments.WithLabelValues(name, "node_exclusive").Inc()
	case trace.SourcePodExclusive, trace.SourcePodShared:
		a.bySource.WithLabelValues(name, "pod").Inc()
		a.assignments.WithLabelValues(name, string(e.Source)).Inc()
	case trace.SourcePod: // its containers count
	}
}

// sourceFailed counts what could not be given; source is empty without the feature gate.
func (a *allocations) sourceFailed(manager string, source trace.AllocationSource) {
	if source != "" {
		a.bySourceErrors.WithLabelValues(manager, string(source)).Inc()
	}
}

// scope returns the label of a scope.
func scope(e *trace.Allocation) string {
	if e.Scope == "pod" {
		return "pod"
	}
	return "container"
}
