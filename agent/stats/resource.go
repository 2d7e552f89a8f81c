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

// amount is a value that may be unknown, and when it was read.
type amount struct {
	value *uint64
	at    time.Time
}

func cpuTime(c *statsapi.CPUStats) amount {
	if c == nil {
		return amount{}
	}
	return amount{c.UsageCoreNanoSeconds, c.Time.Time}
}

func memoryInUse(m *statsapi.MemoryStats) amount {
	if m == nil {
		return amount{}
	}
	return amount{m.WorkingSetBytes, m.Time.Time}
}

func swapInUse(w *statsapi.SwapStats) amount {
	if w == nil {
		return amount{}
	}
	return amount{w.SwapUsageBytes, w.Time.Time}
}

func swapLimit(w *statsapi.SwapStats) amount {
	if w == nil || w.SwapAvailableBytes == nil {
		return amount{}
	}
	return amount{new(*w.SwapAvailableBytes + or0(w.SwapUsageBytes)), w.Time.Time}
}

// resourceMetrics has samples only of what is known: a counter of 0 would be taken for one that began anew.
func resourceMetrics(page *exposition.Page, sum *statsapi.Summary) {
	sample := func(f amount, unit time.Duration, labels ...string) {
		if f.value != nil {
			page.Sample(float64(*f.value)/float64(unit), f.at, labels...)
		}
	}
	containers := func(unit time.Duration, f func(c *statsapi.ContainerStats) amount) {
		for _, p := range sum.Pods {
			for i := range p.Containers {
				sample(f(&p.Containers[i]), unit, "container", p.Containers[i].Name, "namespace", p.PodRef.Namespace, "pod", p.PodRef.Name)
			}
		}
	}
	pods := func(unit time.Duration, f func(p *statsapi.PodStats) amount) {
		for i := range sum.Pods {
			sample(f(&sum.Pods[i]), unit, "namespace", sum.Pods[i].PodRef.Namespace, "pod", sum.Pods[i].PodRef.Name)
		}
	}
	page.Counter("node_cpu_usage_seconds_total", "[STABLE] Cumulative cpu time consumed by the node in core-seconds")
	sample(cpuTime(sum.Node.CPU), time.Second)
	page.Gauge("node_memory_working_set_bytes", "[STABLE] Current working set of the node in bytes")
	sample(memoryInUse(sum.Node.Memory), 1)
	page.Gauge("node_swap_usage_bytes", "[ALPHA] Current swap usage of the node in bytes. Reported only on non-windows systems")
	sample(swapInUse(sum.Node.Swap), 1)
	page.Counter("container_cpu_usage_seconds_total", "[STABLE] Cumulative cpu time consumed by the container in core-seconds")
	containers(time.Second, func(c *statsapi.ContainerStats) amount { return cpuTime(c.CPU) })
	page.Gauge("container_memory_working_set_bytes", "[STABLE] Current working set of the container in bytes")
	containers(1, func(c *statsapi.ContainerStats) amount { return memoryInUse(c.Memory) })
	page.Gauge("container_swap_usage_bytes", "[ALPHA] Current amount of the container swap usage in bytes. Reported only on non-windows systems")
	containers(1, func(c *statsapi.ContainerStats) amount { return swapInUse(c.Swap) })
	page.Gauge("container_swap_limit_bytes", "[ALPHA] Current amount of the container swap limit in bytes. Reported only on non-windows systems")
	containers(1, func(c *statsapi.ContainerStats) amount { return swapLimit(c.Swap) })
	page.Gauge("container_start_time_seconds", "[STABLE] Start time of the container since unix epoch in seconds")
	containers(time.Second, func(c *statsapi.ContainerStats) amount {
		if c.StartTime.Unix() <= 0 {
			return amount{}
		}
		return amount{value: new(uint64(c.StartTime.UnixNano()))}
	})
	page.Counter("pod_cpu_usage_seconds_total", "[STABLE] Cumulative cpu time consumed by the pod in core-seconds")
	pods(time.Second, func(p *statsapi.PodStats) amount { return cpuTime(p.CPU) })
	page.Gauge("pod_memory_working_set_bytes", "[STABLE] Current working set of the pod in bytes")
	pods(1, func(p *statsapi.PodStats) amount { return memoryInUse(p.Memory) })
	page.Gauge("pod_swap_usage_bytes", "[ALPHA] Current amount of the pod swap usage in bytes. Reported only on non-windows systems")
	pods(1, func(p *statsapi.PodStats) amount { return swapInUse(p.Swap) })
}
