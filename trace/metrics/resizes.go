package metrics

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kubeloupe/kubeloupe/trace"
)

// resizes has the collectors of in-place resizes. The resizes that wait or are in progress are read from the agent.
//
// Upstream: pkg/kubelet/metrics/metrics.go.
type resizes struct {
	requested, refused, accepted *prometheus.CounterVec
	waited, took                 *prometheus.HistogramVec
}

func newResizes() resizes {
	return resizes{
		requested: counters("container_requested_resizes_total", "Requested resizes of containers: each amount that changes counts.", "resource", "requirement", "operation"),
		refused:   counters("pod_infeasible_resizes_total", "Resizes that are refused, whatever is free on the node, by reason.", "reason_detail"),
		accepted:  counters("pod_deferred_accepted_resizes_total", "Resizes that waited for free resources and got them, by what made the agent try again.", "retry_trigger"),
		waited: histograms("pod_deferred_resize_duration_seconds", "How long resizes waited for free resources, by how that ended and by the pod's priority.",
			[]float64{5, 10, 15, 20, 30, 45, 60, 90, 120, 150, 180, 300, 600, 1200, 1800, 3600}, "resolution", "priority_bucket"),
		took: histograms("pod_resize_duration_milliseconds", "How long it took to change the cgroups of a pod and its containers, in milliseconds.",
			[]float64{10, 50, 100, 500, 1000, 2000, 5000, 10000, 20000, 30000, 60000, 120000, 300000, 600000}, "success"),
	}
}

func (m *resizes) apply(e *trace.Resize) {
	switch e.Op {
	case trace.ResizeRequested:
		m.requested.WithLabelValues(e.Resource, e.Bound, string(e.Change)).Inc()
	case trace.ResizeRefused:
		m.refused.WithLabelValues(string(e.Ground)).Inc()
	case trace.ResizeWaited:
		if e.End == trace.ResizeHopeless {
			return // upstream does not count it
		}
		m.waited.WithLabelValues(string(e.End), e.Priority).Observe(e.Took.Seconds())
		if e.End == trace.ResizeAccepted {
			m.accepted.WithLabelValues(string(e.Trigger)).Inc()
		}
	case trace.ResizeActuated:
		m.took.WithLabelValues(strconv.FormatBool(!e.Failed)).Observe(float64(e.Took.Milliseconds()))
	}
}

func (m *resizes) all() []prometheus.Collector {
	return []prometheus.Collector{m.requested, m.refused, m.accepted, m.waited, m.took}
}
