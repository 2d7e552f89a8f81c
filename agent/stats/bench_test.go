package stats

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/kubeloupe/kubeloupe/agent/podstate"
)

// BenchmarkCadvisor is a scrape of /metrics/cadvisor of a node with 110 pods of one container.
func BenchmarkCadvisor(b *testing.B) {
	for _, at := range allCgroups()[2:] {
		b.Run(at.name, func(b *testing.B) {
			s := crowd(b, at, 110)
			h, size := s.ContainerMetrics(), 0
			b.ReportAllocs()
			for b.Loop() {
				w := httptest.NewRecorder()
				h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics/cadvisor", nil))
				size = w.Body.Len()
			}
			b.ReportMetric(float64(size), "bytes/page")
		})
	}
}

// crowd is a node with pods p0, p1 and so on, each with a sandbox and a container, whose cgroups have all files.
func crowd(t testing.TB, at cgroups, n int) *Stats {
	t.Helper()
	root := t.TempDir()
	write(t, filepath.Join(root, "cgroup"), at.files)
	var pods []v1.Pod
	runtime, seen := &fake{imageFS: root}, map[types.UID]*podstate.Pod{}
	for i := range n {
		id := fmt.Sprintf("%04d", i)
		uid := types.UID("u" + id)
		pods = append(pods, v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "p" + id, UID: uid}})
		for _, path := range []string{"", "/s" + id, "/c" + id} {
			for name, text := range at.own {
				write(t, filepath.Join(root, "cgroup"), map[string]string{fmt.Sprintf(name, "/kubepods/pod"+string(uid)+path): text})
			}
		}
		c := containerStats("c"+id, 0)
		runtime.pods = append(runtime.pods, &runtimeapi.PodSandboxStats{
			Attributes: &runtimeapi.PodSandboxAttributes{Id: "s" + id, Metadata: &runtimeapi.PodSandboxMetadata{Name: "p" + id, Namespace: "shop", Uid: string(uid)}},
			Linux: &runtimeapi.LinuxPodSandboxStats{
				Cpu: c.Cpu, Memory: c.Memory, Process: &runtimeapi.ProcessUsage{ProcessCount: u64(2)}, Containers: []*runtimeapi.ContainerStats{c},
				Network: &runtimeapi.NetworkUsage{DefaultInterface: &runtimeapi.NetworkInterfaceUsage{Name: "eth0", RxBytes: u64(9)}, Interfaces: []*runtimeapi.NetworkInterfaceUsage{{Name: "eth0", RxBytes: u64(9), TxBytes: u64(9), RxErrors: u64(0), TxErrors: u64(0)}}},
			},
		})
		seen[uid] = &podstate.Pod{
			Sandboxes:  []podstate.Sandbox{{ID: "s" + id, Ready: true}},
			Containers: []podstate.Container{{ID: "c" + id, Name: "web", Image: "web:1", State: podstate.Running}},
		}
	}
	write(t, filepath.Join(root, "proc"), map[string]string{
		"meminfo": "MemTotal:  1000 kB\nMemFree:  100 kB\n", "stat": "cpu 1 2\nbtime 1700000000\n",
		"11/limits":  "Limit Soft Hard Units\nMax open files            1024                 4096                 files\n",
		"11/net/dev": " face |\n  eth0: 10 70 2 71 0 0 0 0 30 72 4 73 0 0 0 0\n",
	})
	links(t, filepath.Join(root, "proc"), map[string]string{"11/fd/0": "/dev/null", "11/fd/1": "socket:[77]"})
	s, err := New(Config{
		Node: "n1", Runtime: runtime, Images: runtime, RootDir: root, Proc: filepath.Join(root, "proc"), Cgroup: filepath.Join(root, "cgroup"),
		Pods:      func() []v1.Pod { return pods },
		Observed:  func(uid types.UID) *podstate.Pod { return seen[uid] },
		PodCgroup: func(p *v1.Pod) string { return "/kubepods/pod" + string(p.UID) },
		Tiers:     []string{"/kubepods"},
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}
