package stats

import (
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	statsapi "k8s.io/kubelet/pkg/apis/stats/v1alpha1"
)

// systemContainers returns the usage of the agent itself, and of all pods together.
//
// Upstream: pkg/kubelet/server/stats/summary_sys_containers.go.
func (s *Stats) systemContainers(brief bool, now time.Time) []statsapi.ContainerStats {
	out := []statsapi.ContainerStats{{
		Name: statsapi.SystemContainerKubelet, StartTime: metav1.NewTime(s.began), CPU: s.selfCPU(now), Memory: s.selfMemory(now),
	}}
	at := s.PodsCgroup()
	if at == "" {
		return out
	}
	cpu, mem := s.cgroupCPU("pods", at, now), s.podsMemory(now)
	if cpu == nil && mem == nil {
		return out
	}
	pods := statsapi.ContainerStats{Name: statsapi.SystemContainerPods, StartTime: metav1.NewTime(s.booted()), CPU: cpu, Memory: mem}
	if !brief {
		pods.IO = s.ioPressure(at, now)
	}
	out = append(out, pods)
	return out
}

// PodsCgroup returns the cgroup of all pods, below the hierarchies' roots; "" if there is none.
func (s *Stats) PodsCgroup() string {
	if len(s.cfg.Tiers) == 0 {
		return ""
	}
	return s.cfg.Tiers[0]
}

func (s *Stats) selfCPU(now time.Time) *statsapi.CPUStats {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return nil
	}
	total := uint64(u.Utime.Nano() + u.Stime.Nano())
	return &statsapi.CPUStats{Time: metav1.NewTime(now), UsageCoreNanoSeconds: &total, UsageNanoCores: s.rates.nanoCores(selfKey, now, total)}
}

func (s *Stats) selfMemory(now time.Time) *statsapi.MemoryStats {
	st := s.fields("self/status")
	if len(st) == 0 {
		return nil
	}
	rss := st["VmRSS:"] << 10
	return &statsapi.MemoryStats{
		Time: metav1.NewTime(now), UsageBytes: &rss, RSSBytes: new(st["RssAnon:"] << 10),
		WorkingSetBytes: &rss, PageFaults: new(uint64), MajorPageFaults: new(uint64),
	}
}

// nodeNetwork returns the traffic of the node's own interfaces. The first is that of the default route.
func (s *Stats) nodeNetwork(now time.Time) *statsapi.NetworkStats {
	text, ok := text(filepath.Join(s.cfg.Proc, "net/dev"))
	if !ok {
		return nil
	}
	out := &statsapi.NetworkStats{Time: metav1.NewTime(now)}
	standard := s.defaultInterface()
	for line := range strings.Lines(string(text)) {
		name, rest, ok := strings.Cut(strings.TrimSpace(line), ":")
		f := strings.Fields(rest)
		if !ok || len(f) < 11 || name == "lo" || strings.HasPrefix(name, "veth") || strings.HasPrefix(name, "docker") || strings.HasPrefix(name, "cali") {
			continue
		}
		i := statsapi.InterfaceStats{Name: name, RxBytes: parsed(f[0]), RxErrors: parsed(f[2]), TxBytes: parsed(f[8]), TxErrors: parsed(f[10])}
		out.Interfaces = append(out.Interfaces, i)
		if name == standard {
			out.InterfaceStats = i
		}
	}
	return out
}

func (s *Stats) defaultInterface() string {
	text, ok := text(filepath.Join(s.cfg.Proc, "net/route"))
	if !ok {
		return ""
	}
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) > 7 && f[1] == "00000000" && f[7] == "00000000" {
			return f[0]
		}
	}
	return ""
}

func parsed(text string) *uint64 {
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return nil
	}
	return &n
}
