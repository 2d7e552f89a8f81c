package metrics

import (
	"slices"

	"github.com/prometheus/client_golang/prometheus"
)

// Upstream's bucket boundaries, in seconds.
var (
	podStartBuckets  = []float64{0.5, 1, 2, 3, 4, 5, 6, 8, 10, 20, 30, 45, 60, 120, 180, 240, 300, 360, 480, 600, 900, 1200, 1800, 2700, 3600}
	imagePullBuckets = []float64{1, 5, 10, 20, 30, 60, 120, 180, 240, 300, 360, 480, 600, 900, 1200, 1800, 2700, 3600}
	statusBuckets    = []float64{0.010, 0.050, 0.100, 0.500, 1, 5, 10, 20, 30, 45, 60}
	apiBuckets       = []float64{0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60}
	draBuckets       = prometheus.ExponentialBucketsRange(.1, 40, 15)
	storageBuckets   = []float64{.1, .25, .5, 1, 2.5, 5, 10, 15, 25, 50, 120, 300, 600}
)

// set has all our collectors.
//
// Many fields: one for each collector.
type set struct {
	runtimeOps, runtimeOpsErrors      *prometheus.CounterVec
	runtimeOpsDuration                *prometheus.HistogramVec
	podStart, podWorkerStart          prometheus.Histogram
	podWorkerDuration, cgroupDuration *prometheus.HistogramVec
	containersPerPod                  prometheus.Histogram
	plegDuration, plegInterval        prometheus.Histogram
	plegLastSeen, runningPods         prometheus.Gauge
	runningContainers, desiredPods    *prometheus.GaugeVec
	startedPods, startedPodsErrors    prometheus.Counter
	startedContainers                 *prometheus.CounterVec
	startedContainersErrors           *prometheus.CounterVec
	terminatedContainers              *prometheus.CounterVec
	imagePull                         *prometheus.HistogramVec
	imageGC, evictions                *prometheus.CounterVec
	shutdownStart, shutdownEnd        prometheus.Gauge
	probes                            *prometheus.CounterVec
	probeDuration                     *prometheus.HistogramVec
	statusSync                        prometheus.Histogram
	apiRequests, apiRetries           *prometheus.CounterVec
	apiDuration                       *prometheus.HistogramVec
	storage, csi                      *prometheus.HistogramVec
	httpDuration                      *prometheus.HistogramVec
	nodeWrites                        *prometheus.CounterVec
	devicePlugins                     *prometheus.CounterVec
	deviceAllocations                 *prometheus.HistogramVec
	draPods, draCalls                 *prometheus.HistogramVec
	prepareSkips, unprepareSkips      *prometheus.CounterVec
	claimsInUse                       *prometheus.GaugeVec
	podResources, podsAPI             localAPI
	allocations                       allocations
	identity                          identity
	latency                           latency
	nodeStart                         nodeStart
	more                              more
	inflight                          inflight
	resizes                           resizes
	delegated                         delegated
	waitSeconds, records              *prometheus.CounterVec
	recordsLost                       prometheus.Counter
	exportedSpans                     *prometheus.CounterVec
	exportQueue                       prometheus.Gauge
}

func newSet() set {
	return set{
		runtimeOps:         counters("runtime_operations_total", "CRI calls that ended, by operation.", "operation_type"),
		runtimeOpsErrors:   counters("runtime_operations_errors_total", "CRI calls that failed, by operation.", "operation_type"),
		runtimeOpsDuration: histograms("runtime_operations_duration_seconds", "How long CRI calls took, by operation.", prometheus.ExponentialBuckets(.005, 2.5, 14), "operation_type"),
		podStart:           histogram("pod_start_duration_seconds", "From first seeing a pod to all its containers running. Pods found running are left out.", podStartBuckets),
		podWorkerStart:     histogram("pod_worker_start_duration_seconds", "From first seeing a pod to its worker's first sync. Pods that have ended by then are left out.", prometheus.DefBuckets),
		podWorkerDuration:  histograms("pod_worker_duration_seconds", "How long one sync of a pod took, by kind.", prometheus.DefBuckets, "operation_type"),
		cgroupDuration:     histograms("cgroup_manager_duration_seconds", "How long operations on pod cgroups took, by method.", prometheus.DefBuckets, "operation_type"),
		containersPerPod:   histogram("containers_per_pod_count", "Containers per pod that the agent works on: not of rejected ones.", prometheus.ExponentialBuckets(1, 2, 5)),
		plegDuration:       histogram("pleg_relist_duration_seconds", "How long relists took.", prometheus.DefBuckets),
		plegInterval:       histogram("pleg_relist_interval_seconds", "Time from one relist's begin to the next.", prometheus.DefBuckets),
		plegLastSeen:       gauge("pleg_last_seen_seconds", "Unix time at which the last relist began."),
		runningPods:        gauge("running_pods", "Pods that have a sandbox and have not ended, by their last status."),
		runningContainers:  gauges("running_containers", "Containers of the pods' last statuses, by state: running or exited.", "container_state"),
		desiredPods:        gauges("desired_pods", "Pods that the sources hold; static is true for those not from the API server.", "static"),
		startedPods:        counter("started_pods_total", "Attempts to create a pod sandbox."),
		startedPodsErrors:  counter("started_pods_errors_total", "Attempts to create a pod sandbox that failed."),
		startedContainers:  counters("started_containers_total", "Attempts to start a container.", "container_type"),
		startedContainersErrors: counters("started_containers_errors_total", "Attempts to start a container that failed, by reason.",
			"container_type", "code"),
		terminatedContainers: counters("terminated_containers_total", "Containers seen to end.", "container_type", "exit_code", "reason"),
		imagePull:            histograms("image_pull_duration_seconds", "How long pulls took once it was their turn, by image size.", imagePullBuckets, "image_size_in_bytes"),
		imageGC:              counters("image_garbage_collected_total", "Images removed by garbage collection, for space or age.", "reason"),
		evictions:            counters("evictions", "Pods evicted, by the signal that there was too little for, or the limit of local storage that they exceeded.", "eviction_signal"),
		shutdownStart:        gauge("graceful_shutdown_start_time_seconds", "Unix time at which the last graceful shutdown of the node began."),
		shutdownEnd:          gauge("graceful_shutdown_end_time_seconds", "Unix time at which the last graceful shutdown of the node ended; 0 before that."),
		probes:               foreignCounters("prober_probe_total", "Attempts of probes that ended, by kind and result.", "probe_type", "result"),
		probeDuration:        foreign("prober_probe_duration_seconds", "How long attempts of probes took.", prometheus.DefBuckets, "probe_type"),
		statusSync:           histogram("pod_status_sync_duration_seconds", "From a change of a pod's status to its being written in the API.", statusBuckets),
		apiRequests:          foreignCounters("rest_client_requests_total", "Requests to the API server that ended, by status code, method and server.", "code", "method", "host"),
		apiRetries:           foreignCounters("rest_client_request_retries_total", "Further attempts of requests to the API server, which it had asked for, by status code, method and server.", "code", "verb", "host"),
		apiDuration:          foreign("rest_client_request_duration_seconds", "How long requests to the API server took; of a watch, its opening.", apiBuckets, "verb", "host"),
		storage:              foreign("storage_operation_duration_seconds", "How long operations on volumes took.", storageBuckets, "volume_plugin", "operation_name", "status", "migrated"),
		csi:                  foreign("csi_operations_seconds", "How long calls of CSI drivers took.", storageBuckets, "driver_name", "method_name", "grpc_status_code", "migrated"),
		inflight:             newInflight(),
		httpDuration:         histograms("http_requests_duration_seconds", "How long requests to the agent's servers took.", prometheus.DefBuckets, "method", "path", "server_type", "long_running"),
		devicePlugins:        counters("device_plugin_registration_total", "Cumulative number of device plugin registrations. Broken down by resource name.", "resource_name"),
		deviceAllocations:    histograms("device_plugin_alloc_duration_seconds", "Duration in seconds to serve a device plugin Allocation request. Broken down by resource name.", prometheus.DefBuckets, "resource_name"),
		draPods:              draHistograms("operations_duration_seconds", "How long it took to prepare or release all ResourceClaims of a pod, by operation, and whether that failed.", "operation_name", "is_error"),
		draCalls:             draHistograms("grpc_operations_duration_seconds", "How long calls of DRA drivers took.", "driver_name", "method_name", "grpc_status_code"),
		claimsInUse:          draGauges("resource_claims_in_use", "ResourceClaims that drivers have prepared on this node, by driver; <any> counts each claim once.", "driver_name"),
		prepareSkips:         draCounters("node_prepare_skips_total", "Calls of NodePrepareResources that were not needed, as the claims' allocations say.", "driver_name"),
		unprepareSkips:       draCounters("node_unprepare_skips_total", "Calls of NodeUnprepareResources that were not needed, as the claims' allocations say.", "driver_name"),
		podResources:         podResourcesAPI(),
		podsAPI:              podsAPI(),
		allocations:          newAllocations(),
		identity:             newIdentity(),
		latency:              newLatency(),
		nodeStart:            newNodeStart(),
		more:                 newMore(),
		resizes:              newResizes(),
		delegated:            newDelegated(),
		nodeWrites: prometheus.NewCounterVec(prometheus.CounterOpts{
			Namespace: "kubeloupe", Name: "node_writes_total", Help: "Writes of the node's object, by what was done, why, and whether it worked.",
		}, []string{"op", "cause", "result"}),
		waitSeconds: prometheus.NewCounterVec(prometheus.CounterOpts{
			Namespace: "kubeloupe", Name: "wait_seconds_total", Help: "Time in which nothing worked for some pod, by what was waited for.",
		}, []string{"kind"}),
		records: prometheus.NewCounterVec(prometheus.CounterOpts{
			Namespace: "kubeloupe", Name: "records_total", Help: "Trace records counted here, by kind of event.",
		}, []string{"kind"}),
		exportedSpans: prometheus.NewCounterVec(prometheus.CounterOpts{
			Namespace: "kubeloupe", Name: "exported_spans_total", Help: "Spans for the collector: sent, refused by it, or dropped here; at most a minute old.",
		}, []string{"result"}),
		exportQueue: prometheus.NewGauge(prometheus.GaugeOpts{Namespace: "kubeloupe", Name: "export_queue_spans", Help: "Spans that wait to be sent to the collector; at most a minute old."}),
		recordsLost: prometheus.NewCounter(prometheus.CounterOpts{
			Namespace: "kubeloupe", Name: "records_lost_total", Help: "Trace records that these metrics missed.",
		}),
	}
}

func (s *set) collectors() []prometheus.Collector {
	return slices.Concat([]prometheus.Collector{
		s.runtimeOps, s.runtimeOpsErrors, s.runtimeOpsDuration, s.podStart, s.podWorkerStart, s.podWorkerDuration,
		s.cgroupDuration, s.containersPerPod, s.plegDuration, s.plegInterval, s.plegLastSeen, s.runningPods,
		s.runningContainers, s.desiredPods, s.startedPods, s.startedPodsErrors, s.startedContainers,
		s.startedContainersErrors, s.terminatedContainers, s.imagePull, s.imageGC, s.evictions, s.shutdownStart, s.shutdownEnd, s.probes, s.probeDuration, s.statusSync,
		s.apiRequests, s.apiRetries, s.apiDuration, s.storage, s.csi, s.httpDuration, s.nodeWrites,
		s.waitSeconds, s.records, s.recordsLost, s.exportedSpans, s.exportQueue, s.devicePlugins, s.deviceAllocations,
		s.draPods, s.draCalls, s.claimsInUse, s.prepareSkips, s.unprepareSkips,
	}, s.podResources.all(), s.podsAPI.all(), s.allocations.all(), s.identity.all(), s.latency.all(), s.nodeStart.all(), s.more.all(), s.resizes.all(), s.delegated.all(), []prometheus.Collector{s.inflight.gauge, s.inflight.total})
}

func counter(name, help string) prometheus.Counter {
	return prometheus.NewCounter(prometheus.CounterOpts{Subsystem: "kubelet", Name: name, Help: help})
}

func counters(name, help string, labels ...string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Subsystem: "kubelet", Name: name, Help: help}, labels)
}

func gauge(name, help string) prometheus.Gauge {
	return prometheus.NewGauge(prometheus.GaugeOpts{Subsystem: "kubelet", Name: name, Help: help})
}

func gauges(name, help string, labels ...string) *prometheus.GaugeVec {
	return prometheus.NewGaugeVec(prometheus.GaugeOpts{Subsystem: "kubelet", Name: name, Help: help}, labels)
}

func histogram(name, help string, buckets []float64) prometheus.Histogram {
	return prometheus.NewHistogram(prometheus.HistogramOpts{Subsystem: "kubelet", Name: name, Help: help, Buckets: buckets})
}

func histograms(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
	return prometheus.NewHistogramVec(prometheus.HistogramOpts{Subsystem: "kubelet", Name: name, Help: help, Buckets: buckets}, labels)
}

// foreign, foreignCounter and foreignCounters create collectors whose names do not begin with kubelet.
func foreign(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
	return prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, labels)
}

func foreignCounter(name, help string) prometheus.Counter {
	return prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
}

func foreignCounters(name, help string, labels ...string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
}
