package stats

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	dto "github.com/prometheus/client_model/go"
	v1 "k8s.io/api/core/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	statsapi "k8s.io/kubelet/pkg/apis/stats/v1alpha1"
)

// cgroups is how a node has its cgroups.
type cgroups struct {
	name           string
	pod, container string // paths
	tiers          []string
	files          map[string]string // without the container's, by path
	own            map[string]string // the container's, by path from the root with %s for its cgroup
}

func v2Files(pods, pod string) map[string]string {
	const some = "some avg10=1.50 avg60=2.00 avg300=0.25 total=%d\nfull avg10=0.50 avg60=0.00 avg300=0.00 total=%d\n"
	return map[string]string{
		"cgroup.controllers":                 "cpuset cpu io memory hugetlb pids rdma misc\n",
		"cpu.stat":                           "usage_usec 9000000\nuser_usec 6000000\nsystem_usec 3000000\n",
		"memory.stat":                        "anon 300000\nfile 400000\nkernel 5\ninactive_file 100000\npgfault 71\npgmajfault 7\n",
		"io.stat":                            "8:0 rbytes=10 wbytes=20 rios=3 wios=4 dbytes=0 dios=0\n253:9 rbytes=1 wbytes=0 rios=1 wios=0 dbytes=0 dios=0\n7:0 \n",
		pods + "/cpu.stat":                   "usage_usec 4000\n",
		pods + "/memory.current":             "5000\n",
		pods + "/memory.max":                 "800000\n",
		pods + "/memory.stat":                "anon 3000\ninactive_file 1000\npgfault 5\npgmajfault 1\n",
		pods + "/cpu.pressure":               fmt.Sprintf(some, 900, 90),
		pods + "/io.pressure":                fmt.Sprintf(some, 700, 70),
		pods + "/" + pod + "/cpu.stat":       "usage_usec 3000\n",
		pods + "/" + pod + "/cpu.pressure":   fmt.Sprintf(some, 5_000_000, 1),
		pods + "/" + pod + "/io.pressure":    fmt.Sprintf(some, 6_000_000, 2),
		pods + "/" + pod + "/memory.current": "2000\n",
	}
}

func v2Container() map[string]string {
	return map[string]string{
		"%s/cpu.pressure":        "some avg10=12.25 avg60=2.00 avg300=0.25 total=4000000\nfull avg10=3.00 avg60=0.00 avg300=0.00 total=2000000\n",
		"%s/memory.pressure":     "some avg10=0.00 avg60=0.00 avg300=0.00 total=3500000\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=1500000\n",
		"%s/io.pressure":         "some avg10=0.00 avg60=0.00 avg300=0.00 total=2500000\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=500000\n",
		"%s/cpu.stat":            "usage_usec 2000000\nuser_usec 1500000\nsystem_usec 500000\nnr_periods 40\nnr_throttled 10\nthrottled_usec 2500000\nnr_bursts 2\nburst_usec 1000000\n",
		"%s/cpu.max":             "50000 100000\n",
		"%s/cpu.weight":          "79\n",
		"%s/memory.stat":         "anon 600\nfile 500\nfile_mapped 300\nkernel 200\nactive_file 100\ninactive_file 50\npgfault 21\npgmajfault 2\n",
		"%s/memory.swap.current": "4096\n",
		"%s/memory.peak":         "9999\n",
		"%s/memory.max":          "1048576\n",
		"%s/memory.swap.max":     "max\n",
		"%s/memory.min":          "0\n",
		"%s/memory.events":       "low 0\nhigh 1\nmax 2\noom 3\noom_kill 4\noom_group_kill 0\n",
		"%s/io.stat":             "8:0 rbytes=4096 wbytes=8192 rios=2 wios=3 dbytes=0 dios=0 cost.vrate=100.00 cost.usage=2500000 cost.wait=500000 cost.indebt=0 cost.indelay=1000000\n",
		"%s/pids.current":        "7\n",
		"%s/pids.max":            "max\n",
		"%s/cgroup.procs":        "11\n12\n13\n",
	}
}

func v1Files() map[string]string {
	return map[string]string{
		"cpu,cpuacct/cpuacct.usage":                   "9000000000\n",
		"cpu,cpuacct/kubepods/cpuacct.usage":          "4000000\n",
		"memory/memory.usage_in_bytes":                "700000\n",
		"memory/memory.stat":                          "pgfault 1\ntotal_inactive_file 100000\ntotal_rss 300000\ntotal_pgfault 71\ntotal_pgmajfault 7\n",
		"memory/kubepods/memory.usage_in_bytes":       "5000\n",
		"memory/kubepods/memory.limit_in_bytes":       "800000\n",
		"memory/kubepods/memory.stat":                 "total_inactive_file 1000\ntotal_rss 3000\n",
		"memory/kubepods/podu1/memory.limit_in_bytes": "9223372036854771712\n",
	}
}

func v1Container() map[string]string {
	return map[string]string{
		"cpu,cpuacct%s/cpuacct.stat":                        "user 150\nsystem 50\n",
		"cpu,cpuacct%s/cpu.stat":                            "nr_periods 40\nnr_throttled 10\nthrottled_time 2500000000\nnr_bursts 2\nburst_time 1000000000\n",
		"cpu,cpuacct%s/cpu.cfs_period_us":                   "100000\n",
		"cpu,cpuacct%s/cpu.cfs_quota_us":                    "50000\n",
		"cpu,cpuacct%s/cpu.shares":                          "2046\n",
		"cpu,cpuacct%s/cgroup.procs":                        "11\n12\n13\n",
		"memory%s/memory.stat":                              "cache 1\ntotal_cache 500\ntotal_mapped_file 300\ntotal_swap 4096\ntotal_active_file 100\ntotal_inactive_file 50\ntotal_pgfault 21\ntotal_pgmajfault 2\ntotal_dirty 7\ntotal_writeback 8\ntotal_workingset_refault_anon 9\ntotal_workingset_refault_file 10\n",
		"memory%s/memory.kmem.usage_in_bytes":               "200\n",
		"memory%s/memory.max_usage_in_bytes":                "9999\n",
		"memory%s/memory.failcnt":                           "6\n",
		"memory%s/memory.limit_in_bytes":                    "1048576\n",
		"memory%s/memory.memsw.limit_in_bytes":              "9223372036854771712\n",
		"memory%s/memory.soft_limit_in_bytes":               "9223372036854771712\n",
		"memory%s/memory.oom_control":                       "oom_kill_disable 0\nunder_oom 0\noom_kill 4\n",
		"blkio%s/blkio.throttle.io_service_bytes":           "8:0 Read 1\nTotal 1\n",
		"blkio%s/blkio.throttle.io_service_bytes_recursive": "8:0 Read 4096\n8:0 Write 8192\n8:0 Total 12288\nTotal 12288\n",
		"blkio%s/blkio.throttle.io_serviced_recursive":      "8:0 Read 2\n8:0 Write 3\nTotal 5\n",
		"pids%s/pids.current":                               "7\n",
		"pids%s/pids.max":                                   "max\n",
	}
}

func allCgroups() []cgroups {
	return []cgroups{
		{
			name: "v2 with systemd", pod: "/kubepods.slice/kubepods-podu1.slice", container: "/kubepods.slice/kubepods-podu1.slice/cri-containerd-c1.scope",
			tiers: []string{"/kubepods.slice", "/kubepods.slice/kubepods-burstable.slice"}, files: v2Files("kubepods.slice", "kubepods-podu1.slice"), own: v2Container(),
		},
		{
			name: "v2 with systemd and CRI-O", pod: "/kubepods.slice/kubepods-podu1.slice", container: "/kubepods.slice/kubepods-podu1.slice/crio-c1.scope",
			tiers: []string{"/kubepods.slice"}, files: v2Files("kubepods.slice", "kubepods-podu1.slice"), own: v2Container(),
		},
		{
			name: "v2 with cgroupfs", pod: "/kubepods/podu1", container: "/kubepods/podu1/c1",
			tiers: []string{"/kubepods", "/kubepods/burstable"}, files: v2Files("kubepods", "podu1"), own: v2Container(),
		},
		{name: "v1", pod: "/kubepods/podu1", container: "/kubepods/podu1/c1", tiers: []string{"/kubepods"}, files: v1Files(), own: v1Container()},
	}
}

func (c *cgroups) v1() bool { return c.name == "v1" }

// on returns the world with other cgroups, and its root.
func (c *cgroups) on(t *testing.T) (*Stats, *fake, string) {
	t.Helper()
	s, runtime := world(t)
	root := filepath.Join(filepath.Dir(s.cfg.Proc), "cgroup")
	files := maps.Clone(c.files)
	for name, text := range c.own {
		files[fmt.Sprintf(name, c.container)] = text
	}
	write(t, root, files)
	write(t, s.cfg.Proc, map[string]string{
		"pressure/cpu":    "some avg10=94.84 avg60=77.27 avg300=58.39 total=720\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=0\n",
		"pressure/memory": "some avg10=0.00 avg60=0.00 avg300=0.00 total=30\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=20\n",
		"pressure/io":     "some avg10=0.00 avg60=0.00 avg300=0.00 total=50\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=40\n",
		"vmstat":          "nr_free_pages 1\npgfault 801\npgmajfault 80\n",
		"diskstats":       "   8       0 sda 1 2 8 4000 5 6 7 8000 9 10000 11000\n   7       1 loop1 0 0 0 0 0 0 0 0 0 0 0 0\n",
	})
	s.cfg.Cgroup, s.tree, s.cfg.Tiers = root, newTree(root), c.tiers
	s.cfg.PodCgroup = func(*v1.Pod) string { return c.pod }
	return s, runtime, root
}

func write(t testing.TB, root string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(root, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
}

func links(t testing.TB, root string, to map[string]string) {
	t.Helper()
	for name, target := range to {
		path := filepath.Join(root, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.Symlink(target, path)); err != nil {
			t.Fatal(err)
		}
	}
}

func TestPressure(t *testing.T) {
	for _, c := range allCgroups() {
		t.Run(c.name, func(t *testing.T) {
			s, _, _ := c.on(t)
			sum, err := s.Summary(t.Context(), false)
			if err != nil {
				t.Fatal(err)
			}
			n := sum.Node
			if n.CPU.PSI == nil || n.CPU.PSI.Some.Total != 720 || n.CPU.PSI.Some.Avg10 != 94.84 || n.CPU.PSI.Some.Avg60 != 77.27 || n.CPU.PSI.Some.Avg300 != 58.39 ||
				n.Memory.PSI == nil || n.Memory.PSI.Full.Total != 20 || n.IO == nil || n.IO.PSI.Full.Total != 40 {
				t.Errorf("node: cpu %+v, memory %+v, io %+v", n.CPU, n.Memory, n.IO)
			}
			p, pods := sum.Pods[0], sum.Node.SystemContainers[1]
			k := p.Containers[0]
			if c.v1() {
				if p.CPU.PSI != nil || p.IO != nil || k.CPU.PSI != nil || k.Memory.PSI != nil || k.IO != nil || pods.CPU.PSI != nil {
					t.Errorf("cgroup v1 has pressure of pods: %+v", p)
				}
				return
			}
			if p.CPU.PSI == nil || p.CPU.PSI.Some.Total != 5e6 || p.CPU.PSI.Full.Total != 1 || p.IO == nil || p.IO.PSI.Some.Total != 6e6 || p.Memory.PSI != nil {
				t.Errorf("pod: cpu %+v, memory %+v, io %+v", p.CPU, p.Memory, p.IO)
			}
			if k.CPU.PSI == nil || k.CPU.PSI.Some.Avg10 != 12.25 || k.CPU.PSI.Full.Total != 2e6 || k.Memory.PSI.Some.Total != 35e5 || k.IO.PSI.Full.Total != 5e5 {
				t.Errorf("container: cpu %+v, memory %+v, io %+v", k.CPU, k.Memory, k.IO)
			}
			if pods.CPU.PSI.Full.Total != 90 || pods.IO.PSI.Some.Total != 700 {
				t.Errorf("all pods: cpu %+v, io %+v", pods.CPU, pods.IO)
			}
			brief, err := s.Summary(t.Context(), true)
			if err != nil || brief.Node.IO != nil || brief.Pods[0].IO != nil || brief.Pods[0].Containers[0].IO != nil || brief.Node.SystemContainers[1].IO != nil || brief.Pods[0].CPU.PSI == nil {
				t.Errorf("brief: %+v, %v", brief, err)
			}
		})
	}
}

// The runtime's figures come first; without any, there are none.
func TestPressureOfTheRuntime(t *testing.T) {
	at := allCgroups()[0]
	s, runtime, root := at.on(t)
	psi := func(total uint64) *runtimeapi.PsiStats {
		return &runtimeapi.PsiStats{Some: &runtimeapi.PsiData{Total: total, Avg10: 1.5}, Full: &runtimeapi.PsiData{Total: total + 1}}
	}
	box := runtime.pods[0].Linux
	box.Cpu.Psi, box.Memory.Psi, box.Io = psi(10), psi(20), &runtimeapi.IoUsage{Timestamp: 5e9, Psi: psi(30)}
	box.Containers[0].Cpu.Psi, box.Containers[0].Io = psi(40), &runtimeapi.IoUsage{Timestamp: 5e9, Psi: psi(50)}
	sum, err := s.Summary(t.Context(), false)
	if err != nil {
		t.Fatal(err)
	}
	p := sum.Pods[0]
	k := p.Containers[0]
	if p.CPU.PSI.Some.Total != 10 || p.CPU.PSI.Some.Avg10 != 1.5 || p.Memory.PSI.Full.Total != 21 || p.IO.PSI.Some.Total != 30 || p.IO.Time.Unix() != 5 ||
		k.CPU.PSI.Some.Total != 40 || k.IO.PSI.Full.Total != 51 || k.Memory.PSI.Some.Total != 35e5 {
		t.Errorf("pod %+v %+v %+v, container %+v %+v %+v", p.CPU.PSI, p.Memory.PSI, p.IO, k.CPU.PSI, k.Memory.PSI, k.IO)
	}
	if err := errors.Join(os.RemoveAll(filepath.Join(root, at.container)), os.RemoveAll(filepath.Join(s.cfg.Proc, "pressure"))); err != nil {
		t.Fatal(err)
	}
	sum, err = s.Summary(t.Context(), false)
	if err != nil || sum.Pods[0].Containers[0].Memory.PSI != nil || sum.Node.CPU.PSI != nil || sum.Node.IO != nil {
		t.Errorf("a kernel without pressure figures has them: %+v, %v", sum.Node, err)
	}
}

func TestNodeAndPods(t *testing.T) {
	for _, c := range allCgroups() {
		t.Run(c.name, func(t *testing.T) {
			s, runtime, root := c.on(t)
			s.cfg.Pods, runtime.pods = func() []v1.Pod { return nil }, nil
			sum, err := s.Summary(t.Context(), true)
			if err != nil {
				t.Fatal(err)
			}
			m := sum.Node.Memory
			if *sum.Node.CPU.UsageCoreNanoSeconds != 9e9 || *m.UsageBytes != 700000 || *m.WorkingSetBytes != 600000 || *m.RSSBytes != 300000 || *m.PageFaults != 71 || *m.MajorPageFaults != 7 {
				t.Errorf("node: cpu %+v, memory %+v", sum.Node.CPU, m)
			}
			if len(sum.Node.SystemContainers) != 2 || sum.Node.SystemContainers[1].Name != "pods" {
				t.Fatalf("without pods, system containers are %+v", sum.Node.SystemContainers)
			}
			p := sum.Node.SystemContainers[1]
			if *p.CPU.UsageCoreNanoSeconds != 4e6 || *p.Memory.WorkingSetBytes != 4000 || *p.Memory.RSSBytes != 3000 || *p.Memory.AvailableBytes != 796000 {
				t.Errorf("pods: cpu %+v, memory %+v", p.CPU, p.Memory)
			}
			if c.v1() {
				return
			}
			// An older kernel, whose root cgroup has no files.
			for _, file := range []string{"memory.stat", "cpu.stat"} {
				if err := os.Remove(filepath.Join(root, file)); err != nil {
					t.Fatal(err)
				}
			}
			write(t, s.cfg.Proc, map[string]string{
				"meminfo": "MemTotal: 1000 kB\nMemFree: 100 kB\nAnonPages: 300 kB\nInactive(file): 200 kB\n",
				"stat":    "cpu  100 10 50 900 40 5 5 2 30 0\ncpu0 1 1 1\nbtime 1700000000\n",
			})
			sum, err = s.Summary(t.Context(), true)
			if err != nil {
				t.Fatal(err)
			}
			m = sum.Node.Memory
			if *sum.Node.CPU.UsageCoreNanoSeconds != 1720e6 || *m.UsageBytes != 900<<10 || *m.WorkingSetBytes != 700<<10 || *m.RSSBytes != 300<<10 || *m.PageFaults != 801 || *m.MajorPageFaults != 80 ||
				*m.AvailableBytes != 300<<10 {
				t.Errorf("from /proc: cpu %+v, memory %+v", sum.Node.CPU, m)
			}
		})
	}
}

func TestCadvisor(t *testing.T) {
	want := map[string]float64{
		"container_cpu_user_seconds_total": 1.5, "container_cpu_system_seconds_total": 0.5, "container_cpu_usage_seconds_total": 2.000000001,
		"container_cpu_cfs_periods_total": 40, "container_cpu_cfs_throttled_periods_total": 10, "container_cpu_cfs_throttled_seconds_total": 2.5,
		"container_cpu_cfs_burst_periods_total": 2, "container_cpu_cfs_burst_seconds_total": 1,
		"container_memory_cache": 500, "container_memory_mapped_file": 300, "container_memory_kernel_usage": 200, "container_memory_swap": 4096,
		"container_memory_max_usage_bytes": 9999, "container_memory_total_active_file_bytes": 100, "container_memory_total_inactive_file_bytes": 50,
		"container_oom_events_total": 4, "container_processes": 3, "container_threads": 7, "container_threads_max": 0,
		"container_spec_cpu_period": 100000, "container_spec_cpu_quota": 50000, "container_spec_cpu_shares": 2046, "container_spec_memory_limit_bytes": 1 << 20,
		"container_spec_memory_swap_limit_bytes": 0, "container_spec_memory_reservation_limit_bytes": 0,
		"container_file_descriptors": 3, "container_sockets": 2, "container_ulimits_soft": 1024,
		"container_fs_reads_bytes_total": 4096, "container_fs_writes_bytes_total": 8192, "container_fs_reads_total": 2, "container_fs_writes_total": 3,
	}
	pressure := map[string]float64{
		"container_pressure_cpu_waiting_seconds_total": 4, "container_pressure_cpu_stalled_seconds_total": 2,
		"container_pressure_memory_waiting_seconds_total": 3.5, "container_pressure_memory_stalled_seconds_total": 1.5,
		"container_pressure_io_waiting_seconds_total": 2.5, "container_pressure_io_stalled_seconds_total": 0.5,
	}
	v2 := map[string]float64{
		"container_memory_events_high_total": 1, "container_memory_events_max_total": 2,
		"container_fs_io_cost_usage_seconds_total": 2.5, "container_fs_io_cost_wait_seconds_total": 0.5,
		"container_fs_io_cost_indebt_seconds_total": 0, "container_fs_io_cost_indelay_seconds_total": 1,
	}
	for _, c := range allCgroups() {
		t.Run(c.name, func(t *testing.T) {
			s, _, _ := c.on(t)
			write(t, s.cfg.Proc, map[string]string{"11/limits": "Limit Soft Hard Units\nMax open files            1024                 4096                 files\n"})
			write(t, s.cfg.Proc, map[string]string{"11/net/dev": " face |\n  eth0: 10 70 2 71 0 0 0 0 30 72 4 73 0 0 0 0\n  eth9: 1 1 1 1 0 0 0 0 1 1 1 1 0 0 0 0\n"})
			s.cfg.Machine = Machine{CPUs: 1024, Cores: 3, Sockets: 1, Labels: []string{"boot_id", "b1"}}
			links(t, s.cfg.Proc, map[string]string{"11/fd/0": "/dev/null", "11/fd/1": "socket:[77]", "13/fd/9": "socket:[78]"})
			got := scrape(t, s.ContainerMetrics())
			check := func(want map[string]float64, here bool) {
				for name, v := range want {
					m := find(got[name], map[string]string{"container": "web", "id": c.container, "name": "c1", "namespace": "shop", "pod": "web", "image": "web:1"})
					if (m != nil) != here || here && m.GetCounter().GetValue()+m.GetGauge().GetValue() != v {
						t.Errorf("%s of the container is %v, want %g", name, m, v)
					}
				}
			}
			check(want, true)
			check(pressure, !c.v1())
			if !c.v1() {
				check(v2, true)
			}
			failed := 0.0 // cgroup v2 does not count it
			if c.v1() {
				failed = 6
				check(map[string]float64{
					"container_memory_events_max_total": 6, "container_memory_events_high_total": 0, "container_memory_file_dirty_bytes": 7, "container_memory_file_writeback_bytes": 8,
					"container_memory_workingset_refault_anon_total": 9, "container_memory_workingset_refault_file_total": 10,
				}, true)
			}
			check(map[string]float64{"container_memory_failcnt": failed}, true)
			for operation, v := range map[string]float64{"Read": 4096, "Write": 8192} {
				labels := map[string]string{"container": "web", "device": "/dev/sda", "major": "8", "minor": "0", "operation": operation}
				if m := find(got["container_blkio_device_usage_total"], labels); m.GetCounter().GetValue() != v {
					t.Errorf("%s: %v", operation, m)
				}
			}
			if m := find(got["container_fs_reads_total"], map[string]string{"container": "web", "device": "/dev/sda"}); m == nil {
				t.Error("the disk has no name")
			}
			if m := find(got["container_memory_failures_total"], map[string]string{"container": "web", "failure_type": "pgmajfault", "scope": "container"}); m.GetCounter().GetValue() != 2 {
				t.Errorf("page faults %v", m)
			}
			for _, id := range append([]string{"/", c.pod}, c.tiers[0]) {
				if find(got["container_memory_working_set_bytes"], map[string]string{"container": "", "id": id}) == nil {
					t.Errorf("%s has no memory", id)
				}
			}
			if m := find(got["container_memory_swap"], map[string]string{"id": "/"}); m.GetGauge().GetValue() != 2048 {
				t.Errorf("the node's swap is %v", m)
			}
			for name, v := range map[string]float64{
				"container_fs_reads_total": 1, "container_fs_reads_merged_total": 2, "container_fs_sector_reads_total": 8, "container_fs_read_seconds_total": 4, "container_fs_reads_bytes_total": 4096,
				"container_fs_writes_total": 5, "container_fs_writes_merged_total": 6, "container_fs_sector_writes_total": 7, "container_fs_write_seconds_total": 8,
				"container_fs_io_current": 9, "container_fs_io_time_seconds_total": 10, "container_fs_io_time_weighted_seconds_total": 11,
			} {
				if m := find(got[name], map[string]string{"id": "/", "device": "/dev/sda"}); m == nil || m.GetCounter().GetValue()+m.GetGauge().GetValue() != v {
					t.Errorf("%s of the node is %v, want %g", name, m, v)
				}
				if m := find(got[name], map[string]string{"device": "/dev/loop1"}); m != nil {
					t.Errorf("a disk that was never used has %s", name)
				}
			}
			if m := find(got["container_fs_inodes_total"], map[string]string{"id": "/"}); m.GetGauge().GetValue() == 0 || len(got["container_fs_inodes_total"].GetMetric()) != 1 {
				t.Errorf("inodes %v", got["container_fs_inodes_total"])
			}
			for pod, v := range map[string]float64{"": 1, "web": 70} {
				if m := find(got["container_network_receive_packets_total"], map[string]string{"interface": "eth0", "pod": pod, "container": ""}); m.GetCounter().GetValue() != v {
					t.Errorf("packets of %q: %v, want %g", pod, m, v)
				}
			}
			if m := find(got["container_network_transmit_packets_dropped_total"], map[string]string{"pod": "web", "interface": "eth0"}); m.GetCounter().GetValue() != 73 {
				t.Errorf("dropped packets: %v", m)
			}
			if n := len(got["container_network_receive_packets_total"].GetMetric()); n != 2 {
				t.Errorf("%d interfaces, want those of the node and of the runtime", n)
			}
			if m := find(got["container_creation_time_seconds"], map[string]string{"container": "web"}); m.GetGauge().GetValue() != 99 {
				t.Errorf("created %v", m)
			}
			if m := find(got["container_start_time_seconds"], map[string]string{"container": "web"}); m.GetGauge().GetValue() != 101 {
				t.Errorf("started %v", m)
			}
			if m := find(got["container_start_time_seconds"], map[string]string{"id": c.tiers[0]}); m.GetGauge().GetValue() != float64(s.tree.made(c.tiers[0]).Unix()) {
				t.Errorf("the cgroup of all pods started %v", m)
			}
			for name, want := range map[string]float64{"machine_cpu_cores": 1024, "machine_cpu_physical_cores": 3} {
				if m := find(got[name], map[string]string{"boot_id": "b1"}); m.GetGauge().GetValue() != want {
					t.Errorf("%s %v, want %g", name, m, want)
				}
			}
		})
	}
}

// find returns the sample with these labels.
func find(f *dto.MetricFamily, labels map[string]string) *dto.Metric {
	for _, m := range f.GetMetric() {
		n := 0
		for _, l := range m.Label {
			if v, ok := labels[l.GetName()]; ok && v == l.GetValue() {
				n++
			}
		}
		if n == len(labels) {
			return m
		}
	}
	return nil
}

// Who has too many files open has no figures of them.
func TestManyDescriptors(t *testing.T) {
	dir := t.TempDir()
	for i := range 300 {
		links(t, dir, map[string]string{fmt.Sprint(i): "socket:[1]"})
	}
	if files, socks, ok := opened(dir, 300); files != 300 || socks != 300 || !ok {
		t.Errorf("%d files, %d sockets, %t", files, socks, ok)
	}
	if _, _, ok := opened(dir, 299); ok {
		t.Error("more than the limit are counted")
	}
	if files, _, ok := opened(filepath.Join(dir, "gone"), 1); files != 0 || !ok {
		t.Errorf("a process that has ended: %d, %t", files, ok)
	}
}

func TestSoftLimit(t *testing.T) {
	for text, want := range map[string]float64{
		"Max cpu time unlimited unlimited seconds\nMax open files  1048576  1048576  files\n": 1048576,
		"Max open files unlimited unlimited files":                                            -1,
	} {
		if got, ok := softLimit(text); got != want || !ok {
			t.Errorf("%q: %g, %t, want %g", text, got, ok, want)
		}
	}
	for _, text := range []string{"", "Max open files", "Max open files many 5 files", "Max open locks 5 5 locks"} {
		if got, ok := softLimit(text); ok {
			t.Errorf("%q: %g", text, got)
		}
	}
}

// The agent has the figures of its cgroup if it is a service of systemd, and else those of its process. The runtime has those of the
// cgroup that was configured.
func TestSystemContainers(t *testing.T) {
	const service = "/system.slice/kubeloupe.service"
	usage := map[string]string{
		"cpu.stat": "usage_usec 5000\n", "memory.current": "900\n", "memory.stat": "anon 500\ninactive_file 100\npgfault 21\npgmajfault 2\n",
		"io.pressure": "some avg10=0.00 avg60=0.00 avg300=0.00 total=5\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=4\n",
	}
	for name, c := range map[string]struct {
		own, runtime string
		service      bool // the agent's own cgroup is used
		containers   string
		kubelet, all string // as configured
	}{
		"configured":        {"0::/other\n", "", true, "kubelet misc pods", service, "/system.slice/containerd.service"},
		"a service":         {"0::" + service + "\n", "/system.slice/containerd.service", true, "kubelet runtime pods", "", ""},
		"from a shell":      {"0::/user.slice/user-0.slice/session-1.scope\n", "", false, "kubelet pods", "", ""},
		"no such cgroup":    {"0::/system.slice/other.service\n", "/system.slice/crio.service", false, "kubelet pods", "", "/none"},
		"no cgroups at all": {"", "", false, "kubelet pods", "", ""},
		"of cgroup v1":      {"4:memory:" + service + "\n", "", false, "kubelet pods", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			at := allCgroups()[0]
			s, _, root := at.on(t)
			for _, dir := range []string{service, "/system.slice/containerd.service"} {
				write(t, root+dir, usage)
			}
			write(t, s.cfg.Proc, map[string]string{"self/cgroup": c.own, "self/status": "VmRSS: 7 kB\nRssAnon: 5 kB\n"})
			s.cfg.RuntimeCgroup, s.cfg.KubeletCgroup, s.cfg.SystemCgroup = c.runtime, c.kubelet, c.all
			sum, err := s.Summary(t.Context(), false)
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, of := range sum.Node.SystemContainers {
				names = append(names, of.Name)
				if of.StartTime.IsZero() || of.CPU == nil || of.Memory == nil {
					t.Errorf("%s: %+v", of.Name, of)
				}
			}
			if got := strings.Join(names, " "); got != c.containers {
				t.Errorf("system containers %q, want %q", got, c.containers)
			}
			self := sum.Node.SystemContainers[0]
			want := uint64(7 << 10)
			if c.service {
				want = 800
			}
			if *self.Memory.WorkingSetBytes != want || *self.Memory.PageFaults == 0 || (self.IO != nil) != c.service {
				t.Errorf("the agent: %+v, I/O %+v", self.Memory, self.IO)
			}
			lines := 0
			for _, m := range scrape(t, s.ContainerMetrics())["container_memory_working_set_bytes"].GetMetric() {
				for _, l := range m.GetLabel() {
					if l.GetName() == "id" && strings.HasPrefix(l.GetValue(), "/system.slice/") {
						lines++
					}
				}
			}
			want = uint64(strings.Count(c.containers, "runtime") + strings.Count(c.containers, "misc"))
			if c.service {
				want++
			}
			if uint64(lines) != want {
				t.Errorf("%d cgroups of the system have lines, want %d", lines, want)
			}
		})
	}
}

// A service of a node with cgroup v1.
func TestOwnCgroup(t *testing.T) {
	v1 := allCgroups()[3]
	s, _, _ := v1.on(t)
	write(t, s.cfg.Proc, map[string]string{"self/cgroup": "5:cpu,cpuacct:/system.slice\n4:memory:/system.slice/kubeloupe.service\n0::/x.service\n"})
	if got := s.ownCgroup(); got != "/system.slice/kubeloupe.service" {
		t.Errorf("%q", got)
	}
}

// A container without limits has no figures of them, and a file that is too long is unknown.
func TestNoLimits(t *testing.T) {
	at := allCgroups()[2]
	at.own["%s/cpu.max"], at.own["%s/memory.max"] = "max 100000\n", "max\n"
	at.own["%s/cgroup.procs"] = strings.Repeat("1234567\n", maxFile/8+1)
	s, _, _ := at.on(t)
	f := s.figures(at.container, &statsapi.ContainerStats{})
	for _, name := range []string{"container_spec_cpu_quota", "container_cpu_cfs_periods_total", "container_processes"} {
		if v, ok := f.values[name]; ok {
			t.Errorf("%s is %g", name, v)
		}
	}
	if v, ok := f.values["container_spec_memory_limit_bytes"]; !ok || v != 0 {
		t.Errorf("the memory limit is %g, want 0 for none", v)
	}
	if f := s.figures("", &statsapi.ContainerStats{}); len(f.values) != 0 {
		t.Errorf("a cgroup that is not known has %v", f.values)
	}
}

func TestParsePressure(t *testing.T) {
	for _, c := range []struct {
		want uint64
		text string
	}{
		{9272908370, "some avg10=0.09 avg60=0.71 avg300=2.55 total=9272908370\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=2\n"},
		{3, "some avg10=x avg60=-1 avg300=101 total=3\n"},
		{0, "some avg10=0.00 total=x\n"},
		{0, "full avg10=0.00 total=3\n"},
		{0, ""},
		{0, "some\n"},
		{0, "\n\n"},
		{0, "some total=99999999999999999999\n"},
	} {
		text, want := c.text, c.want
		got := parsePressure(text)
		if want == 0 && got != nil || want != 0 && (got == nil || got.Some.Total != want) {
			t.Errorf("%q: %+v, want %d", text, got, want)
		}
		if got != nil && (got.Some.Avg60 < 0 || got.Some.Avg300 > 100) {
			t.Errorf("%q: %+v", text, got)
		}
	}
}

// FuzzParse checks that no file makes a parser panic, nor more disks than there may be.
func FuzzParse(f *testing.F) {
	f.Add("8:0 rbytes=1 wbytes=2 rios=3 wios=4\n", "8:0 Read 4096\nTotal 1\n")
	f.Add("some avg10=0.09 avg60=0.71 avg300=2.55 total=9\n", ":\n8:0 Write x\n")
	f.Fuzz(func(t *testing.T, a, b string) {
		parsePressure(a)
		fieldsOf(b)
		if n := max(len(parseIOStat(a)), len(parseBlkio(b, a))); n > maxDisks {
			t.Errorf("%d disks", n)
		}
	})
}

func TestManyDisks(t *testing.T) {
	var v2, v1 strings.Builder
	for i := range 2 * maxDisks {
		fmt.Fprintf(&v2, "8:%d rbytes=1 wbytes=2 rios=3 wios=4\n", i)
		fmt.Fprintf(&v1, "8:%d Read 1\n", i)
	}
	if a, b := len(parseIOStat(v2.String())), len(parseBlkio(v1.String(), v1.String())); a != maxDisks || b != maxDisks {
		t.Errorf("%d and %d disks", a, b)
	}
}
