package stats

import (
	"path/filepath"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	statsapi "k8s.io/kubelet/pkg/apis/stats/v1alpha1"
)

const (
	nodeKey = "node"
	selfKey = "self"
)

// booted returns when the node booted.
func (s *Stats) booted() time.Time {
	s.boot.Do(func() {
		s.up = s.began
		if sec := s.fields("stat")["btime"]; sec > 0 {
			s.up = time.Unix(int64(sec), 0)
		}
	})
	return s.up
}

func (s *Stats) nodeCPU(now time.Time) *statsapi.CPUStats { return s.cgroupCPU(nodeKey, top, now) }

// cgroupCPU returns the CPU usage of the cgroup at path below the hierarchies' roots; nil if unknown.
func (s *Stats) cgroupCPU(key, path string, now time.Time) *statsapi.CPUStats {
	total, ok := s.cpuTime(path)
	if !ok {
		return nil
	}
	return &statsapi.CPUStats{Time: metav1.NewTime(now), UsageCoreNanoSeconds: &total, UsageNanoCores: s.rates.nanoCores(key, now, total), PSI: s.pressure("cpu", path)}
}

// cpuTime returns a cgroup's CPU time in nanoseconds.
func (s *Stats) cpuTime(path string) (uint64, bool) {
	if n, ok := s.tree.number("cpuacct", path, "cpuacct.usage"); ok {
		return n, true
	}
	if us, ok := s.tree.fields("cpu", path, "cpu.stat")["usage_usec"]; ok && s.tree.v2 {
		return us * 1000, true
	}
	if path == top {
		return s.busyTime()
	}
	return 0, false
}

// tick is the unit of the times in /proc/stat and cpuacct.stat: USER_HZ is 100 on all architectures that Go supports.
const tick = uint64(10 * time.Millisecond)

// busyTime returns how long all CPUs together were not idle since the node booted, in nanoseconds. Waiting for a disk
// counts as idle; user and nice include guests.
func (s *Stats) busyTime() (sum uint64, ok bool) {
	text, _ := text(filepath.Join(s.cfg.Proc, "stat"))
	line, _, _ := strings.Cut(text, "\n")
	f := strings.Fields(line)
	if len(f) < 5 || f[0] != "cpu" {
		return 0, false
	}
	for i, field := range f[1:min(len(f), 9)] {
		n, err := strconv.ParseUint(field, 10, 64)
		if err != nil {
			return 0, false
		}
		if i != 3 && i != 4 { // idle, iowait
			sum += n
		}
	}
	return sum * tick, true
}

// nodeMemory returns the memory usage. Available is memory that is not in use or is easy to reclaim.
//
// Upstream: pkg/kubelet/stats/helper.go, cadvisorInfoToCPUandMemoryStats.
func (s *Stats) nodeMemory(now time.Time) *statsapi.MemoryStats {
	info := s.fields("meminfo")
	total := info["MemTotal:"] << 10
	out := s.cgroupMemory(top, now)
	if out == nil {
		out = s.rootMemory(info, now)
	}
	if out != nil {
		// Huge pages are no memory of cgroups (upstream: pkg/kubelet/server/stats/summary.go, HugepageAwareEviction).
		out.AvailableBytes = new(less(less(total, *out.WorkingSetBytes), info["Hugetlb:"]<<10))
	}
	return out
}

// rootMemory returns the node's memory usage where its top cgroup does not have it: that of cgroup v2 has no
// memory.current, and with older kernels no memory.stat. As with cgroup v1, the usage is that of programs and of the
// page cache. info is /proc/meminfo. It returns nil if the usage is unknown.
//
// Upstream: github.com/opencontainers/cgroups/fs2/memory.go, which cAdvisor uses.
func (s *Stats) rootMemory(info map[string]uint64, now time.Time) *statsapi.MemoryStats {
	st := s.tree.fields("memory", top, "memory.stat")
	anon, ok := st["anon"]
	used, cold := anon+st["file"], st["inactive_file"]
	if !ok || !s.tree.v2 {
		if info["MemTotal:"] == 0 {
			return nil
		}
		anon, used, cold = info["AnonPages:"]<<10, less(info["MemTotal:"], info["MemFree:"])<<10, info["Inactive(file):"]<<10
		st = s.fields("vmstat")
	}
	return &statsapi.MemoryStats{
		Time: metav1.NewTime(now), UsageBytes: &used, WorkingSetBytes: new(less(used, cold)), RSSBytes: &anon,
		PageFaults: known(st, "pgfault"), MajorPageFaults: known(st, "pgmajfault"), PSI: s.pressure("memory", top),
	}
}

// known returns a field, nil if there is none.
func known(of map[string]uint64, name string) *uint64 {
	if n, ok := of[name]; ok {
		return &n
	}
	return nil
}

// cgroupMemory returns the memory usage of a cgroup; nil if unknown.
func (s *Stats) cgroupMemory(path string, now time.Time) *statsapi.MemoryStats {
	names := [5]string{"memory.usage_in_bytes", "total_inactive_file", "total_rss", "total_pgfault", "total_pgmajfault"}
	if s.tree.v2 {
		names = [5]string{"memory.current", "inactive_file", "anon", "pgfault", "pgmajfault"}
	}
	used, ok := s.tree.number("memory", path, names[0])
	if !ok {
		return nil
	}
	st := s.tree.fields("memory", path, "memory.stat")
	return &statsapi.MemoryStats{
		Time: metav1.NewTime(now), UsageBytes: &used, WorkingSetBytes: new(less(used, st[names[1]])),
		RSSBytes: new(st[names[2]]), PageFaults: known(st, names[3]), MajorPageFaults: known(st, names[4]), PSI: s.pressure("memory", path),
	}
}

// cgroupSwap returns the swap usage of a cgroup, and what is left of its limit, if it has one; nil if swap is not counted there.
func (s *Stats) cgroupSwap(path string, now time.Time) *statsapi.SwapStats {
	used, ok := s.tree.swap(path)
	if !ok {
		return nil
	}
	out := &statsapi.SwapStats{Time: metav1.NewTime(now), SwapUsageBytes: &used}
	if limit, ok := s.tree.swapLimit(path); ok {
		out.SwapAvailableBytes = new(less(limit, used))
	}
	return out
}

func (s *Stats) nodeSwap(now time.Time) *statsapi.SwapStats {
	info := s.fields("meminfo")
	if len(info) == 0 {
		return nil
	}
	free := info["SwapFree:"] << 10
	return &statsapi.SwapStats{Time: metav1.NewTime(now), SwapAvailableBytes: &free, SwapUsageBytes: new(less(info["SwapTotal:"]<<10, free))}
}

// rlimit returns the number of processes and threads, and the maximum.
//
// Upstream: pkg/kubelet/stats/pidlimit.
func (s *Stats) rlimit(now time.Time) *statsapi.RlimitStats {
	out := &statsapi.RlimitStats{Time: metav1.NewTime(now)}
	pids, ok := number(filepath.Join(s.cfg.Proc, "sys/kernel/pid_max"))
	if threads, also := number(filepath.Join(s.cfg.Proc, "sys/kernel/threads-max")); also && (!ok || threads < pids) {
		pids, ok = threads, true
	}
	if ok {
		out.MaxPID = new(int64(pids))
	}
	if text, ok := text(filepath.Join(s.cfg.Proc, "loadavg")); ok {
		if f := strings.Fields(string(text)); len(f) > 3 {
			_, all, _ := strings.Cut(f[3], "/")
			if n, err := strconv.ParseInt(all, 10, 64); err == nil {
				out.NumOfRunningProcesses = &n
			}
		}
	}
	return out
}

func less(a, b uint64) uint64 {
	if b > a {
		return 0
	}
	return a - b
}

func number(file string) (uint64, bool) {
	text, ok := text(file)
	if !ok {
		return 0, false
	}
	n, err := strconv.ParseUint(strings.TrimSpace(text), 10, 64)
	return n, err == nil
}

// fields parses a file of /proc.
func (s *Stats) fields(name string) map[string]uint64 {
	text, _ := text(filepath.Join(s.cfg.Proc, name))
	return fieldsOf(text)
}
