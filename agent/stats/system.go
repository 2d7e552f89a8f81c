package stats

import (
	"cmp"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	statsapi "k8s.io/kubelet/pkg/apis/stats/v1alpha1"
)

// systemContainers returns the usage of the agent itself, of the runtime and of the system's other processes if their cgroups are known, and
// of all pods together.
//
// Upstream: pkg/kubelet/server/stats/summary_sys_containers.go.
func (s *Stats) systemContainers(brief bool, now time.Time) []statsapi.ContainerStats {
	self, ok := s.systemContainer(statsapi.SystemContainerKubelet, cmp.Or(s.cfg.KubeletCgroup, s.ownCgroup()), brief, now)
	if !ok {
		self = statsapi.ContainerStats{Name: statsapi.SystemContainerKubelet, CPU: s.selfCPU(now), Memory: s.selfMemory(now)}
	}
	self.StartTime = metav1.NewTime(s.began)
	out := []statsapi.ContainerStats{self}
	if runtime, ok := s.systemContainer(statsapi.SystemContainerRuntime, s.cfg.RuntimeCgroup, brief, now); ok {
		runtime.StartTime = metav1.NewTime(s.tree.made(s.cfg.RuntimeCgroup))
		out = append(out, runtime)
	}
	if misc, ok := s.systemContainer(statsapi.SystemContainerMisc, s.cfg.SystemCgroup, brief, now); ok {
		misc.StartTime = metav1.NewTime(s.tree.made(s.cfg.SystemCgroup))
		out = append(out, misc)
	}
	if pods, ok := s.systemContainer(statsapi.SystemContainerPods, s.PodsCgroup(), brief, now); ok {
		pods.StartTime, pods.Memory = metav1.NewTime(s.booted()), s.podsMemory(now)
		out = append(out, pods)
	}
	return out
}

// systemContainer returns the usage of a cgroup; false if it has no figures.
func (s *Stats) systemContainer(name, at string, brief bool, now time.Time) (statsapi.ContainerStats, bool) {
	if at == "" {
		return statsapi.ContainerStats{}, false
	}
	out := statsapi.ContainerStats{Name: name, CPU: s.cgroupCPU(name, at, now), Memory: s.cgroupMemory(at, now), Swap: s.cgroupSwap(at, now)}
	if !brief {
		out.IO = s.ioPressure(at, now)
	}
	return out, out.CPU != nil || out.Memory != nil
}

// ownCgroup returns the agent's cgroup if the agent is a service of systemd, whose cgroup has only the agent and what it runs; "" if not.
// In another one, such as that of a shell, there may be anything.
func (s *Stats) ownCgroup() string {
	list, _ := text(filepath.Join(s.cfg.Proc, "self/cgroup"))
	for line := range strings.Lines(list) {
		f := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(f) != 3 || !strings.HasSuffix(f[2], ".service") {
			continue
		}
		if s.tree.v2 && f[0] == "0" || !s.tree.v2 && slices.Contains(strings.Split(f[1], ","), "memory") {
			return f[2]
		}
	}
	return ""
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
	out := &statsapi.MemoryStats{Time: metav1.NewTime(now), UsageBytes: &rss, RSSBytes: new(st["RssAnon:"] << 10), WorkingSetBytes: &rss}
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err == nil {
		out.PageFaults, out.MajorPageFaults = new(uint64(u.Minflt+u.Majflt)), new(uint64(u.Majflt))
	}
	return out
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
		if !ok || len(f) < 11 || inside(name) {
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

// inside reports whether an interface is within the machine, for cAdvisor: it reports interfaces of network plugins, such as cali*, but not veth*
// and those of Docker and nerdctl.
//
// Upstream: github.com/google/cadvisor/lib/container/libcontainer/handler.go, isIgnoredDevice.
func inside(name string) bool {
	name = strings.ToLower(name)
	return slices.ContainsFunc([]string{"lo", "veth", "docker", "nerdctl"}, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
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
