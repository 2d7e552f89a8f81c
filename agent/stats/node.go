package stats

import (
	"os"
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

func (s *Stats) nodeCPU(now time.Time) *statsapi.CPUStats { return s.cgroupCPU(nodeKey, "", now) }

// cgroupCPU returns the CPU usage of the cgroup at path below the hierarchies' roots; nil if unknown.
func (s *Stats) cgroupCPU(key, path string, now time.Time) *statsapi.CPUStats {
	total, ok := s.cpuTime(path)
	if !ok {
		return nil
	}
	return &statsapi.CPUStats{Time: metav1.NewTime(now), UsageCoreNanoSeconds: &total, UsageNanoCores: s.rates.nanoCores(key, now, total)}
}

// cpuTime returns a cgroup's CPU time in nanoseconds.
func (s *Stats) cpuTime(path string) (uint64, bool) {
	for _, tree := range []string{"cpuacct", "cpu,cpuacct"} {
		if n, ok := number(filepath.Join(s.cfg.Cgroup, tree, path, "cpuacct.usage")); ok {
			return n, true
		}
	}
	if us, ok := fieldsOf(filepath.Join(s.cfg.Cgroup, path, "cpu.stat"))["usage_usec"]; ok {
		return us * 1000, true
	}
	return 0, false
}

// nodeMemory returns the memory usage. Available is memory that is not in use or is easy to reclaim.
//
// Upstream: pkg/kubelet/stats/helper.go, cadvisorInfoToCPUandMemoryStats.
func (s *Stats) nodeMemory(now time.Time) *statsapi.MemoryStats {
	info := s.fields("meminfo")
	total := info["MemTotal:"] << 10
	out := s.cgroupMemory("", now)
	if out == nil {
		if total == 0 {
			return nil
		}
		used := total - info["MemFree:"]<<10
		out = &statsapi.MemoryStats{
			Time: metav1.NewTime(now), UsageBytes: &used, RSSBytes: new(info["AnonPages:"] << 10),
			WorkingSetBytes: new(less(used, info["Inactive(file):"]<<10)),
		}
	}
	out.AvailableBytes = new(less(total, *out.WorkingSetBytes))
	return out
}

// cgroupMemory returns the memory usage of a cgroup; nil if unknown.
func (s *Stats) cgroupMemory(path string, now time.Time) *statsapi.MemoryStats {
	dir, names := filepath.Join(s.cfg.Cgroup, "memory", path), [5]string{"memory.usage_in_bytes", "total_inactive_file", "total_rss", "total_pgfault", "total_pgmajfault"}
	used, ok := number(filepath.Join(dir, names[0]))
	if !ok {
		dir, names = filepath.Join(s.cfg.Cgroup, path), [5]string{"memory.current", "inactive_file", "anon", "pgfault", "pgmajfault"}
		if used, ok = number(filepath.Join(dir, names[0])); !ok {
			return nil
		}
	}
	st := fieldsOf(filepath.Join(dir, "memory.stat"))
	return &statsapi.MemoryStats{
		Time: metav1.NewTime(now), UsageBytes: &used, WorkingSetBytes: new(less(used, st[names[1]])),
		RSSBytes: new(st[names[2]]), PageFaults: new(st[names[3]]), MajorPageFaults: new(st[names[4]]),
	}
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
	if text, err := os.ReadFile(filepath.Join(s.cfg.Proc, "loadavg")); err == nil {
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
	text, err := os.ReadFile(file)
	if err != nil {
		return 0, false
	}
	n, err := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64)
	return n, err == nil
}

func (s *Stats) fields(name string) map[string]uint64 {
	return fieldsOf(filepath.Join(s.cfg.Proc, name))
}

// fieldsOf parses a file of names and numbers.
func fieldsOf(file string) map[string]uint64 {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil
	}
	out := map[string]uint64{}
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) >= 2 {
			if n, err := strconv.ParseUint(f[1], 10, 64); err == nil {
				out[f[0]] = n
			}
		}
	}
	return out
}
