package stats

import (
	"strconv"
	"strings"
)

func (t tree) v2CPU(f *figures, path string) {
	st := t.fields("cpu", path, "cpu.stat")
	f.setFrom(st, 1e-6, cpuUsage, "usage_usec", "container_cpu_user_seconds_total", "user_usec", "container_cpu_system_seconds_total", "system_usec")
	if limit, ok := t.text("cpu", path, "cpu.max"); ok {
		quota, period, _ := strings.Cut(strings.TrimSpace(limit), " ")
		if n, err := strconv.ParseUint(period, 10, 64); err == nil {
			f.set("container_spec_cpu_period", n, true, 1)
		}
		if n, err := strconv.ParseUint(quota, 10, 64); err == nil {
			f.set("container_spec_cpu_quota", n, true, 1)
			f.throttling(st, "throttled_usec", "burst_usec", 1e-6)
		}
	}
	if weight, ok := t.number("cpu", path, "cpu.weight"); ok && weight >= 1 && weight <= 10000 {
		// cAdvisor's scale, which runtimes had, too: from 1 and 10000 to 2 and 262144.
		f.set("container_spec_cpu_shares", 2+(weight-1)*262142/9999, true, 1)
	}
}

// throttling adds what a CPU limit did; without one, there are no figures.
func (f *figures) throttling(st map[string]uint64, throttled, burst string, unit float64) {
	f.setFrom(st, 1, "container_cpu_cfs_periods_total", "nr_periods", "container_cpu_cfs_throttled_periods_total", "nr_throttled",
		"container_cpu_cfs_burst_periods_total", "nr_bursts")
	f.setFrom(st, unit, "container_cpu_cfs_throttled_seconds_total", throttled, "container_cpu_cfs_burst_seconds_total", burst)
}

func (t tree) v2Memory(f *figures, path string) {
	f.setFrom(t.fields("memory", path, "memory.stat"), 1,
		"container_memory_cache", "file", "container_memory_mapped_file", "file_mapped", "container_memory_kernel_usage", "kernel",
		"container_memory_total_active_anon_bytes", "active_anon", "container_memory_total_inactive_anon_bytes", "inactive_anon",
		"container_memory_total_active_file_bytes", "active_file", inactiveFile, "inactive_file", rss, "anon",
		"container_memory_anon_hugepages_bytes", "anon_thp",
		"container_memory_file_dirty_bytes", "file_dirty", "container_memory_file_writeback_bytes", "file_writeback",
		"container_memory_pgscan_total", "pgscan", "container_memory_pgsteal_total", "pgsteal",
		"container_memory_workingset_refault_file_total", "workingset_refault_file", "container_memory_workingset_refault_anon_total", "workingset_refault_anon",
		pageFaults, "pgfault", majorFaults, "pgmajfault")
	f.set("container_memory_failcnt", 0, true, 1) // this kernel has no such count, and cAdvisor says 0
	swap, ok := t.number("memory", path, "memory.swap.current")
	f.set("container_memory_swap", swap, ok, 1)
	peak, ok := t.number("memory", path, "memory.peak")
	f.set("container_memory_max_usage_bytes", peak, ok, 1)
	f.setFrom(t.fields("memory", path, "memory.events"), 1,
		oomKills, "oom_kill", "container_memory_events_high_total", "high", "container_memory_events_max_total", "max")
	t.limits(f, path, "memory.max", "memory.swap.max", "memory.min")
}

// v2OwnKills makes the count of killed processes that of the cgroup itself: memory.events also counts those of the cgroups below, which have
// lines of their own.
//
// Upstream: pkg/kubelet/oom/oom_counter.go counts each for one cgroup.
func (t tree) v2OwnKills(f *figures, path string) {
	delete(f.values, oomKills)
	if path != "" {
		f.setFrom(t.fields("memory", path, "memory.events.local"), 1, oomKills, "oom_kill")
	}
}

// limits adds memory limits: 0 if there is none.
func (t tree) limits(f *figures, path, memory, swap, reservation string) {
	for _, l := range []struct{ name, file string }{
		{"container_spec_memory_limit_bytes", memory},
		{"container_spec_memory_swap_limit_bytes", swap},
		{"container_spec_memory_reservation_limit_bytes", reservation},
	} {
		text, ok := t.text("memory", path, l.file)
		if !ok {
			continue
		}
		n, err := strconv.ParseUint(strings.TrimSpace(text), 10, 64)
		if err != nil || n >= unlimited {
			n = 0
		}
		f.set(l.name, n, true, 1)
	}
}

func (t tree) v2Disks(f *figures, path string) {
	text, _ := t.text("io", path, "io.stat")
	f.disks = parseIOStat(text)
}
