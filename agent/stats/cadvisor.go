package stats

import (
	"net/http"
	"time"

	statsapi "k8s.io/kubelet/pkg/apis/stats/v1alpha1"

	"github.com/kubeloupe/kubeloupe/agent/exposition"
)

// ContainerMetrics serves /metrics/cadvisor: the figures of the summary and of the cgroups' files, with cAdvisor's names.
//
// Upstream: github.com/google/cadvisor/lib/metrics/prometheus.go.
func (s *Stats) ContainerMetrics() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sum, err := s.Summary(r.Context(), false)
		var page exposition.Page
		page.Gauge("container_scrape_error", "1 if there was an error while getting container metrics, 0 otherwise")
		failed := 0.0
		if err != nil {
			failed = 1
		}
		page.Sample(failed, time.Time{})
		if sum != nil {
			now := time.Now()
			all := s.entities(r.Context(), sum, now)
			summaryMetrics(&page, all, now)
			s.fileMetrics(&page, all, now)
		}
		s.machineMetrics(&page)
		page.Answer(w, r)
	})
}

// summaryMetrics writes what the summary has, too. What it does not have is that of the cgroup's files.
func summaryMetrics(page *exposition.Page, all []entity, now time.Time) {
	for _, m := range []struct {
		begin      func(name, help string)
		name, help string
		value      func(*statsapi.ContainerStats) (*uint64, float64, time.Time)
		more       []string
	}{
		{page.Counter, cpuUsage, "Cumulative cpu time consumed in seconds.", cpuOf, []string{"cpu", "total"}},
		{page.Gauge, memoryUsage, "Current memory usage in bytes, including all memory regardless of when it was accessed", memoryOf(func(m *statsapi.MemoryStats) *uint64 { return m.UsageBytes }), nil},
		{page.Gauge, workingSet, "Current working set in bytes.", memoryOf(func(m *statsapi.MemoryStats) *uint64 { return m.WorkingSetBytes }), nil},
		{page.Gauge, rss, "Size of RSS in bytes.", memoryOf(func(m *statsapi.MemoryStats) *uint64 { return m.RSSBytes }), nil},
	} {
		m.begin(m.name, m.help)
		for i := range all {
			x := &all[i]
			if v, scale, at := m.value(&x.stats); v != nil {
				page.SampleOf(float64(*v)*scale, at, x.labels, m.more...)
			} else if v, ok := x.figures.values[m.name]; ok {
				page.SampleOf(v, now, x.labels, m.more...)
			}
		}
	}
	fsMetrics(page, all)
	page.Gauge("container_creation_time_seconds", "Container creation time since unix epoch in seconds.")
	for _, x := range all {
		if !x.created.IsZero() {
			page.SampleOf(float64(x.created.Unix()), time.Time{}, x.labels)
		}
	}
	page.Gauge("container_start_time_seconds", "Start time of the container since unix epoch in seconds.")
	for _, x := range all {
		if at := x.started(); !at.IsZero() {
			page.SampleOf(float64(at.Unix()), time.Time{}, x.labels)
		}
	}
	for _, m := range []struct {
		name, help string
		value      func(statsapi.InterfaceStats) *uint64
	}{
		{"container_network_receive_bytes_total", "Cumulative count of bytes received", func(i statsapi.InterfaceStats) *uint64 { return i.RxBytes }},
		{"container_network_receive_errors_total", "Cumulative count of errors encountered while receiving", func(i statsapi.InterfaceStats) *uint64 { return i.RxErrors }},
		{"container_network_transmit_bytes_total", "Cumulative count of bytes transmitted", func(i statsapi.InterfaceStats) *uint64 { return i.TxBytes }},
		{"container_network_transmit_errors_total", "Cumulative count of errors encountered while transmitting", func(i statsapi.InterfaceStats) *uint64 { return i.TxErrors }},
	} {
		page.Counter(m.name, m.help)
		for _, x := range all {
			if x.net == nil {
				continue
			}
			for _, i := range x.net.Interfaces {
				if v := m.value(i); v != nil {
					page.SampleOf(float64(*v), x.net.Time.Time, x.labels, "interface", i.Name)
				}
			}
		}
	}
}

// machineMetrics writes what the machine has.
//
// Upstream: github.com/google/cadvisor/lib/metrics/prometheus_machine.go.
func (s *Stats) machineMetrics(page *exposition.Page) {
	info := s.fields("meminfo")
	memory, known := info["MemTotal:"]
	failed := 0.0
	if !known {
		failed = 1
	}
	page.Gauge("machine_scrape_error", "1 if there was an error while getting machine metrics, 0 otherwise.")
	page.Sample(failed, time.Time{})
	one := func(name, help string, v float64) {
		page.Gauge(name, help)
		page.Sample(v, time.Time{}, s.cfg.Machine.Labels...)
	}
	one("machine_cpu_cores", "Number of logical CPU cores.", float64(s.cfg.Machine.CPUs))
	one("machine_cpu_physical_cores", "Number of physical CPU cores.", float64(s.cfg.Machine.Cores))
	one("machine_cpu_sockets", "Number of CPU sockets.", float64(s.cfg.Machine.Sockets))
	one("machine_memory_bytes", "Amount of memory installed on the machine.", float64(memory<<10))
	one("machine_swap_bytes", "Amount of swap memory available on the machine.", float64(info["SwapTotal:"]<<10))
}

func cpuOf(c *statsapi.ContainerStats) (*uint64, float64, time.Time) {
	if c.CPU == nil {
		return nil, 0, time.Time{}
	}
	return c.CPU.UsageCoreNanoSeconds, 1e-9, c.CPU.Time.Time
}

func memoryOf(f func(*statsapi.MemoryStats) *uint64) func(*statsapi.ContainerStats) (*uint64, float64, time.Time) {
	return func(c *statsapi.ContainerStats) (*uint64, float64, time.Time) {
		if c.Memory == nil {
			return nil, 0, time.Time{}
		}
		return f(c.Memory), 1, c.Memory.Time.Time
	}
}
