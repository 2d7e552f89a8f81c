package stats

import (
	"net/http"
	"time"

	statsapi "k8s.io/kubelet/pkg/apis/stats/v1alpha1"

	"github.com/kubeloupe/kubeloupe/agent/exposition"
)

// ResourceMetrics serves /metrics/resource: CPU, memory and swap, for the metrics server.
//
// Upstream: pkg/kubelet/metrics/collectors/resource_metrics.go.
func (s *Stats) ResourceMetrics() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sum, err := s.Summary(r.Context(), true)
		var page exposition.Page
		failed := 0.0
		if err != nil {
			failed = 1
		}
		if sum != nil {
			resourceMetrics(&page, sum)
		}
		page.Gauge("resource_scrape_error", "[STABLE] 1 if there was an error while getting container metrics, 0 otherwise")
		page.Sample(failed, time.Time{})
		page.Answer(w, r)
	})
}

func resourceMetrics(page *exposition.Page, sum *statsapi.Summary) {
	page.Counter("node_cpu_usage_seconds_total", "[STABLE] Cumulative cpu time consumed by the node in core-seconds")
	if c := sum.Node.CPU; c != nil {
		page.Sample(seconds(c.UsageCoreNanoSeconds), c.Time.Time)
	}
	page.Gauge("node_memory_working_set_bytes", "[STABLE] Current working set of the node in bytes")
	if m := sum.Node.Memory; m != nil {
		page.Sample(float64(or0(m.WorkingSetBytes)), m.Time.Time)
	}
	page.Gauge("node_swap_usage_bytes", "[ALPHA] Current swap usage of the node in bytes. Reported only on non-windows systems")
	if w := sum.Node.Swap; w != nil {
		page.Sample(float64(or0(w.SwapUsageBytes)), w.Time.Time)
	}
	containers := func(begin func(name, help string), name, help string, f func(c *statsapi.ContainerStats) (float64, time.Time, bool)) {
		begin(name, help)
		for _, p := range sum.Pods {
			for i := range p.Containers {
				if v, at, ok := f(&p.Containers[i]); ok {
					page.Sample(v, at, "container", p.Containers[i].Name, "namespace", p.PodRef.Namespace, "pod", p.PodRef.Name)
				}
			}
		}
	}
	containers(page.Counter, "container_cpu_usage_seconds_total", "[STABLE] Cumulative cpu time consumed by the container in core-seconds", func(c *statsapi.ContainerStats) (float64, time.Time, bool) {
		if c.CPU == nil {
			return 0, time.Time{}, false
		}
		return seconds(c.CPU.UsageCoreNanoSeconds), c.CPU.Time.Time, true
	})
	containers(page.Gauge, "container_memory_working_set_bytes", "[STABLE] Current working set of the container in bytes", func(c *statsapi.ContainerStats) (float64, time.Time, bool) {
		if c.Memory == nil {
			return 0, time.Time{}, false
		}
		return float64(or0(c.Memory.WorkingSetBytes)), c.Memory.Time.Time, true
	})
	containers(page.Gauge, "container_swap_usage_bytes", "[ALPHA] Current amount of the container swap usage in bytes. Reported only on non-windows systems", func(c *statsapi.ContainerStats) (float64, time.Time, bool) {
		if c.Swap == nil {
			return 0, time.Time{}, false
		}
		return float64(or0(c.Swap.SwapUsageBytes)), c.Swap.Time.Time, true
	})
	containers(page.Gauge, "container_swap_limit_bytes", "[ALPHA] Current amount of the container swap limit in bytes. Reported only on non-windows systems", func(c *statsapi.ContainerStats) (float64, time.Time, bool) {
		if c.Swap == nil || c.Swap.SwapAvailableBytes == nil {
			return 0, time.Time{}, false
		}
		return float64(*c.Swap.SwapAvailableBytes + or0(c.Swap.SwapUsageBytes)), c.Swap.Time.Time, true
	})
	containers(page.Gauge, "container_start_time_seconds", "[STABLE] Start time of the container since unix epoch in seconds", func(c *statsapi.ContainerStats) (float64, time.Time, bool) {
		return float64(c.StartTime.UnixNano()) / float64(time.Second), time.Time{}, !c.StartTime.IsZero()
	})
	page.Counter("pod_cpu_usage_seconds_total", "[STABLE] Cumulative cpu time consumed by the pod in core-seconds")
	for _, p := range sum.Pods {
		if p.CPU != nil {
			page.Sample(seconds(p.CPU.UsageCoreNanoSeconds), p.CPU.Time.Time, "namespace", p.PodRef.Namespace, "pod", p.PodRef.Name)
		}
	}
	page.Gauge("pod_memory_working_set_bytes", "[STABLE] Current working set of the pod in bytes")
	for _, p := range sum.Pods {
		if p.Memory != nil {
			page.Sample(float64(or0(p.Memory.WorkingSetBytes)), p.Memory.Time.Time, "namespace", p.PodRef.Namespace, "pod", p.PodRef.Name)
		}
	}
	podSwap(page, sum)
}

// podSwap adds the swap usage of pods.
func podSwap(page *exposition.Page, sum *statsapi.Summary) {
	page.Gauge("pod_swap_usage_bytes", "[ALPHA] Current amount of the pod swap usage in bytes. Reported only on non-windows systems")
	for i := range sum.Pods {
		if p := &sum.Pods[i]; p.Swap != nil && p.Swap.SwapUsageBytes != nil {
			page.Sample(float64(*p.Swap.SwapUsageBytes), p.Swap.Time.Time, "namespace", p.PodRef.Namespace, "pod", p.PodRef.Name)
		}
	}
}

func seconds(ns *uint64) float64 { return float64(or0(ns)) / float64(time.Second) }
