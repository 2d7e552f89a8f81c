package stats

import (
	"path/filepath"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	statsapi "k8s.io/kubelet/pkg/apis/stats/v1alpha1"
)

// pressure returns the kernel's figures (PSI) about a cgroup and a resource: cpu, memory or io. nil means that they are
// unknown: cgroup v1 has them for the node only, and a kernel can be without them. Totals are in microseconds, the
// kernel's unit, as upstream's are, although the API's comment says nanoseconds.
//
// Upstream: KEP-4205; pkg/kubelet/stats/helper.go, cadvisorPSIToStatsPSI.
func (s *Stats) pressure(resource, path string) *statsapi.PSIStats {
	var figures string
	switch {
	case path == top:
		figures, _ = text(filepath.Join(s.cfg.Proc, "pressure", resource))
	case path != "" && s.tree.v2:
		figures, _ = s.tree.text("", path, resource+".pressure")
	}
	return parsePressure(figures)
}

// ioPressure returns the pressure on block devices; nil if it is unknown.
func (s *Stats) ioPressure(path string, now time.Time) *statsapi.IOStats {
	p := s.pressure("io", path)
	if p == nil {
		return nil
	}
	return &statsapi.IOStats{Time: metav1.NewTime(now), PSI: p}
}

// io returns the pressure on block devices that the runtime reports, or else that of the cgroup; nil if it is unknown.
func (s *Stats) io(u *runtimeapi.IoUsage, path string, now time.Time) *statsapi.IOStats {
	if u.GetPsi() == nil {
		return s.ioPressure(path, now)
	}
	return &statsapi.IOStats{Time: stamp(u.Timestamp, now), PSI: psi(u.Psi)}
}

// addPressure adds the pressure in the cgroup, where the runtime reported none.
func (s *Stats) addPressure(path string, cpu *statsapi.CPUStats, memory *statsapi.MemoryStats) {
	if cpu != nil && cpu.PSI == nil {
		cpu.PSI = s.pressure("cpu", path)
	}
	if memory != nil && memory.PSI == nil {
		memory.PSI = s.pressure("memory", path)
	}
}

// parsePressure parses a file of pressure figures; nil if it has no line "some". Kernels before 5.13 have no line "full"
// for cpu.
func parsePressure(text string) *statsapi.PSIStats {
	out, known := &statsapi.PSIStats{}, false
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) == 0 {
			continue
		}
		data, ok := parsePressureData(f[1:])
		switch {
		case !ok:
		case f[0] == "some":
			out.Some, known = data, true
		case f[0] == "full":
			out.Full = data
		}
	}
	if !known {
		return nil
	}
	return out
}

// parsePressureData parses avg10=0.09 avg60=0.71 avg300=2.55 total=9272908370; false if it has no total.
func parsePressureData(fields []string) (out statsapi.PSIData, ok bool) {
	for _, f := range fields {
		name, value, _ := strings.Cut(f, "=")
		if name == "total" {
			n, err := strconv.ParseUint(value, 10, 64)
			out.Total, ok = n, err == nil
			continue
		}
		v, err := strconv.ParseFloat(value, 64)
		if err != nil || v < 0 || v > 100 {
			continue
		}
		switch name {
		case "avg10":
			out.Avg10 = v
		case "avg60":
			out.Avg60 = v
		case "avg300":
			out.Avg300 = v
		}
	}
	return out, ok
}

// psi converts a runtime's pressure figures; nil if it has none.
func psi(p *runtimeapi.PsiStats) *statsapi.PSIStats {
	if p == nil {
		return nil
	}
	data := func(d *runtimeapi.PsiData) statsapi.PSIData {
		return statsapi.PSIData{Total: d.GetTotal(), Avg10: d.GetAvg10(), Avg60: d.GetAvg60(), Avg300: d.GetAvg300()}
	}
	return &statsapi.PSIStats{Full: data(p.Full), Some: data(p.Some)}
}
