package stats

import (
	"os"
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
func (s *Stats) systemContainers(now time.Time) []statsapi.ContainerStats {
	out := []statsapi.ContainerStats{{
		Name: statsapi.SystemContainerKubelet, StartTime: metav1.NewTime(s.began), CPU: s.selfCPU(now), Memory: s.selfMemory(now),
	}}
	top := s.PodsCgroup()
	if cpu, mem := s.cgroupCPU("pods", top, now), s.podsMemory(now); cpu != nil || mem != nil {
		out = append(out, statsapi.ContainerStats{Name: statsapi.SystemContainerPods, StartTime: metav1.NewTime(s.booted()), CPU: cpu, Memory: mem})
	}
	return out
}

// PodsCgroup returns the cgroup of all pods, below the hierarchies' roots.
func (s *Stats) PodsCgroup() string {
	top := "kubepods"
	if s.cfg.PodCgroup == nil {
		return top
	}
	for _, p := range s.cfg.Pods() {
		// The cgroup of guaranteed pods is the top one itself, so the first kubepods element is the top in every case.
		if before, _, ok := strings.Cut(s.cfg.PodCgroup(&p), "kubepods"); ok {
			top = before + "kubepods"
			if _, ok := s.cpuTime(top); !ok {
				top += ".slice"
			}
			break
		}
	}
	return top
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
	st := fieldsOf(filepath.Join(s.cfg.Proc, "self/status"))
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
	text, err := os.ReadFile(filepath.Join(s.cfg.Proc, "net/dev"))
	if err != nil {
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
	text, err := os.ReadFile(filepath.Join(s.cfg.Proc, "net/route"))
	if err != nil {
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
