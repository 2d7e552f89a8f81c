package stats

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	grpcstatus "google.golang.org/grpc/status"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	statsapi "k8s.io/kubelet/pkg/apis/stats/v1alpha1"

	"github.com/kubeloupe/kubeloupe/agent/podstate"
	"github.com/kubeloupe/kubeloupe/agent/quota"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/tracetest"
)

type fake struct {
	pods       []*runtimeapi.PodSandboxStats
	err        error
	containers []*runtimeapi.ContainerStats
	// containersErr is the error of the containers' statistics.
	containersErr error
	imageFS       string
	// info is the description of each sandbox, asked whose.
	info      string
	statusErr error
	asked     []string
}

func (f *fake) ListPodSandboxStats(context.Context, *runtimeapi.ListPodSandboxStatsRequest, ...grpc.CallOption) (*runtimeapi.ListPodSandboxStatsResponse, error) {
	return &runtimeapi.ListPodSandboxStatsResponse{Stats: f.pods}, f.err
}

func (f *fake) ListContainerStats(context.Context, *runtimeapi.ListContainerStatsRequest, ...grpc.CallOption) (*runtimeapi.ListContainerStatsResponse, error) {
	return &runtimeapi.ListContainerStatsResponse{Stats: f.containers}, f.containersErr
}

func (f *fake) ImageFsInfo(context.Context, *runtimeapi.ImageFsInfoRequest, ...grpc.CallOption) (*runtimeapi.ImageFsInfoResponse, error) {
	return &runtimeapi.ImageFsInfoResponse{ImageFilesystems: []*runtimeapi.FilesystemUsage{{
		FsId: &runtimeapi.FilesystemIdentifier{Mountpoint: f.imageFS}, UsedBytes: u64(777),
	}}}, nil
}

func (f *fake) PodSandboxStatus(_ context.Context, r *runtimeapi.PodSandboxStatusRequest, _ ...grpc.CallOption) (*runtimeapi.PodSandboxStatusResponse, error) {
	f.asked = append(f.asked, r.PodSandboxId)
	return &runtimeapi.PodSandboxStatusResponse{Info: map[string]string{"info": f.info}}, f.statusErr
}

func u64(n uint64) *runtimeapi.UInt64Value { return &runtimeapi.UInt64Value{Value: n} }

func containerStats(id string, attempt uint32) *runtimeapi.ContainerStats {
	return &runtimeapi.ContainerStats{
		Attributes: &runtimeapi.ContainerAttributes{
			Id: id, Metadata: &runtimeapi.ContainerMetadata{Name: "web", Attempt: attempt},
			Labels: map[string]string{"io.kubernetes.pod.uid": "u1", "io.kubernetes.pod.name": "web", "io.kubernetes.pod.namespace": "shop"},
		},
		Cpu:           &runtimeapi.CpuUsage{Timestamp: 5e9, UsageCoreNanoSeconds: u64(2e9 + uint64(attempt)), UsageNanoCores: u64(5e8)},
		Memory:        &runtimeapi.MemoryUsage{Timestamp: 5e9, WorkingSetBytes: u64(1000), RssBytes: u64(600), UsageBytes: u64(1500)},
		WritableLayer: &runtimeapi.FilesystemUsage{UsedBytes: u64(4096), InodesUsed: u64(3)},
	}
}

// world is a node with one pod shop/web, whose container web runs for the second time and has a volume with a file.
func world(t *testing.T) (*Stats, *fake) {
	t.Helper()
	root := t.TempDir()
	put := func(path, text string) string {
		t.Helper()
		full := filepath.Join(root, path)
		if err := os.MkdirAll(filepath.Dir(full), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(full, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return full
	}
	put("proc/meminfo", "MemTotal:  1000 kB\nMemFree:  100 kB\nHugetlb: 64 kB\nSwapTotal: 8 kB\nSwapFree: 6 kB\n")
	put("proc/stat", "cpu 1 2\nbtime 1700000000\n")
	put("proc/loadavg", "0.1 0.2 0.3 2/345 678\n")
	put("proc/sys/kernel/pid_max", "4194304\n")
	put("proc/sys/kernel/threads-max", "9999\n")
	put("proc/net/dev", "Inter-|\n face |\n    lo: 1 1 0 0 0 0 0 0 1 1 0 0 0 0 0 0\n  eth0: 10 1 2 0 0 0 0 0 30 1 4 0 0 0 0 0\n veth1: 1 1 0 0 0 0 0 0 1 1 0 0 0 0 0 0\n")
	put("proc/net/route", "Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\neth0\t00000000\t0101\t3\t0\t0\t0\t00000000\n")
	put("cg/cpu,cpuacct/cpuacct.usage", "7000000000\n")
	put("cg/memory/memory.usage_in_bytes", "512000\n")
	put("cg/memory/memory.stat", "total_inactive_file 12000\ntotal_rss 300000\n")
	put("cg/memory/kubepods/memory.usage_in_bytes", "5000\n")
	put("cg/cpu,cpuacct/kubepods/cpuacct.usage", "1000\n")
	log := put("logs/shop_web_u1/web/1.log", strings.Repeat("x", 5000))
	put("kubelet/pods/u1/volumes/kubernetes.io~empty-dir/data/file", strings.Repeat("x", 10000))
	runtime := &fake{imageFS: root, pods: []*runtimeapi.PodSandboxStats{{
		Attributes: &runtimeapi.PodSandboxAttributes{Id: "s1", Metadata: &runtimeapi.PodSandboxMetadata{Name: "web", Namespace: "shop", Uid: "u1"}},
		Linux: &runtimeapi.LinuxPodSandboxStats{
			Cpu:        &runtimeapi.CpuUsage{Timestamp: 5e9, UsageCoreNanoSeconds: u64(3e9)},
			Memory:     &runtimeapi.MemoryUsage{WorkingSetBytes: u64(2000)},
			Process:    &runtimeapi.ProcessUsage{ProcessCount: u64(2)},
			Network:    &runtimeapi.NetworkUsage{DefaultInterface: &runtimeapi.NetworkInterfaceUsage{Name: "eth0", RxBytes: u64(9)}, Interfaces: []*runtimeapi.NetworkInterfaceUsage{{Name: "eth0", RxBytes: u64(9)}}},
			Containers: []*runtimeapi.ContainerStats{containerStats("c1", 1), containerStats("c0", 0)},
		},
	}}}
	seen := &podstate.Pod{
		Sandboxes:  []podstate.Sandbox{{ID: "s1", Ready: true, CreatedAt: time.Unix(100, 0)}},
		Containers: []podstate.Container{{ID: "c1", Name: "web", Image: "web:1", State: podstate.Running, CreatedAt: time.Unix(99, 0), StartedAt: time.Unix(101, 0), LogPath: log}},
	}
	s, err := New(Config{
		Node: "n1", Runtime: runtime, Images: runtime, RootDir: filepath.Join(root, "kubelet"),
		Proc: filepath.Join(root, "proc"), Cgroup: filepath.Join(root, "cg"),
		Pods: func() []v1.Pod {
			return []v1.Pod{{
				ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "u1"},
				Spec:       v1.PodSpec{Volumes: []v1.Volume{{Name: "data", VolumeSource: v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}}}}},
			}}
		},
		Observed: func(uid types.UID) *podstate.Pod {
			if uid == "u1" {
				return seen
			}
			return nil
		},
		Volumes:   func(p *v1.Pod) map[string]Volume { return onDisk(filepath.Join(root, "kubelet"), p) },
		PodCgroup: func(p *v1.Pod) string { return "/kubepods/pod" + string(p.UID) },
		Tiers:     []string{"/kubepods"},
	})
	if err != nil {
		t.Fatal(err)
	}
	// Nothing hangs here, but a busy machine can be slow.
	s.places.patience, s.mounts.patience, s.answers.calls.patience, s.usage.patience = time.Minute, time.Minute, time.Minute, time.Minute
	return s, runtime
}

// onDisk returns the volumes of a pod that have directories.
func onDisk(root string, p *v1.Pod) map[string]Volume {
	out := map[string]Volume{}
	for _, v := range p.Spec.Volumes {
		found, _ := filepath.Glob(filepath.Join(root, "pods", string(p.UID), "volumes", "*", v.Name))
		for _, dir := range found {
			out[v.Name] = Volume{Path: dir}
		}
	}
	return out
}

func TestSummary(t *testing.T) {
	s, _ := world(t)
	got, err := s.Summary(t.Context(), false)
	if err != nil {
		t.Fatal(err)
	}
	n := got.Node
	if n.NodeName != "n1" || n.StartTime.Unix() != 1700000000 || *n.CPU.UsageCoreNanoSeconds != 7e9 ||
		*n.Memory.WorkingSetBytes != 500000 || *n.Memory.AvailableBytes != 1000<<10-64<<10-500000 || *n.Memory.RSSBytes != 300000 ||
		*n.Swap.SwapUsageBytes != 2<<10 || *n.Rlimit.MaxPID != 9999 || *n.Rlimit.NumOfRunningProcesses != 345 {
		t.Errorf("node %+v", n)
	}
	if n.Network.Name != "eth0" || *n.Network.RxBytes != 10 || *n.Network.TxErrors != 4 || len(n.Network.Interfaces) != 1 {
		t.Errorf("network %+v", n.Network)
	}
	if *n.Fs.CapacityBytes == 0 || *n.Runtime.ImageFs.UsedBytes != 777 || *n.Runtime.ContainerFs.UsedBytes != 777 {
		t.Errorf("fs %+v, runtime %+v", n.Fs, n.Runtime)
	}
	if len(n.SystemContainers) != 2 || *n.SystemContainers[1].Memory.UsageBytes != 5000 {
		t.Errorf("system containers %+v", n.SystemContainers)
	}
	if len(got.Pods) != 1 || len(got.Pods[0].Containers) != 1 {
		t.Fatalf("pods %+v", got.Pods)
	}
	p := got.Pods[0]
	c := p.Containers[0]
	if p.StartTime.Unix() != 100 || *p.CPU.UsageCoreNanoSeconds != 3e9 || *p.ProcessStats.ProcessCount != 2 || p.Network.Name != "eth0" {
		t.Errorf("pod %+v", p)
	}
	if c.StartTime.Unix() != 99 || *c.CPU.UsageCoreNanoSeconds != 2e9+1 || *c.CPU.UsageNanoCores != 5e8 || *c.Rootfs.UsedBytes != 4096 || *c.Logs.UsedBytes < 5000 {
		t.Errorf("container %+v", c)
	}
	if len(p.VolumeStats) != 1 || p.VolumeStats[0].Name != "data" || *p.VolumeStats[0].UsedBytes < 10000 {
		t.Errorf("volumes %+v", p.VolumeStats)
	}
	if want := 4096 + *c.Logs.UsedBytes + *p.VolumeStats[0].UsedBytes; *p.EphemeralStorage.UsedBytes != want {
		t.Errorf("ephemeral storage %d, want %d", *p.EphemeralStorage.UsedBytes, want)
	}
	brief, err := s.Summary(t.Context(), true)
	if err != nil || brief.Node.Fs != nil || brief.Pods[0].VolumeStats != nil || brief.Pods[0].Containers[0].Logs != nil || brief.Pods[0].CPU == nil {
		t.Errorf("brief %+v, %v", brief, err)
	}
}

// exited returns a container as the runtime lists it after its end: with its writable layer only.
func exited(c *runtimeapi.ContainerStats, layer uint64) *runtimeapi.ContainerStats {
	c.Cpu, c.Memory, c.WritableLayer = nil, nil, &runtimeapi.FilesystemUsage{UsedBytes: u64(layer), InodesUsed: u64(9)}
	return c
}

// The writable layer of a container is that of the attempt that runs, wherever the runtime lists the others.
func TestWritableLayer(t *testing.T) {
	running, twin, later := containerStats("c1", 1), exited(containerStats("c0", 0), 1<<30), exited(containerStats("c2", 2), 1<<20)
	for name, list := range map[string][]*runtimeapi.ContainerStats{
		"exited last": {running, twin}, "exited first": {twin, running}, "a later one has exited": {twin, running, later},
		"both run": {running, containerStats("c0", 0)},
	} {
		t.Run(name, func(t *testing.T) {
			s, runtime := world(t)
			runtime.pods[0].Linux.Containers = list
			pods, err := s.Pods(t.Context(), nil)
			if err != nil || len(pods) != 1 || len(pods[0].Containers) != 1 {
				t.Fatal(pods, err)
			}
			c := pods[0].Containers[0]
			if *c.CPU.UsageCoreNanoSeconds != 2e9+1 || *c.Rootfs.UsedBytes != 4096 || *c.Rootfs.InodesUsed != 3 {
				t.Errorf("%+v, layer %+v", c, c.Rootfs)
			}
			if want := 4096 + *c.Logs.UsedBytes + *pods[0].VolumeStats[0].UsedBytes; *pods[0].EphemeralStorage.UsedBytes != want {
				t.Errorf("ephemeral storage %d, want %d", *pods[0].EphemeralStorage.UsedBytes, want)
			}
		})
	}
}

func TestRuntimeWithoutPodStats(t *testing.T) {
	s, runtime := world(t)
	rec := tracetest.New(t)
	s.cfg.Bus = rec.Bus()
	runtime.err, runtime.containers = grpcstatus.Error(codes.Unimplemented, "no"), []*runtimeapi.ContainerStats{containerStats("c1", 1)}
	got, err := s.Summary(t.Context(), true)
	if err != nil || len(got.Pods) != 1 || got.Pods[0].PodRef.Name != "web" || *got.Pods[0].Memory.WorkingSetBytes != 1000 {
		t.Errorf("%+v, %v", got.Pods, err)
	}
	if l := tracetest.Events[trace.Log](rec); len(l) != 0 {
		t.Errorf("nothing has failed: %+v", l)
	}
	runtime.err, runtime.containersErr = errors.New("gone"), errors.New("also gone")
	if _, err := s.Summary(t.Context(), true); err == nil || err.Error() != "statistics of pods: gone; statistics of containers: also gone" {
		t.Errorf("error %v", err)
	}
}

// If the statistics of one sandbox fail, the runtime returns none. Those of containers rank pods, too: with the processes of the pods'
// cgroups, and with the pods that have no container yet. It is said once.
func TestSandboxWithoutStats(t *testing.T) {
	s, runtime := world(t)
	rec := tracetest.New(t)
	s.cfg.Bus = rec.Bus()
	write(t, s.cfg.Cgroup, map[string]string{"pids/kubepods/podu1/pids.current": "7\n"})
	runtime.err = errors.New("sandbox s2: no metrics")
	for _, c := range []struct {
		name       string
		containers []*runtimeapi.ContainerStats
		memory     uint64
	}{
		{"a container", []*runtimeapi.ContainerStats{containerStats("c1", 1)}, 1000},
		{"no container yet", nil, 0},
	} {
		runtime.containers = c.containers
		pods, err := s.Pods(t.Context(), nil)
		if err != nil || len(pods) != 1 {
			t.Fatalf("%s: %+v, %v", c.name, pods, err)
		}
		p := pods[0]
		if p.PodRef.Name != "web" || p.PodRef.Namespace != "shop" || p.PodRef.UID != "u1" || *p.Memory.WorkingSetBytes != c.memory || len(p.VolumeStats) != 1 {
			t.Errorf("%s: %+v", c.name, p)
		}
		if p.ProcessStats == nil || *p.ProcessStats.ProcessCount != 7 {
			t.Errorf("%s: processes %+v", c.name, p.ProcessStats)
		}
	}
	if l := tracetest.Events[trace.Log](rec); len(l) != 1 || l[0].Message != "statistics of pods: sandbox s2: no metrics; those of containers are used" || l[0].Level != trace.LevelWarn {
		t.Errorf("%+v", l)
	}
	runtime.err = nil
	if _, err := s.Pods(t.Context(), nil); err != nil {
		t.Error(err)
	}
	runtime.err = errors.New("again")
	if _, err := s.Pods(t.Context(), nil); err != nil || len(tracetest.Events[trace.Log](rec)) != 2 {
		t.Errorf("%v, %+v", err, tracetest.Events[trace.Log](rec))
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Pods(ctx, nil); err == nil {
		t.Error("no error after the caller has gone")
	}
}

// Statistics of which the runtime does not say whose they are do no harm.
func TestStatsOfNobody(t *testing.T) {
	s, runtime := world(t)
	runtime.pods = append(runtime.pods, &runtimeapi.PodSandboxStats{}, &runtimeapi.PodSandboxStats{})
	pods, err := s.Pods(t.Context(), nil)
	if err != nil || len(pods) != 1 || pods[0].PodRef.Name != "web" {
		t.Errorf("%+v, %v", pods, err)
	}
}

// With the statistics of containers only, too, a pod whose containers have all exited has none, and neither have containers of others.
func TestEndedPodWithoutPodStats(t *testing.T) {
	s, runtime := world(t)
	of := func(uid, name string) *runtimeapi.ContainerStats {
		c := containerStats("c-"+name, 0)
		c.Attributes.Labels = map[string]string{"io.kubernetes.pod.uid": uid, "io.kubernetes.pod.name": name, "io.kubernetes.pod.namespace": "shop"}
		return c
	}
	runtime.err = errors.New("no metrics")
	runtime.containers = []*runtimeapi.ContainerStats{containerStats("c1", 1), exited(of("u2", "job"), 1<<20), of("", "")}
	pods, err := s.Pods(t.Context(), nil)
	if err != nil || len(pods) != 1 || pods[0].PodRef.Name != "web" {
		t.Errorf("%+v, %v", pods, err)
	}
}

func TestRates(t *testing.T) {
	r, at := newRates(), time.Unix(1000, 0)
	if v := r.nanoCores("a", at, 100); v != nil {
		t.Errorf("a rate of one reading: %d", *v)
	}
	if v := r.nanoCores("a", at.Add(2*time.Second), 100+1e9); v == nil || *v != 5e8 {
		t.Errorf("rate %v", v)
	}
	if v := r.nanoCores("a", at.Add(2100*time.Millisecond), 900e9); v == nil || *v != 5e8 {
		t.Errorf("rate over too short a time %v", v)
	}
	if v := r.nanoCores("a", at.Add(4*time.Second), 1); v != nil {
		t.Errorf("rate of a counter that began anew %d", *v)
	}
	r.forget(at.Add(time.Hour))
	if len(r.last) != 0 {
		t.Errorf("remembers %v", r.last)
	}
}

func TestMetrics(t *testing.T) {
	s, runtime := world(t)
	got := scrape(t, s.ResourceMetrics())
	for name, want := range map[string]float64{
		"node_cpu_usage_seconds_total": 7, "node_memory_working_set_bytes": 500000, "container_memory_working_set_bytes": 1000,
		"pod_cpu_usage_seconds_total": 3, "container_start_time_seconds": 99, "resource_scrape_error": 0,
	} {
		f := got[name]
		if f == nil || len(f.Metric) != 1 || f.Metric[0].GetCounter().GetValue()+f.Metric[0].GetGauge().GetValue() != want {
			t.Errorf("%s is %v, want %g", name, f, want)
		}
	}
	got = scrape(t, s.ContainerMetrics())
	if f := got["container_cpu_usage_seconds_total"]; f == nil || len(f.Metric) != 4 {
		t.Errorf("cpu %v", f)
	}
	if f := got["container_network_receive_bytes_total"]; f == nil || len(f.Metric) != 2 {
		t.Errorf("network %v", f)
	}
	runtime.err, runtime.containersErr = errors.New("gone"), errors.New("gone")
	if f := scrape(t, s.ResourceMetrics())["resource_scrape_error"]; f.Metric[0].GetGauge().GetValue() != 1 {
		t.Errorf("error is not told: %v", f)
	}
}

func scrape(t *testing.T, h http.Handler) map[string]*dto.MetricFamily {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	parser := expfmt.NewTextParser(model.LegacyValidation)
	got, err := parser.TextToMetricFamilies(w.Body)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// A mounted file system says what is used of it, but not that of huge pages: there, files are counted. Neither is on the node's disk.
func TestMountedVolume(t *testing.T) {
	for medium, want := range map[v1.StorageMedium]uint64{v1.StorageMediumMemory: 11, v1.StorageMediumHugePages: 5 << 20, "HugePages-2Mi": 5 << 20} {
		t.Run(string(medium), func(t *testing.T) {
			s, _ := world(t)
			pod := s.cfg.Pods()[0]
			pod.Spec.Volumes[0].EmptyDir.Medium = medium
			s.cfg.Pods = func() []v1.Pod { return []v1.Pod{pod} }
			dir := s.cfg.Volumes(&pod)["data"].Path
			known := &probe[place]{began: time.Now(), done: make(chan struct{}), value: place{fs: &statsapi.FsStats{UsedBytes: new(uint64(11))}, mounted: true}}
			close(known.done)
			s.places.under = map[string]*probe[place]{dir: known}
			walk := s.usage.walk
			s.usage.walk = func(ctx context.Context, at string) held {
				if at == dir {
					return held{bytes: 5 << 20, inodes: 2}
				}
				return walk(ctx, at)
			}
			pods, err := s.Pods(t.Context(), nil)
			if err != nil || len(pods[0].VolumeStats) != 1 || *pods[0].VolumeStats[0].UsedBytes != want {
				t.Fatalf("%+v, %v", pods, err)
			}
			if all := *pods[0].EphemeralStorage.UsedBytes; all != 4096+*pods[0].Containers[0].Logs.UsedBytes {
				t.Errorf("ephemeral storage %d", all)
			}
		})
	}
}

// What the file system itself counts in a volume is used instead of a walk, and counts as the pod's ephemeral storage.
func TestQuota(t *testing.T) {
	s, _ := world(t)
	counts, walks := true, 0
	walk := s.usage.walk
	s.usage.walk = func(ctx context.Context, dir string) held {
		if strings.HasSuffix(dir, "empty-dir/data") {
			walks++
		}
		return walk(ctx, dir)
	}
	s.cfg.Quota = func(pod *v1.Pod, v *v1.Volume, dir string) (quota.Usage, bool) {
		if pod.Name != "web" || v.Name != "data" || !strings.HasSuffix(dir, "/pods/u1/volumes/kubernetes.io~empty-dir/data") {
			t.Errorf("asked about %s, %s, %s", pod.Name, v.Name, dir)
		}
		return quota.Usage{Bytes: 123, Inodes: 45}, counts
	}
	pods, err := s.Pods(t.Context(), nil)
	if err != nil || len(pods) != 1 || len(pods[0].VolumeStats) != 1 {
		t.Fatal(pods, err)
	}
	v, all, logs := pods[0].VolumeStats[0], pods[0].EphemeralStorage, pods[0].Containers[0].Logs
	if *v.UsedBytes != 123 || *v.InodesUsed != 45 || *all.UsedBytes != 4096+123+*logs.UsedBytes || *v.CapacityBytes == 0 || walks != 0 {
		t.Errorf("%+v of %+v, %d walks", v, all, walks)
	}
	counts = false
	if pods, err = s.Pods(t.Context(), nil); err != nil || *pods[0].VolumeStats[0].UsedBytes < 10000 || walks != 1 {
		t.Errorf("%+v, %v, %d walks", pods, err, walks)
	}
}
