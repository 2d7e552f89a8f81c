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

// figures reads the files of a cgroup.
//
// Upstream: github.com/google/cadvisor/lib/container/libcontainer/handler.go and lib/container/common/helpers.go.
func (s *Stats) figures(path string) figures {
	f := figures{values: map[string]float64{}}
	if path == "" {
		return f
	}
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
	for _, resource := range []string{"cpu", "memory", "io"} {
		f.setPressure(resource, s.pressure(resource, path))
	}
	return f
}

// setPressure adds figures whose totals are in microseconds.
func (f *figures) setPressure(resource string, p *statsapi.PSIStats) {
	if p != nil {
		f.set("container_pressure_"+resource+"_waiting_seconds_total", p.Some.Total, true, 1e-6)
		f.set("container_pressure_"+resource+"_stalled_seconds_total", p.Full.Total, true, 1e-6)
	}
}
