package stats

import (
	"net/http"
	"time"

	statsapi "k8s.io/kubelet/pkg/apis/stats/v1alpha1"
)

// ResourceMetrics answers /metrics/resource: CPU, memory and swap, as the metrics server wants it.
//
// Upstream: pkg/kubelet/metrics/collectors/resource_metrics.go.
func (s *Stats) ResourceMetrics() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sum, err := s.Summary(r.Context(), true)
		var e exposition
		failed := 0.0
		if err != nil {
			failed = 1
		}
		if sum != nil {
			resourceMetrics(&e, sum)
		}
		e.family("resource_scrape_error", "gauge", "[STABLE] 1 if there was an error while getting container metrics, 0 otherwise")
		e.sample("resource_scrape_error", failed, time.Time{})
		e.answer(w)
	})
}

func resourceMetrics(e *exposition, sum *statsapi.Summary) {
	e.family("node_cpu_usage_seconds_total", "counter", "[STABLE] Cumulative cpu time consumed by the node in core-seconds")
	if c := sum.Node.CPU; c != nil {
		e.sample("node_cpu_usage_seconds_total", seconds(c.UsageCoreNanoSeconds), c.Time.Time)
	}
	e.family("node_memory_working_set_bytes", "gauge", "[STABLE] Current working set of the node in bytes")
	if m := sum.Node.Memory; m != nil {
		e.sample("node_memory_working_set_bytes", float64(or0(m.WorkingSetBytes)), m.Time.Time)
	}
	e.family("node_swap_usage_bytes", "gauge", "[ALPHA] Current swap usage of the node in bytes. Reported only on non-windows systems")
	if w := sum.Node.Swap; w != nil {
		e.sample("node_swap_usage_bytes", float64(or0(w.SwapUsageBytes)), w.Time.Time)
	}
	containers := func(name, kind, help string, f func(c *statsapi.ContainerStats) (float64, time.Time, bool)) {
		e.family(name, kind, help)
		for _, p := range sum.Pods {
			for i := range p.Containers {
				if v, at, ok := f(&p.Containers[i]); ok {
					e.sample(name, v, at, "container", p.Containers[i].Name, "namespace", p.PodRef.Namespace, "pod", p.PodRef.Name)
				}
			}
		}
	}
	containers("container_cpu_usage_seconds_total", "counter", "[STABLE] Cumulative cpu time consumed by the container in core-seconds", func(c *statsapi.ContainerStats) (float64, time.Time, bool) {
		if c.CPU == nil {
			return 0, time.Time{}, false
		}
		return seconds(c.CPU.UsageCoreNanoSeconds), c.CPU.Time.Time, true
	})
	containers("container_memory_working_set_bytes", "gauge", "[STABLE] Current working set of the container in bytes", func(c *statsapi.ContainerStats) (float64, time.Time, bool) {
		if c.Memory == nil {
			return 0, time.Time{}, false
		}
		return float64(or0(c.Memory.WorkingSetBytes)), c.Memory.Time.Time, true
	})
	containers("container_swap_usage_bytes", "gauge", "[ALPHA] Current amount of the container swap usage in bytes. Reported only on non-windows systems", func(c *statsapi.ContainerStats) (float64, time.Time, bool) {
		if c.Swap == nil {
			return 0, time.Time{}, false
		}
		return float64(or0(c.Swap.SwapUsageBytes)), c.Swap.Time.Time, true
	})
	containers("container_start_time_seconds", "gauge", "[STABLE] Start time of the container since unix epoch in seconds", func(c *statsapi.ContainerStats) (float64, time.Time, bool) {
		return float64(c.StartTime.UnixNano()) / float64(time.Second), time.Time{}, !c.StartTime.IsZero()
	})
	e.family("pod_cpu_usage_seconds_total", "counter", "[STABLE] Cumulative cpu time consumed by the pod in core-seconds")
	for _, p := range sum.Pods {
		if p.CPU != nil {
			e.sample("pod_cpu_usage_seconds_total", seconds(p.CPU.UsageCoreNanoSeconds), p.CPU.Time.Time, "namespace", p.PodRef.Namespace, "pod", p.PodRef.Name)
		}
	}
	e.family("pod_memory_working_set_bytes", "gauge", "[STABLE] Current working set of the pod in bytes")
	for _, p := range sum.Pods {
		if p.Memory != nil {
			e.sample("pod_memory_working_set_bytes", float64(or0(p.Memory.WorkingSetBytes)), p.Memory.Time.Time, "namespace", p.PodRef.Namespace, "pod", p.PodRef.Name)
		}
	}
}
