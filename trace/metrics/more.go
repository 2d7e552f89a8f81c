package metrics

import (
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/human"
)

// more has collectors of what single records say.
type more struct {
	rejections, sandboxErrors                *prometheus.CounterVec
	sandboxes, volumeTotal                   *prometheus.HistogramVec
	userns, usernsErrors, orphans, fallbacks prometheus.Counter
	images                                   imageVolumes
	reconstructed, reconstructErrors         prometheus.Counter
	streams, streamErrors                    prometheus.Counter
	streamLag                                prometheus.Histogram
	statsAge                                 *prometheus.HistogramVec
	webSockets                               *prometheus.CounterVec
	losing                                   *prometheus.GaugeVec
	credentials                              credentials
	evented                                  bool // the runtime's events arrive
}

func newMore() more {
	return more{
		rejections:        counters("admission_rejections_total", "Cumulative number pod admission rejections by the Kubelet.", "reason"),
		sandboxes:         histograms("run_podsandbox_duration_seconds", "Duration in seconds of the run_podsandbox operations. Broken down by RuntimeClass.Handler.", prometheus.DefBuckets, "runtime_handler"),
		sandboxErrors:     counters("run_podsandbox_errors_total", "Cumulative number of the run_podsandbox operation errors by RuntimeClass.Handler.", "runtime_handler"),
		volumeTotal:       foreign("volume_operation_total_seconds", "Storage operation end to end duration in seconds, from when the pod's volumes were first requested.", storageBuckets, "plugin_name", "operation_name"),
		userns:            counter("started_user_namespaced_pods_total", "Cumulative number of pods with user namespaces started."),
		usernsErrors:      counter("started_user_namespaced_pods_errors_total", "Cumulative number of errors when starting pods with user namespaces."),
		orphans:           counter("orphaned_runtime_pods_total", "Number of pods that have been detected in the container runtime without being already known to the pod worker."),
		fallbacks:         counter("lifecycle_handler_http_fallbacks_total", "The number of times lifecycle handlers successfully fell back to http from https."),
		images:            newImageVolumes(),
		credentials:       newCredentials(),
		reconstructed:     foreignCounter("reconstruct_volume_operations_total", "The number of volumes of an earlier agent that were adopted or could not be adopted."),
		reconstructErrors: foreignCounter("reconstruct_volume_operations_errors_total", "The number of volumes of an earlier agent that could not be adopted."),
		streams:           counter("evented_pleg_connection_success_count", "The number of times a streaming client was obtained to receive CRI Events."),
		streamErrors:      counter("evented_pleg_connection_error_count", "The number of errors encountered during the establishment of streaming connection with the CRI runtime, and of streams that ended."),
		statsAge:          histograms("eviction_stats_age_seconds", "How old the figures were by which a pod was chosen for eviction, by signal.", prometheus.DefBuckets, "eviction_signal"),
		webSockets:        counters("websocket_streaming_requests_total", "Requests for exec, attach and port forward over a WebSocket that the agent itself connects to the runtime.", "subresource"),
		losing:            gauges("cri_losing_support", "1 for the Kubernetes version whose kubelet does not support the container runtime any more, because it does not tell its cgroup driver.", "version"),
		streamLag:         histogram("evented_pleg_connection_latency_seconds", "The latency of streaming connection with the CRI runtime, measured in seconds: from the event's creation to its arrival.", prometheus.DefBuckets),
	}
}

func (m *more) all() []prometheus.Collector {
	return []prometheus.Collector{
		m.rejections, m.sandboxes, m.sandboxErrors, m.volumeTotal, m.userns, m.usernsErrors, m.orphans, m.fallbacks, m.images.requested, m.images.mounted,
		m.images.failed, m.reconstructed, m.reconstructErrors, m.streams, m.streamErrors, m.streamLag, m.statsAge, m.webSockets, m.losing, m.credentials.took, m.credentials.failed,
	}
}

// rejected counts a rejected pod. Upstream: pkg/kubelet/kubelet.go, recordAdmissionRejection.
func (m *more) rejected(code string) {
	switch code {
	case "AppArmor", "PodOSSelectorNodeLabelDoesNotMatch", "PodOSNotSupported", "InvalidNodeInfo", "InitContainerRestartPolicyForbidden", "SupplementalGroupsPolicyNotSupported",
		"UnexpectedAdmissionError", "UnknownReason", "UnexpectedPredicateFailureType", "OutOfcpu", "OutOfmemory", "OutOfephemeral-storage", "OutOfpods",
		"PodLevelResourcesNotSupported", "PodFeatureUnsupported", "node(s) had taints that the pod didn't tolerate", "Evicted", "SysctlForbidden", "TopologyAffinityError", "NodeShutdown",
		"VolumeAttachmentLimitExceeded":
	default:
		if strings.HasPrefix(code, "OutOf") {
			code = "OutOfExtendedResources"
		} else {
			code = "Other"
		}
	}
	m.rejections.WithLabelValues(code).Inc()
}

// call counts what CRI calls of their own kind did.
func (m *more) call(s *Sink, e *trace.CRICall, failed bool, sec float64) {
	switch e.Method {
	case "RunPodSandbox":
		handler := s.handlers.label(human.Visible(e.Handler))
		m.sandboxes.WithLabelValues(handler).Observe(sec)
		if failed {
			m.sandboxErrors.WithLabelValues(handler).Inc()
		}
	case "CreateContainer":
		m.images.mount(e)
	case "RuntimeConfig": // Upstream: cmd/kubelet/app/server.go, getCgroupDriverFromCRI
		if e.Code == "Unimplemented" {
			m.losing.WithLabelValues("1.38.0").Set(1)
		}
	case "GetContainerEvents":
		if failed {
			m.streamErrors.Inc()
		} else {
			m.streams.Inc()
		}
	}
}

// mode counts a stream of events that ended.
func (m *more) mode(e *trace.PLEGMode) {
	if m.evented && e.Mode == trace.PLEGRelists {
		m.streamErrors.Inc()
	}
	m.evented = e.Mode == trace.PLEGEvented
}

// volume counts the end of an operation on a volume of a pod, whose volumes were first requested at that time (0 if that is not known).
func (m *more) volume(s *Sink, r *trace.Record, e *trace.Volume, requested int64) {
	switch e.Op {
	case trace.VolumeAdopt:
		m.reconstructed.Inc()
		if e.Err != "" {
			m.reconstructErrors.Inc()
		}
	case trace.VolumeSetup:
		if e.Err != "" || e.Block { // upstream has none of devices
			return
		}
		took := r.Dur
		if requested != 0 {
			took = time.Duration(r.Time - requested)
		}
		m.volumeTotal.WithLabelValues(s.pluginOf(e), "overall_volume_mount").Observe(took.Seconds())
	case trace.VolumeTeardown, trace.VolumeGrow, trace.VolumeRefresh:
	}
}
