package stats

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	statsapi "k8s.io/kubelet/pkg/apis/stats/v1alpha1"
)

func value(v *runtimeapi.UInt64Value) *uint64 {
	if v == nil {
		return nil
	}
	return &v.Value
}

func or0(v *uint64) uint64 {
	if v == nil {
		return 0
	}
	return *v
}

func stamp(ns int64, now time.Time) metav1.Time {
	if ns <= 0 {
		return metav1.NewTime(now)
	}
	return metav1.NewTime(time.Unix(0, ns))
}

// cpu converts CPU usage. If the runtime reports no rate, it is the rate since the last reading.
func (s *Stats) cpu(key string, c *runtimeapi.CpuUsage, now time.Time) *statsapi.CPUStats {
	if c.GetUsageCoreNanoSeconds() == nil {
		return nil
	}
	out := &statsapi.CPUStats{Time: stamp(c.Timestamp, now), UsageCoreNanoSeconds: value(c.UsageCoreNanoSeconds), UsageNanoCores: value(c.UsageNanoCores), PSI: psi(c.Psi)}
	if rate := s.rates.nanoCores(key, out.Time.Time, c.UsageCoreNanoSeconds.Value); out.UsageNanoCores == nil {
		out.UsageNanoCores = rate
	}
	return out
}

// memory converts memory usage of the container or pod with that cgroup, "" if it is unknown.
func (s *Stats) memory(m *runtimeapi.MemoryUsage, cgroup string, now time.Time) *statsapi.MemoryStats {
	if m == nil {
		return nil
	}
	available := value(m.AvailableBytes)
	if or0(available) == 0 && !s.limited(cgroup) { // containerd's value without a limit
		available = nil
	}
	return &statsapi.MemoryStats{
		Time: stamp(m.Timestamp, now), AvailableBytes: available, UsageBytes: value(m.UsageBytes),
		WorkingSetBytes: value(m.WorkingSetBytes), RSSBytes: value(m.RssBytes),
		PageFaults: value(m.PageFaults), MajorPageFaults: value(m.MajorPageFaults), PSI: psi(m.Psi),
	}
}

// limited reports whether a cgroup is known to have a memory limit.
func (s *Stats) limited(cgroup string) bool {
	if cgroup == "" {
		return false
	}
	_, ok := s.tree.memoryLimit(cgroup)
	return ok
}

func swap(u *runtimeapi.SwapUsage, now time.Time) *statsapi.SwapStats {
	if u == nil {
		return nil
	}
	return &statsapi.SwapStats{Time: stamp(u.Timestamp, now), SwapAvailableBytes: value(u.SwapAvailableBytes), SwapUsageBytes: value(u.SwapUsageBytes)}
}

func network(n *runtimeapi.NetworkUsage) *statsapi.NetworkStats {
	if n == nil {
		return nil
	}
	out := &statsapi.NetworkStats{Time: stamp(n.Timestamp, time.Now())}
	if n.DefaultInterface != nil {
		out.InterfaceStats = networkInterface(n.DefaultInterface)
	}
	for _, i := range n.Interfaces {
		out.Interfaces = append(out.Interfaces, networkInterface(i))
	}
	return out
}

func networkInterface(i *runtimeapi.NetworkInterfaceUsage) statsapi.InterfaceStats {
	return statsapi.InterfaceStats{
		Name: i.Name, RxBytes: value(i.RxBytes), RxErrors: value(i.RxErrors), TxBytes: value(i.TxBytes), TxErrors: value(i.TxErrors),
	}
}

// sum returns a pod's usage from its containers'.
func sum(containers []statsapi.ContainerStats, now time.Time) (*statsapi.CPUStats, *statsapi.MemoryStats) {
	cpu := &statsapi.CPUStats{Time: metav1.NewTime(now), UsageNanoCores: new(uint64), UsageCoreNanoSeconds: new(uint64)}
	mem := &statsapi.MemoryStats{
		Time: metav1.NewTime(now), UsageBytes: new(uint64), WorkingSetBytes: new(uint64), RSSBytes: new(uint64),
		PageFaults: new(uint64), MajorPageFaults: new(uint64),
	}
	for _, c := range containers {
		if c.CPU != nil {
			*cpu.UsageNanoCores += or0(c.CPU.UsageNanoCores)
			*cpu.UsageCoreNanoSeconds += or0(c.CPU.UsageCoreNanoSeconds)
		}
		if m := c.Memory; m != nil {
			*mem.UsageBytes += or0(m.UsageBytes)
			*mem.WorkingSetBytes += or0(m.WorkingSetBytes)
			*mem.RSSBytes += or0(m.RSSBytes)
			*mem.PageFaults += or0(m.PageFaults)
			*mem.MajorPageFaults += or0(m.MajorPageFaults)
		}
	}
	return cpu, mem
}
