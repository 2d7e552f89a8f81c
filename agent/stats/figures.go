package stats

import (
	statsapi "k8s.io/kubelet/pkg/apis/stats/v1alpha1"
)

// figures are what a cgroup's files say, by the names of cAdvisor's metrics and in their units. What is unknown is not
// there.
type figures struct {
	values map[string]float64
	disks  []disk
	// pid is a process of the cgroup itself; "" if it has none.
	pid string
}

// set adds a figure in units of its metric: 1 for bytes and counts, 1e-6 for microseconds.
func (f *figures) set(name string, n uint64, ok bool, unit float64) {
	if ok {
		f.values[name] = float64(n) * unit
	}
}

// setFrom adds the fields of a file that it has; names are a metric and the field of each.
func (f *figures) setFrom(from map[string]uint64, unit float64, names ...string) {
	for i := 0; i+1 < len(names); i += 2 {
		n, ok := from[names[i+1]]
		f.set(names[i], n, ok, unit)
	}
}

// The metrics that the runtime reports of pods and containers. Those of other cgroups come from files.
const (
	cpuUsage    = "container_cpu_usage_seconds_total"
	memoryUsage = "container_memory_usage_bytes"
	workingSet  = "container_memory_working_set_bytes"
	rss         = "container_memory_rss"
	// oomKills are the processes that the kernel has killed.
	oomKills = "container_oom_events_total"
	// inactiveFile is easy to reclaim.
	inactiveFile = "container_memory_total_inactive_file_bytes"
)

// figures reads the files of a cgroup, without what is known of it.
//
// Upstream: github.com/google/cadvisor/lib/container/libcontainer/handler.go and lib/container/common/helpers.go.
func (s *Stats) figures(path string, known *statsapi.ContainerStats) figures {
	if path == "" {
		return figures{}
	}
	f := figures{values: make(map[string]float64, 64)}
	if s.tree.v2 {
		s.tree.v2CPU(&f, path)
		s.tree.v2Memory(&f, path)
		s.tree.v2Disks(&f, path)
	} else {
		s.tree.v1CPU(&f, path)
		s.tree.v1Memory(&f, path)
		s.tree.v1Disks(&f, path)
	}
	if path == top { // its memory.stat has no swap
		f.disks = s.nodeDisks()
		info := s.fields("meminfo")
		if total, ok := info["SwapTotal:"]; ok {
			f.set("container_memory_swap", less(total, info["SwapFree:"])<<10, true, 1)
		}
	}
	s.processes(&f, path)
	if _, has := f.values[cpuUsage]; !has && known.CPU == nil {
		n, ok := s.cpuTime(path)
		f.set(cpuUsage, n, ok, 1e-9)
	}
	if known.Memory == nil {
		s.tree.used(&f, path)
	}
	s.addPressures(&f, path, known)
	return f
}

// used adds the usage of memory, and what of it is not easy to reclaim.
func (t tree) used(f *figures, path string) {
	file := "memory.usage_in_bytes"
	if t.v2 {
		file = "memory.current"
	}
	n, ok := t.number("memory", path, file)
	f.set(memoryUsage, n, ok, 1)
	f.set(workingSet, less(n, uint64(f.values[inactiveFile])), ok, 1)
}

// addPressures adds the pressure that is known, and reads the other.
func (s *Stats) addPressures(f *figures, path string, known *statsapi.ContainerStats) {
	var of [3]*statsapi.PSIStats
	if known.CPU != nil {
		of[0] = known.CPU.PSI
	}
	if known.Memory != nil {
		of[1] = known.Memory.PSI
	}
	if known.IO != nil {
		of[2] = known.IO.PSI
	}
	for i, resource := range []string{"cpu", "memory", "io"} {
		if of[i] == nil {
			of[i] = s.pressure(resource, path)
		}
		f.setPressure(resource, of[i])
	}
}

// setPressure adds figures whose totals are in microseconds.
func (f *figures) setPressure(resource string, p *statsapi.PSIStats) {
	if p != nil {
		f.set("container_pressure_"+resource+"_waiting_seconds_total", p.Some.Total, true, 1e-6)
		f.set("container_pressure_"+resource+"_stalled_seconds_total", p.Full.Total, true, 1e-6)
	}
}
