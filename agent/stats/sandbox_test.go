package stats

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeloupe/kubeloupe/agent/podstate"
)

// withSandbox gives the pod of the world a sandbox with a cgroup, whose process is 21, and returns the cgroup's path.
func withSandbox(t *testing.T, s *Stats, c *cgroups, root string) string {
	t.Helper()
	at := filepath.Join(filepath.Dir(c.container), map[string]string{
		"c1": "s1", "cri-containerd-c1.scope": "cri-containerd-s1.scope", "crio-c1.scope": "crio-s1.scope",
	}[filepath.Base(c.container)])
	files := map[string]string{
		"%s/cpu.stat": "usage_usec 3000000\nuser_usec 2000000\nsystem_usec 1000000\n", "%s/memory.current": "9000\n",
		"%s/memory.stat": "anon 700\nfile 60\ninactive_file 1000\n", "%s/pids.current": "1\n", "%s/pids.max": "max\n", "%s/cgroup.procs": "21\n",
	}
	if c.v1() {
		files = map[string]string{
			"cpu,cpuacct%s/cpuacct.usage": "3000000000\n", "cpu,cpuacct%s/cpuacct.stat": "user 200\nsystem 100\n", "cpu,cpuacct%s/cgroup.procs": "21\n",
			"memory%s/memory.usage_in_bytes": "9000\n", "memory%s/memory.stat": "total_cache 60\ntotal_inactive_file 1000\ntotal_rss 700\n",
			"pids%s/pids.current": "1\n", "pids%s/pids.max": "max\n",
		}
	}
	for name, text := range files {
		write(t, root, map[string]string{fmt.Sprintf(name, at): text})
	}
	write(t, s.cfg.Proc, map[string]string{
		"21/limits":  "Limit Soft Hard Units\nMax open files            1048576              1048576              files\n",
		"21/net/dev": " face |\n  eth0: 10 80 2 81 0 0 0 0 30 82 4 83 0 0 0 0\n",
		"11/net/dev": " face |\n  eth0: 10 70 2 71 0 0 0 0 30 72 4 73 0 0 0 0\n",
	})
	links(t, s.cfg.Proc, map[string]string{"21/fd/0": "/dev/null"})
	return at
}

const described = `{"pid": 21, "image": "registry.k8s.io/pause:3.10", "runtimeSpec": {"process": {"args": ["/pause"]}}}`

// A sandbox has lines with cAdvisor's labels: those of its cgroup, and those of the pod's network.
func TestSandbox(t *testing.T) {
	for _, c := range allCgroups() {
		t.Run(c.name, func(t *testing.T) {
			s, runtime, root := c.on(t)
			at := withSandbox(t, s, &c, root)
			runtime.info = described
			got := scrape(t, s.ContainerMetrics())
			container := map[bool]string{true: "POD"}[filepath.Base(at) == "crio-s1.scope"]
			labels := map[string]string{"container": container, "id": at, "image": "registry.k8s.io/pause:3.10", "name": "s1", "namespace": "shop", "pod": "web"}
			for name, want := range map[string]float64{
				"container_cpu_usage_seconds_total": 3, "container_cpu_user_seconds_total": 2, "container_cpu_system_seconds_total": 1,
				"container_memory_usage_bytes": 9000, "container_memory_working_set_bytes": 8000, "container_memory_rss": 700, "container_memory_cache": 60,
				"container_processes": 1, "container_threads": 1, "container_threads_max": 0, "container_file_descriptors": 1, "container_sockets": 0, "container_ulimits_soft": 1048576,
				"container_creation_time_seconds": 100, "container_network_receive_bytes_total": 9,
				"container_network_receive_packets_total": 80, "container_network_receive_packets_dropped_total": 81,
				"container_network_transmit_packets_total": 82, "container_network_transmit_packets_dropped_total": 83,
			} {
				if m := find(got[name], labels); m == nil || m.GetCounter().GetValue()+m.GetGauge().GetValue() != want {
					t.Errorf("%s is %v, want %g", name, m, want)
				}
			}
			for _, name := range []string{"container_last_seen", "container_start_time_seconds"} {
				if m := find(got[name], labels); m == nil || time.Since(time.Unix(int64(m.GetGauge().GetValue()), 0)) > time.Hour {
					t.Errorf("%s is %v, want the time of this test", name, m)
				}
			}
			// As upstream's, the pod's own cgroup has no network, and nobody has a sandbox's file system.
			if m := find(got["container_network_receive_bytes_total"], map[string]string{"pod": "web", "name": ""}); m != nil {
				t.Errorf("the pod's cgroup has a network: %v", m)
			}
			if m := find(got["container_fs_usage_bytes"], labels); m != nil {
				t.Errorf("the sandbox has a file system: %v", m)
			}
			if m := find(got["container_memory_working_set_bytes"], map[string]string{"container": "", "id": c.pod, "name": "", "pod": "web"}); m.GetGauge().GetValue() != 2000 {
				t.Errorf("memory of the pod is %v", m)
			}
		})
	}
}

// The runtime says once what a sandbox's image is, and is asked again if it could not.
func TestSandboxImage(t *testing.T) {
	c := allCgroups()[0]
	s, runtime, root := c.on(t)
	withSandbox(t, s, &c, root)
	image := func() string {
		m := find(scrape(t, s.ContainerMetrics())["container_last_seen"], map[string]string{"name": "s1"})
		for _, l := range m.GetLabel() {
			if l.GetName() == "image" {
				return l.GetValue()
			}
		}
		return "no line"
	}
	runtime.info, runtime.statusErr = described, errors.New("gone")
	if got := image(); got != "" {
		t.Errorf("an image that the runtime did not say: %q", got)
	}
	runtime.statusErr = nil
	for range 2 {
		if got := image(); got != "registry.k8s.io/pause:3.10" {
			t.Errorf("image %q", got)
		}
	}
	if want := []string{"s1", "s1"}; !slices.Equal(runtime.asked, want) {
		t.Errorf("the runtime was asked about %q, want %q", runtime.asked, want)
	}
	s.cfg.Observed = func(types.UID) *podstate.Pod { return nil }
	if got := image(); got != "no line" || len(s.images.known) != 0 {
		t.Errorf("a sandbox that is gone: %q, %v", got, s.images.known)
	}
}

// The pod has the network's lines if its sandbox has none.
func TestNoSandbox(t *testing.T) {
	for name, change := range map[string]func(*Stats, *podstate.Pod){
		"not ready":         func(_ *Stats, p *podstate.Pod) { p.Sandboxes[0].Ready = false },
		"no cgroup":         func(_ *Stats, p *podstate.Pod) { p.Sandboxes[0].ID = "vm" },
		"none seen":         func(_ *Stats, p *podstate.Pod) { p.Sandboxes = nil },
		"no cgroups at all": func(s *Stats, _ *podstate.Pod) { s.cfg.PodCgroup = func(*v1.Pod) string { return "" } },
	} {
		t.Run(name, func(t *testing.T) {
			c := allCgroups()[0]
			s, runtime, root := c.on(t)
			withSandbox(t, s, &c, root)
			p := *s.cfg.Observed("u1")
			p.Sandboxes = slices.Clone(p.Sandboxes)
			change(s, &p)
			s.cfg.Observed = func(types.UID) *podstate.Pod { return &p }
			got := scrape(t, s.ContainerMetrics())
			if m := find(got["container_network_receive_bytes_total"], map[string]string{"pod": "web", "name": "", "container": ""}); m.GetCounter().GetValue() != 9 {
				t.Errorf("network of the pod: %v", m)
			}
			for _, m := range got["container_last_seen"].GetMetric() {
				for _, l := range m.GetLabel() {
					if l.GetName() == "name" && l.GetValue() != "" && l.GetValue() != "c1" {
						t.Errorf("a line of %v", m)
					}
				}
			}
			if len(runtime.asked) != 0 {
				t.Errorf("the runtime was asked about %q", runtime.asked)
			}
		})
	}
}

// Processes of the pod's own cgroup, such as those of a virtual machine, are not in the pod's network namespace.
func TestNetworkOfThePod(t *testing.T) {
	c := allCgroups()[2]
	s, _, root := c.on(t)
	write(t, root, map[string]string{c.pod + "/cgroup.procs": "31\n"})
	write(t, s.cfg.Proc, map[string]string{
		"31/net/dev": "eth0: 1 1 1 1 0 0 0 0 1 1 1 1 0 0 0 0\n", "11/net/dev": "eth0: 10 70 2 71 0 0 0 0 30 72 4 73 0 0 0 0\n",
	})
	m := find(scrape(t, s.ContainerMetrics())["container_network_receive_packets_total"], map[string]string{"pod": "web"})
	if m.GetCounter().GetValue() != 70 {
		t.Errorf("packets %v, want those that the container's namespace has", m)
	}
}

func TestImageOf(t *testing.T) {
	long := fmt.Sprintf(`{"image": "a", "x": %q}`, strings.Repeat("x", maxInfo))
	for info, want := range map[string]string{
		described: "registry.k8s.io/pause:3.10", `{"image": "registry.k8s.io/pause@sha256:1"}`: "registry.k8s.io/pause@sha256:1",
		`{"image": "` + strings.Repeat("i", maxImage+1) + `"}`: "", "": "", "{": "", "[]": "", "null": "", `{"image": 5}`: "", `{"runtimeSpec": {}}`: "", long: "",
	} {
		if got := imageOf(info); got != want {
			t.Errorf("%.60q: %q, want %q", info, got, want)
		}
	}
}
