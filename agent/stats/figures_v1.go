package stats

import (
	"strconv"
	"strings"
)

func (t tree) v1CPU(f *figures, path string) {
	f.setFrom(t.fields("cpuacct", path, "cpuacct.stat"), float64(tick)*1e-9,
		"container_cpu_user_seconds_total", "user", "container_cpu_system_seconds_total", "system")
	period, ok := t.number("cpu", path, "cpu.cfs_period_us")
	f.set("container_spec_cpu_period", period, ok, 1)
	if quota, ok := t.number("cpu", path, "cpu.cfs_quota_us"); ok { // -1 is no limit
		f.set("container_spec_cpu_quota", quota, true, 1)
		f.throttling(t.fields("cpu", path, "cpu.stat"), "throttled_time", "burst_time", 1e-9)
	}
	shares, ok := t.number("cpu", path, "cpu.shares")
	f.set("container_spec_cpu_shares", shares, ok, 1)
}

func (t tree) v1Memory(f *figures, path string) {
	f.setFrom(t.fields("memory", path, "memory.stat"), 1,
		"container_memory_cache", "total_cache", "container_memory_mapped_file", "total_mapped_file", "container_memory_swap", "total_swap",
		"container_memory_file_dirty_bytes", "total_dirty", "container_memory_file_writeback_bytes", "total_writeback",
		"container_memory_workingset_refault_file_total", "total_workingset_refault_file", "container_memory_workingset_refault_anon_total", "total_workingset_refault_anon",
		"container_memory_total_active_file_bytes", "total_active_file", inactiveFile, "total_inactive_file", rss, "total_rss",
		pageFaults, "total_pgfault", majorFaults, "total_pgmajfault")
	for metric, file := range map[string]string{
		"container_memory_kernel_usage": "memory.kmem.usage_in_bytes", "container_memory_max_usage_bytes": "memory.max_usage_in_bytes",
		"container_memory_failcnt": "memory.failcnt",
	} {
		n, ok := t.number("memory", path, file)
		f.set(metric, n, ok, 1)
	}
	if hits, ok := f.values["container_memory_failcnt"]; ok {
		f.values["container_memory_events_max_total"] = hits // cgroup v2 counts the same as an event
		f.values["container_memory_events_high_total"] = 0   // no cgroup of v1 has memory.high
	}
	f.setFrom(t.fields("memory", path, "memory.oom_control"), 1, oomKills, "oom_kill")
	t.limits(f, path, "memory.limit_in_bytes", "memory.memsw.limit_in_bytes", "memory.soft_limit_in_bytes")
}

// v1Disks adds disk I/O. The files with _recursive also count cgroups inside.
func (t tree) v1Disks(f *figures, path string) {
	text := func(name string) string {
		for _, file := range []string{"blkio.throttle." + name + "_recursive", "blkio.throttle." + name} {
			if text, ok := t.text("blkio", path, file); ok {
				return text
			}
		}
		return ""
	}
	f.disks = parseBlkio(text("io_service_bytes"), text("io_serviced"))
}

// parseBlkio parses lines such as 8:0 Read 4096, of bytes and of operations.
func parseBlkio(bytes, operations string) (out []disk) {
	at := map[string]int{}
	take := func(text, reads, writes string) {
		for line := range strings.Lines(text) {
			f := strings.Fields(line)
			if len(f) != 3 || f[1] != "Read" && f[1] != "Write" {
				continue
			}
			n, err := strconv.ParseUint(f[2], 10, 64)
			if err != nil {
				continue
			}
			i, ok := at[f[0]]
			if !ok {
				if len(out) == maxDisks {
					continue
				}
				i = len(out)
				at[f[0]], out = i, append(out, disk{device: f[0], values: map[string]float64{}})
			}
			name := reads
			if f[1] == "Write" {
				name = writes
			}
			out[i].values[name] = float64(n)
		}
	}
	take(bytes, bytesRead, bytesWritten)
	take(operations, reads, writes)
	return out
}
