package stats

import (
	"cmp"
	"strings"
	"time"

	"github.com/kubeloupe/kubeloupe/agent/exposition"
)

// series is a metric that is a figure of a cgroup.
type series struct{ name, help string }

// gauges and counters are cAdvisor's metrics of a cgroup, with its words.
func gauges() []series {
	return []series{
		{"container_memory_cache", "Number of bytes of page cache memory."},
		{"container_memory_kernel_usage", "Size of kernel memory allocated in bytes."},
		{"container_memory_mapped_file", "Size of memory mapped files in bytes."},
		{"container_memory_swap", "Container swap usage in bytes."},
		{"container_memory_max_usage_bytes", "Maximum memory usage recorded in bytes"},
		{"container_memory_total_active_anon_bytes", "Current total active anonymous in bytes."},
		{"container_memory_total_inactive_anon_bytes", "Current total inactive anonymous in bytes."},
		{"container_memory_anon_hugepages_bytes", "Amount of memory backed by transparent hugepages in bytes."},
		{"container_memory_total_active_file_bytes", "Current total active file in bytes."},
		{inactiveFile, "Current total inactive file in bytes."},
		{"container_memory_file_dirty_bytes", "Number of bytes of file cache that has been modified but not yet written back to disk."},
		{"container_memory_file_writeback_bytes", "Number of bytes of file cache that is currently being written back to disk."},
		{"container_processes", "Number of processes running inside the container."},
		{descriptors, "Number of open file descriptors for the container."},
		{sockets, "Number of open sockets for the container."},
		{"container_threads", "Number of threads running inside the container"},
		{"container_threads_max", "Maximum number of threads allowed inside the container, infinity if value is zero"},
		{"container_spec_cpu_period", "CPU period of the container."},
		{"container_spec_cpu_quota", "CPU quota of the container."},
		{"container_spec_cpu_shares", "CPU share of the container."},
		{"container_spec_memory_limit_bytes", "Memory limit for the container."},
		{"container_spec_memory_swap_limit_bytes", "Memory swap limit for the container."},
		{"container_spec_memory_reservation_limit_bytes", "Memory reservation limit for the container."},
	}
}

func counters() []series {
	return []series{
		{"container_cpu_user_seconds_total", "Cumulative user cpu time consumed in seconds."},
		{"container_cpu_system_seconds_total", "Cumulative system cpu time consumed in seconds."},
		{"container_cpu_cfs_periods_total", "Number of elapsed enforcement period intervals."},
		{"container_cpu_cfs_throttled_periods_total", "Number of throttled period intervals."},
		{"container_cpu_cfs_throttled_seconds_total", "Total time duration the container has been throttled."},
		{"container_cpu_cfs_burst_periods_total", "Number of periods when burst occurs."},
		{"container_cpu_cfs_burst_seconds_total", "Total time duration the container has been bursted."},
		{"container_memory_failcnt", "Number of memory usage hits limits"},
		{"container_memory_events_high_total", "Cumulative count of memory.high throttle events for the container"},
		{"container_memory_events_max_total", "Cumulative count of memory.max limit hit events for the container"},
		{"container_memory_pgscan_total", "Cumulative number of pages scanned by the page reclaim algorithm."},
		{"container_memory_pgsteal_total", "Cumulative number of pages reclaimed by the page reclaim algorithm."},
		{"container_memory_workingset_refault_file_total", "Cumulative number of refaults of previously evicted file pages."},
		{"container_memory_workingset_refault_anon_total", "Cumulative number of refaults of previously evicted anonymous pages."},
		{oomKills, "Count of out of memory events observed for the container"},
		{"container_pressure_cpu_stalled_seconds_total", "Total time duration no tasks in the container could make progress due to CPU congestion."},
		{"container_pressure_cpu_waiting_seconds_total", "Total time duration tasks in the container have waited due to CPU congestion."},
		{"container_pressure_memory_stalled_seconds_total", "Total time duration no tasks in the container could make progress due to memory congestion."},
		{"container_pressure_memory_waiting_seconds_total", "Total time duration tasks in the container have waited due to memory congestion."},
		{"container_pressure_io_stalled_seconds_total", "Total time duration no tasks in the container could make progress due to IO congestion."},
		{"container_pressure_io_waiting_seconds_total", "Total time duration tasks in the container have waited due to IO congestion."},
	}
}

// diskCounters are the metrics of a cgroup and a device.
func diskCounters() []series {
	return []series{
		{bytesRead, "Cumulative count of bytes read"},
		{reads, "Cumulative count of reads completed"},
		{bytesWritten, "Cumulative count of bytes written"},
		{writes, "Cumulative count of writes completed"},
		{"container_fs_reads_merged_total", "Cumulative count of reads merged"},
		{"container_fs_writes_merged_total", "Cumulative count of writes merged"},
		{"container_fs_sector_reads_total", "Cumulative count of sector reads completed"},
		{"container_fs_sector_writes_total", "Cumulative count of sector writes completed"},
		{"container_fs_read_seconds_total", "Cumulative count of seconds spent reading"},
		{"container_fs_write_seconds_total", "Cumulative count of seconds spent writing"},
		{"container_fs_io_time_seconds_total", "Cumulative count of seconds spent doing I/Os"},
		{"container_fs_io_time_weighted_seconds_total", "Cumulative weighted I/O time in seconds"},
		{costUsage, "Cumulative IOCost usage in seconds"},
		{costWait, "Cumulative IOCost wait in seconds"},
		{costInDebt, "Cumulative IOCost debt in seconds"},
		{costInDelay, "Cumulative IOCost delay in seconds"},
	}
}

// fileMetrics writes what the files of the cgroups say.
func (s *Stats) fileMetrics(page *exposition.Page, all []entity, now time.Time) {
	write := func(begin func(name, help string), list []series) {
		for _, m := range list {
			begin(m.name, m.help)
			at := now
			if strings.HasPrefix(m.name, "container_spec_") { // a setting has no time
				at = time.Time{}
			}
			for i := range all {
				if v, ok := all[i].figures.values[m.name]; ok {
					page.SampleOf(v, at, all[i].labels)
				}
			}
		}
	}
	page.Gauge("container_last_seen", "Last time a container was seen by the exporter")
	for _, x := range all {
		page.SampleOf(float64(now.Unix()), now, x.labels)
	}
	write(page.Gauge, gauges())
	write(page.Counter, counters())
	page.Counter("container_memory_failures_total", "Cumulative count of memory allocation failures.")
	for _, x := range all {
		for _, kind := range []string{pageFaults, majorFaults} {
			if v, ok := x.figures.values[kind]; ok { // the kernel's figures include cgroups inside
				page.SampleOf(v, now, x.labels, "failure_type", kind, "scope", "hierarchy")
				page.SampleOf(v, now, x.labels, "failure_type", kind, "scope", "container")
			}
		}
	}
	page.Gauge("container_ulimits_soft", "Soft ulimit values for the container root process. Unlimited if -1, except priority and nice")
	for _, x := range all {
		if v, ok := x.figures.values[openFiles]; ok {
			page.SampleOf(v, now, x.labels, "ulimit", openFiles)
		}
	}
	s.diskMetrics(page, all, now)
	s.packetMetrics(page, all)
}

// diskMetrics writes the I/O of cgroups on devices.
func (s *Stats) diskMetrics(page *exposition.Page, all []entity, now time.Time) {
	names := s.devices()
	for _, m := range append(diskCounters(), series{ioCurrent, "Number of I/Os currently in progress"}) {
		if m.name == ioCurrent {
			page.Gauge(m.name, m.help)
		} else {
			page.Counter(m.name, m.help)
		}
		for _, x := range all {
			for _, d := range x.figures.disks {
				if v, ok := d.values[m.name]; ok {
					page.SampleOf(v, now, x.labels, "device", cmp.Or(names[d.device], d.device))
				}
			}
		}
	}
	page.Counter("container_blkio_device_usage_total", "Blkio Device bytes usage")
	for _, x := range all {
		for _, d := range x.figures.disks {
			major, minor, _ := strings.Cut(d.device, ":")
			for _, of := range [][2]string{{"Read", bytesRead}, {"Write", bytesWritten}} {
				if v, ok := d.values[of[1]]; ok {
					page.SampleOf(v, now, x.labels, "device", cmp.Or(names[d.device], d.device), "major", major, "minor", minor, "operation", of[0])
				}
			}
		}
	}
}
