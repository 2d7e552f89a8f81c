package lab

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/kubeloupe/kubeloupe/test/ownnet"
	"github.com/moby/sys/mountinfo"
	"google.golang.org/grpc/metadata"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
)

func TestMain(m *testing.M) { ownnet.Main(m.Run, BuildCluster) }

func needLab(t *testing.T) context.Context {
	t.Helper()
	ownnet.Need(t)
	ctx, cancel := context.WithTimeout(t.Context(), 15*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func startLab(ctx context.Context, t *testing.T) *Lab {
	t.Helper()
	l, err := Up(ctx, Config{Dir: filepath.Join(t.TempDir(), "lab"), Log: t.Output()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Down(context.WithoutCancel(ctx)); err != nil {
			t.Error(err)
		}
	})
	return l
}

// testPod is a sandbox with the HTTP server, started by direct CRI calls.
type testPod struct {
	client             cri.RuntimeServiceClient
	sandbox, container string
	ip                 string
	netns              string // as /proc/PID/ns/net links
	pid                int
}

func startPod(ctx context.Context, t *testing.T, l *Lab, name string, hostPort int32) testPod {
	t.Helper()
	conn, err := l.Dial()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	p := testPod{client: cri.NewRuntimeServiceClient(conn)}
	cgroup := l.CgroupRoot + "/pod-" + name
	security := &cri.SecurityProfile{ProfileType: cri.SecurityProfile_RuntimeDefault}
	sandbox := &cri.PodSandboxConfig{
		Metadata:     &cri.PodSandboxMetadata{Name: name, Uid: "uid-" + name, Namespace: "default"},
		Hostname:     name,
		LogDirectory: filepath.Join(l.Dir, "logs", name),
		PortMappings: []*cri.PortMapping{{Protocol: cri.Protocol_TCP, ContainerPort: 8080, HostPort: hostPort}},
		Linux: &cri.LinuxPodSandboxConfig{
			CgroupParent:    cgroup,
			SecurityContext: &cri.LinuxSandboxSecurityContext{Seccomp: security},
		},
	}
	container := &cri.ContainerConfig{
		Metadata: &cri.ContainerMetadata{Name: "http"},
		Image:    &cri.ImageSpec{Image: l.Image(ImageHTTP)},
		LogPath:  "http.log",
		Linux: &cri.LinuxContainerConfig{
			Resources:       &cri.LinuxContainerResources{OomScoreAdj: 900, CpuShares: 10, MemoryLimitInBytes: 64 << 20},
			SecurityContext: &cri.LinuxContainerSecurityContext{Seccomp: security},
		},
	}
	for _, tree := range mustTrees(t) {
		if !tree.unified || len(mustTrees(t)) == 1 {
			if err := os.MkdirAll(filepath.Join(tree.path, cgroup), 0o755); err != nil {
				t.Fatal(err)
			}
			if tree.cpuset {
				if err := inherit(filepath.Join(tree.path, l.CgroupRoot), filepath.Join(tree.path, cgroup), "cpuset.cpus"); err != nil {
					t.Fatal(err)
				}
				if err := inherit(filepath.Join(tree.path, l.CgroupRoot), filepath.Join(tree.path, cgroup), "cpuset.mems"); err != nil {
					t.Fatal(err)
				}
			}
		}
	}

	t0 := time.Now()
	run, err := p.client.RunPodSandbox(ctx, &cri.RunPodSandboxRequest{Config: sandbox})
	if err != nil {
		t.Fatal(err)
	}
	t1 := time.Now()
	created, err := p.client.CreateContainer(ctx, &cri.CreateContainerRequest{PodSandboxId: run.PodSandboxId, Config: container, SandboxConfig: sandbox})
	if err != nil {
		t.Fatal(err)
	}
	t2 := time.Now()
	if _, err := p.client.StartContainer(ctx, &cri.StartContainerRequest{ContainerId: created.ContainerId}); err != nil {
		t.Fatal(err)
	}
	t.Logf("%s: RunPodSandbox %v, CreateContainer %v, StartContainer %v", name, t1.Sub(t0), t2.Sub(t1), time.Since(t2))
	p.sandbox, p.container = run.PodSandboxId, created.ContainerId

	status, err := p.client.PodSandboxStatus(ctx, &cri.PodSandboxStatusRequest{PodSandboxId: p.sandbox})
	if err != nil {
		t.Fatal(err)
	}
	p.ip = status.GetStatus().GetNetwork().GetIp()
	procs := cgroupProcs(t, cgroup+"/"+p.container)
	if len(procs) == 0 {
		t.Fatalf("no process in %s/%s", cgroup, p.container)
	}
	p.pid = procs[0]
	if p.netns, err = os.Readlink(fmt.Sprintf("/proc/%d/ns/net", p.pid)); err != nil {
		t.Fatal(err)
	}
	// Held open, so that the kernel does not give its number to another lab's pod meanwhile.
	held, err := os.Open(fmt.Sprintf("/proc/%d/ns/net", p.pid))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = held.Close() })
	return p
}

func mustTrees(t *testing.T) []hierarchy {
	t.Helper()
	trees, err := hierarchies()
	if err != nil {
		t.Fatal(err)
	}
	return trees
}

// cgroupProcs returns the processes of a cgroup in the first tree that has any.
func cgroupProcs(t *testing.T, name string) []int {
	t.Helper()
	var pids []int
	for _, tree := range mustTrees(t) {
		data, _ := os.ReadFile(filepath.Join(tree.path, name, "cgroup.procs"))
		for f := range strings.FieldsSeq(string(data)) {
			pid, err := strconv.Atoi(f)
			if err != nil {
				t.Fatal(err)
			}
			pids = append(pids, pid)
		}
		if len(pids) > 0 {
			break
		}
	}
	return pids
}

// get fetches a page, trying while the server comes up.
func get(ctx context.Context, t *testing.T, url string) string {
	t.Helper()
	client := http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	var body []byte
	var err error
	poll(ctx, 10*time.Second, 10*time.Millisecond, func() bool {
		var req *http.Request
		if req, err = http.NewRequestWithContext(ctx, http.MethodGet, url, nil); err != nil {
			return true
		}
		var resp *http.Response
		if resp, err = client.Do(req); err != nil {
			return false
		}
		defer func() { _ = resp.Body.Close() }()
		body, err = io.ReadAll(resp.Body)
		return true
	})
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(body))
}

// traces lists everything on this machine that belongs to a lab or its pods.
func traces(t *testing.T, l *Lab, pods ...testPod) []string {
	t.Helper()
	var found []string
	add := func(format string, args ...any) { found = append(found, fmt.Sprintf(format, args...)) }
	marks := []string{l.Dir + "/", networkName(l.ID)}
	netns := make(map[string]bool)
	for _, p := range pods {
		marks = append(marks, p.sandbox, p.container)
		netns[p.netns] = true
	}
	marked := func(s string) bool {
		return slices.ContainsFunc(marks, func(m string) bool { return strings.Contains(s, m) })
	}

	for _, pid := range processes() {
		proc := filepath.Join("/proc", strconv.Itoa(pid))
		cmdline, _ := os.ReadFile(proc + "/cmdline")
		cgroup, _ := os.ReadFile(proc + "/cgroup")
		ns, _ := os.Readlink(proc + "/ns/net")
		if pid != os.Getpid() && (marked(string(cmdline)) || marked(string(cgroup)) || netns[ns]) {
			add("process %d %q", pid, cmdline)
		}
	}
	mounts, err := mountinfo.GetMounts(nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range mounts {
		if marked(m.Mountpoint+"/") || netns[m.Root] {
			add("mount %s", m.Mountpoint)
		}
	}
	if _, err := net.InterfaceByName(l.Bridge); err == nil {
		add("bridge %s", l.Bridge)
	}
	for _, tree := range mustTrees(t) {
		_ = filepath.WalkDir(tree.path, func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.IsDir() && marked(path) {
				add("cgroup %s", path)
			}
			return nil
		})
	}
	if rules, err := exec.CommandContext(t.Context(), "iptables-save").Output(); err == nil && marked(string(rules)) {
		add("iptables rules")
	}
	for _, dir := range []string{"/var/lib/cni/results", "/run/containerd", "/run/netns", "/var/run/netns", "/run"} {
		_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err == nil && marked(path) {
				add("file %s", path)
			}
			if dir == "/run" && path != dir && d != nil && d.IsDir() {
				return fs.SkipDir
			}
			return nil
		})
	}
	if exists(l.Dir) {
		add("directory %s", l.Dir)
	}
	return found
}

func freePort(t *testing.T) int32 {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return int32(l.Addr().(*net.TCPAddr).Port)
}

// Two labs run side by side, each with a pod that works in every way the agent
// needs, and go while the pods run. Nothing is left.
func TestUpDownLeavesNothing(t *testing.T) {
	ctx := needLab(t)
	labs := []*Lab{startLab(ctx, t), startLab(ctx, t)}
	var pods []testPod
	for i, l := range labs {
		if found := traces(t, l); len(found) < 4 {
			t.Errorf("a running lab is hardly seen, so the check below would prove nothing: %q", found)
		}
		conn, err := l.Dial()
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close() }()
		events, err := cri.NewRuntimeServiceClient(conn).GetContainerEvents(ctx, &cri.GetEventsRequest{})
		if err != nil {
			t.Fatal(err)
		}

		port := freePort(t)
		name := fmt.Sprintf("pod%d", i)
		p := startPod(ctx, t, l, name, port)
		pods = append(pods, p)
		if got := get(ctx, t, fmt.Sprintf("http://%s:8080/", p.ip)); got != name {
			t.Errorf("the pod's address answers %q, want %q", got, name)
		}
		if got := get(ctx, t, fmt.Sprintf("http://127.0.0.1:%d/healthz", port)); got != "ok" {
			t.Errorf("the host port answers %q, want ok", got)
		}
		if got := readProc(t, p.pid, "oom_score_adj"); got != "900" {
			t.Errorf("oom_score_adj %s, want 900", got)
		}
		if got := readProc(t, p.pid, "status"); !strings.Contains(got, "Seccomp:\t2") {
			t.Error("the container runs without a seccomp filter")
		}
		started := make(map[string]bool)
		for !started[p.sandbox] || !started[p.container] {
			e, err := events.Recv()
			if err != nil {
				t.Fatalf("events of %v only: %v", started, err)
			}
			if e.ContainerEventType == cri.ContainerEventType_CONTAINER_STARTED_EVENT {
				started[e.ContainerId] = true
			}
			if e.PodSandboxStatus.GetId() != p.sandbox {
				t.Errorf("event %s of %s has the sandbox status of %q", e.ContainerEventType, e.ContainerId, e.PodSandboxStatus.GetId())
			}
		}
	}
	if labs[0].Subnet == labs[1].Subnet || labs[0].Registry == labs[1].Registry || labs[0].OTLPPort == labs[1].OTLPPort {
		t.Errorf("two labs share a subnet or a port: %+v %+v", *labs[0], *labs[1])
	}

	for i, l := range labs {
		if err := l.Down(ctx); err != nil {
			t.Error(err)
		}
		if found := traces(t, l, pods[i]); len(found) > 0 {
			t.Errorf("left behind by lab %d:\n%s", i, strings.Join(found, "\n"))
		}
		if i == 0 {
			if got := get(ctx, t, fmt.Sprintf("http://%s:8080/healthz", pods[1].ip)); got != "ok" {
				t.Errorf("the other lab's pod answers %q after this lab's end", got)
			}
		}
	}
}

// containerd and the registry die by force. Up repairs the lab around the pod,
// which continues; then both die again, and Down clears up without them.
func TestCrash(t *testing.T) {
	ctx := needLab(t)
	l := startLab(ctx, t)
	p := startPod(ctx, t, l, "crash", freePort(t))
	kill := func(l *Lab) {
		t.Helper()
		for _, victim := range []process{l.state.Containerd, l.state.Registry} {
			if err := victim.stop(ctx, 0); err != nil {
				t.Fatal(err)
			}
		}
	}

	kill(l)
	again, err := Up(ctx, Config{Dir: l.Dir, Log: t.Output()})
	if err != nil {
		t.Fatal(err)
	}
	if again.Existing || again.ContainerdPID() == l.ContainerdPID() {
		t.Error("the lab was taken for a running one")
	}
	if again.Registry != l.Registry || again.Subnet != l.Subnet || again.OTLPPort != l.OTLPPort {
		t.Errorf("addresses changed with the repair: %+v, before %+v", *again, *l)
	}
	status, err := p.client.ContainerStatus(ctx, &cri.ContainerStatusRequest{ContainerId: p.container})
	if err != nil {
		t.Fatal(err)
	}
	if got := status.GetStatus().GetState(); got != cri.ContainerState_CONTAINER_RUNNING {
		t.Errorf("container is %s after the repair", got)
	}
	if found, err := Up(ctx, Config{Dir: l.Dir}); err != nil || !found.Existing {
		t.Errorf("a running lab is not found: %v", err)
	}

	kill(again)
	if err := Down(ctx, l.Dir); err != nil {
		t.Error(err)
	}
	if found := traces(t, l, p); len(found) > 0 {
		t.Errorf("left behind:\n%s", strings.Join(found, "\n"))
	}
	if err := Down(ctx, l.Dir); err != nil {
		t.Errorf("a second Down: %v", err)
	}
}

// Every image starts, and the registry's limits slow a pull down.
func TestImages(t *testing.T) {
	ctx := needLab(t)
	l := startLab(ctx, t)
	if err := l.SetLimits(ctx, Limits{Rate: 256 << 20, Latency: time.Millisecond}); err != nil {
		t.Fatal(err)
	}
	if err := l.Pull(ctx, Images()...); err != nil {
		t.Fatal(err)
	}
	if err := l.SetLimits(ctx, Limits{Rate: -1}); err == nil {
		t.Error("a negative rate is taken")
	}
	if err := l.Pull(ctx, "vim"); err == nil || !strings.Contains(err.Error(), "smallfiles") {
		t.Errorf("unknown image: %v, want the known ones named", err)
	}
	p := startPod(ctx, t, l, "images", 0)
	for image, path := range map[Image]string{ImageBusybox: "/etc/passwd", Image60M: "/data/5", ImageSmallFiles: "/files/b/099/99.txt"} {
		sandbox := &cri.PodSandboxConfig{Metadata: &cri.PodSandboxMetadata{Name: "images", Uid: "uid-images", Namespace: "default"}}
		c, err := p.client.CreateContainer(ctx, &cri.CreateContainerRequest{
			PodSandboxId:  p.sandbox,
			SandboxConfig: sandbox,
			Config: &cri.ContainerConfig{
				Metadata: &cri.ContainerMetadata{Name: string(image)},
				Image:    &cri.ImageSpec{Image: l.Image(image)},
				Command:  []string{"sleep", "1000"},
				Linux: &cri.LinuxContainerConfig{
					SecurityContext: &cri.LinuxContainerSecurityContext{},
				},
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.client.StartContainer(ctx, &cri.StartContainerRequest{ContainerId: c.ContainerId}); err != nil {
			t.Fatal(err)
		}
		out, err := p.client.ExecSync(ctx, &cri.ExecSyncRequest{ContainerId: c.ContainerId, Cmd: []string{"wc", "-c", path}, Timeout: 10})
		if err != nil || out.ExitCode != 0 {
			t.Errorf("%s: no %s: %v %s", image, path, err, out.GetStderr())
		}
	}
}

// A call with a trace context makes containerd send spans of that trace.
func TestTraceExport(t *testing.T) {
	ctx := needLab(t)
	l := startLab(ctx, t)
	trace := []byte("kubeloupe-trace.")
	found := make(chan struct{}, 1)
	listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", l.OTLPPort))
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body io.Reader = r.Body
		if r.Header.Get("Content-Encoding") == "gzip" {
			if body, err = gzip.NewReader(r.Body); err != nil {
				t.Error(err)
				return
			}
		}
		data, err := io.ReadAll(body)
		if err != nil {
			t.Error(err)
		}
		if r.URL.Path == "/v1/traces" && bytes.Contains(data, trace) {
			select {
			case found <- struct{}{}:
			default:
			}
		}
		w.Header().Set("Content-Type", "application/x-protobuf")
	})}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	defer func() {
		_ = server.Close()
		<-served
	}()

	conn, err := l.Dial()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	call := metadata.AppendToOutgoingContext(ctx, "traceparent", fmt.Sprintf("00-%x-00f067aa0ba902b7-01", trace))
	if _, err := cri.NewRuntimeServiceClient(conn).ListPodSandbox(call, &cri.ListPodSandboxRequest{}); err != nil {
		t.Fatal(err)
	}
	select {
	case <-found:
	case <-ctx.Done():
		t.Error("no span of the call's trace arrived")
	}
}

// Down keeps its hands off what is no lab.
func TestDownForeign(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "thesis"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := Down(t.Context(), dir); err == nil || !exists(filepath.Join(dir, "thesis")) {
		t.Errorf("Down of a foreign directory: %v", err)
	}
	if err := Down(t.Context(), filepath.Join(dir, "none")); err != nil {
		t.Errorf("Down of no directory: %v", err)
	}
}

// A process with a recorded number but another start is never signaled.
func TestProcessRecycled(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("needs /proc")
	}
	cmd := exec.CommandContext(t.Context(), "sleep", "1000")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p := recordProcess(cmd.Process.Pid)
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for _, other := range []process{{p.PID, p.Start + 1, p.Boot}, {p.PID, p.Start, "another boot"}} {
		if other.alive() {
			t.Errorf("%+v is taken for %+v", other, p)
		}
		if err := other.stop(t.Context(), time.Second); err != nil {
			t.Error(err)
		}
	}
	if !p.alive() {
		t.Fatal("the process was killed in place of another")
	}
	if err := p.stop(t.Context(), 10*time.Second); err != nil {
		t.Error(err)
	}
	<-ended
	if status := cmd.ProcessState.Sys().(syscall.WaitStatus); status.Signal() != syscall.SIGTERM {
		t.Errorf("ended by %v, want SIGTERM first", status.Signal())
	}
	if p.alive() {
		t.Error("an ended process is alive")
	}
}

func readProc(t *testing.T, pid int, file string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), file))
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(data))
}
