package cgroup_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeloupe/kubeloupe/agent/cgroup"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/tracetest"
)

const mount = "/sys/fs/cgroup"

// onKernel returns a manager on this machine's cgroups, below a separate root that the test removes.
func onKernel(t testing.TB, cfg cgroup.Config) *cgroup.Manager {
	t.Helper()
	cfg.Root = fmt.Sprintf("/kubeloupe-test-%d", os.Getpid())
	m, err := cgroup.New(cfg)
	if _, ok := errors.AsType[*cgroup.UnavailableError](err); ok {
		t.Skipf("needs writable cgroups: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	if m.V2() {
		t.Skip("the figures below are cgroup v1's")
	}
	t.Cleanup(func() {
		if err := m.DestroyRoot(t.Context()); err != nil {
			t.Errorf("clean up: %v", err)
		}
	})
	if err := m.EnsureTiers(t.Context()); err != nil {
		t.Fatal(err)
	}
	return m
}

func TestKernel(t *testing.T) {
	rec := tracetest.New(t)
	ctx := t.Context()
	m := onKernel(t, cgroup.Config{
		Bus: rec.Bus(), CFSQuota: true, PodPidsLimit: 64, Node: cgroup.Limits{MilliCPU: 2000, Memory: 1 << 30, Pids: 1000},
	})
	r := quantities("cpu", "500m", "memory", "64Mi")
	pods := []*v1.Pod{podOf("g", r, r), burstable("b"), bestEffort("e")}
	for _, pod := range pods {
		do(t, m.EnsurePod(ctx, pod))
		do(t, m.EnsurePod(ctx, pod))
	}
	do(t, m.UpdateTiers(ctx, pods))
	root := fmt.Sprintf("kubeloupe-test-%d/kubepods", os.Getpid())
	cpus := contents(t, mount, "cpuset/cpuset.cpus")
	want := strings.Join([]string{
		"cpu/ROOT/cpu.shares: 2048",
		"memory/ROOT/memory.limit_in_bytes: 1073741824",
		"pids/ROOT/pids.max: 1000",
		"cpu/ROOT/burstable/cpu.shares: 256",
		"cpu/ROOT/besteffort/cpu.shares: 2",
		"cpu/ROOT/podg/cpu.shares: 512",
		"cpu/ROOT/podg/cpu.cfs_quota_us: 50000",
		"cpu/ROOT/podg/cpu.cfs_period_us: 100000",
		"memory/ROOT/podg/memory.limit_in_bytes: 67108864",
		"pids/ROOT/podg/pids.max: 64",
		"cpuset/ROOT/podg/cpuset.cpus: " + strings.TrimPrefix(cpus, "cpuset/cpuset.cpus: "),
		"cpu/ROOT/burstable/podb/cpu.shares: 256",
		"cpu/ROOT/burstable/podb/cpu.cfs_quota_us: -1",
		"cpu/ROOT/besteffort/pode/cpu.shares: 2",
	}, "\n")
	want = strings.ReplaceAll(want, "ROOT", root)
	var files []string
	for line := range strings.Lines(want) {
		files = append(files, line[:strings.IndexByte(line, ':')])
	}
	if diff := cmp.Diff(want, contents(t, mount, files...)); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	list, err := m.List(ctx)
	do(t, err)
	if len(list) != 3 {
		t.Errorf("list %v", list)
	}

	// A process and its child, in a container's cgroup below the pod's, in some hierarchies only. The child is forked
	// when the parent is in the cgroup.
	cmd := exec.Command("sh", "-c", "read go; sleep 1000 >/dev/null & echo ready; wait")
	stdin, err := cmd.StdinPipe()
	do(t, err)
	stdout, err := cmd.StdoutPipe()
	do(t, err)
	do(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	for _, h := range []string{"memory", "freezer"} {
		dir := filepath.Join(mount, h, root, "podg", "container")
		do(t, os.Mkdir(dir, 0o755))
		do(t, os.WriteFile(filepath.Join(dir, "cgroup.procs"), []byte(strconv.Itoa(cmd.Process.Pid)), 0o600))
	}
	_, err = io.WriteString(stdin, "go\n")
	do(t, err)
	_, err = bufio.NewReader(stdout).ReadString('\n')
	do(t, err)
	pids, err := m.Pids("g")
	do(t, err)
	if len(pids) != 2 || !slices.Contains(pids, cmd.Process.Pid) {
		t.Errorf("pids %v, want %d and its child", pids, cmd.Process.Pid)
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	for _, uid := range []types.UID{"g", "b", "e", "never"} {
		do(t, m.DestroyPod(ctx, uid))
	}
	if err := <-done; err == nil || err.Error() != "signal: killed" {
		t.Errorf("the process ended with %v, want killed", err)
	}
	if list, err = m.List(ctx); err != nil || len(list) != 0 {
		t.Errorf("left over: %v, %v", list, err)
	}
	if _, err := os.Stat(filepath.Join(mount, "memory", root, "podg")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the cgroup is still there: %v", err)
	}
	for _, e := range tracetest.Events[trace.CgroupOp](rec) {
		if e.Op == "destroy" && strings.HasSuffix(e.Path, "/podg") && e.Killed == 2 {
			return
		}
	}
	t.Error("no event tells that two processes were killed")
}

func BenchmarkEnsureAndDestroyPod(b *testing.B) {
	m := onKernel(b, cgroup.Config{CFSQuota: true})
	for b.Loop() {
		if err := errors.Join(m.EnsurePod(b.Context(), burstable("bench")), m.DestroyPod(b.Context(), "bench")); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkEnsurePod(b *testing.B) {
	m := onKernel(b, cgroup.Config{CFSQuota: true})
	var made []types.UID
	for i := 0; b.Loop(); i++ {
		uid := types.UID(fmt.Sprintf("bench-%d", i))
		if err := m.EnsurePod(b.Context(), burstable(uid)); err != nil {
			b.Fatal(err)
		}
		made = append(made, uid)
	}
	for _, uid := range made {
		if err := m.DestroyPod(b.Context(), uid); err != nil {
			b.Fatal(err)
		}
	}
}
