package cgroup_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeloupe/kubeloupe/agent/cgroup"
	"github.com/kubeloupe/kubeloupe/agent/qos"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/tracetest"
)

func podOf(uid types.UID, requests, limits v1.ResourceList) *v1.Pod {
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{UID: uid},
		Spec:       v1.PodSpec{Containers: []v1.Container{{Name: "c", Resources: v1.ResourceRequirements{Requests: requests, Limits: limits}}}},
	}
}

func quantities(kv ...string) v1.ResourceList {
	out := v1.ResourceList{}
	for i := 0; i < len(kv); i += 2 {
		out[v1.ResourceName(kv[i])] = resource.MustParse(kv[i+1])
	}
	return out
}

func guaranteed(uid types.UID) *v1.Pod {
	r := quantities("cpu", "500m", "memory", "64Mi", "hugepages-2Mi", "4Mi")
	return podOf(uid, r, r)
}
func burstable(uid types.UID) *v1.Pod  { return podOf(uid, quantities("cpu", "250m"), nil) }
func bestEffort(uid types.UID) *v1.Pod { return podOf(uid, nil, nil) }

var v2Files = []string{
	"cgroup.procs", "cgroup.subtree_control", "cpu.weight", "cpu.max", "cpuset.cpus", "memory.min", "memory.low", "memory.high", "memory.max",
	"memory.current", "pids.max", "hugetlb.2MB.max", "hugetlb.2MB.rsvd.max",
}

// v2Tree returns a directory that looks like a mounted cgroup v2, and a manager for it.
func v2Tree(t *testing.T, cfg cgroup.Config) (*cgroup.Manager, string) {
	t.Helper()
	mount := t.TempDir()
	fill := func(dir string) error {
		for _, f := range v2Files {
			if err := os.WriteFile(filepath.Join(dir, f), nil, 0o600); err != nil {
				return err
			}
		}
		return os.WriteFile(filepath.Join(dir, "cgroup.controllers"), []byte("cpuset cpu io memory hugetlb pids rdma misc\n"), 0o600)
	}
	if err := fill(mount); err != nil {
		t.Fatal(err)
	}
	cfg.Mount = mount
	m, err := cgroup.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	m.SetDirs(func(p string) error {
		if err := os.Mkdir(p, 0o700); err != nil {
			return err
		}
		return fill(p)
	}, func(p string) error {
		if err := inUse(p); err != nil {
			return err
		}
		return os.RemoveAll(p)
	})
	return m, mount
}

// inUse is why the kernel does not remove a cgroup: it has a process or a cgroup in it, or does not exist.
func inUse(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	info, err := os.Stat(filepath.Join(dir, "cgroup.procs"))
	busy := err == nil && info.Size() > 0
	for _, e := range entries {
		busy = busy || e.IsDir()
	}
	if busy {
		return unix.EBUSY
	}
	return nil
}

// contents returns files below mount, as "path: value".
func contents(t *testing.T, mount string, files ...string) string {
	t.Helper()
	var out []string
	for _, f := range files {
		text, err := os.ReadFile(filepath.Join(mount, f))
		value := strings.TrimSpace(string(text))
		if err != nil {
			value = "absent"
		}
		out = append(out, f+": "+value)
	}
	return strings.Join(out, "\n")
}

func do(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestV2(t *testing.T) {
	rec := tracetest.New(t)
	ctx := t.Context()
	m, mount := v2Tree(t, cgroup.Config{
		Root: "/mine", Bus: rec.Bus(), PodPidsLimit: 100, CFSQuota: true, HugePageSizes: []string{"2MB", "1GB"},
		Node: cgroup.Limits{MilliCPU: 2000, Memory: 1 << 30, Pids: 5000}, CPUs: "0-1", MemoryQoS: &qos.MemoryPolicy{Tiered: true},
	})
	if !m.V2() {
		t.Error("not seen as v2")
	}
	do(t, m.EnsureTiers(ctx))
	for _, pod := range []*v1.Pod{guaranteed("g-1"), burstable("b-1"), bestEffort("e-1")} {
		do(t, m.EnsurePod(ctx, pod))
		do(t, m.EnsurePod(ctx, pod))
	}
	do(t, m.UpdateTiers(ctx, []*v1.Pod{burstable("b-1"), burstable("b-2"), guaranteed("g-1")}))
	want := strings.TrimPrefix(`
cgroup.subtree_control: +cpuset +cpu +io +memory +hugetlb +pids +rdma +misc
mine/cgroup.subtree_control: +cpuset +cpu +io +memory +hugetlb +pids +rdma +misc
mine/kubepods/cgroup.subtree_control: +cpuset +cpu +io +memory +hugetlb +pids +rdma +misc
mine/kubepods/cpu.weight: 79
mine/kubepods/cpuset.cpus: 0-1
mine/kubepods/memory.max: 1073741824
mine/kubepods/memory.min: 67108864
mine/kubepods/memory.low: 0
mine/kubepods/pids.max: 5000
mine/kubepods/hugetlb.2MB.max: 4611686018427387904
mine/kubepods/burstable/cpu.weight: 20
mine/kubepods/burstable/cpuset.cpus: 
mine/kubepods/burstable/hugetlb.2MB.rsvd.max: 4611686018427387904
mine/kubepods/besteffort/cpu.weight: 1
mine/kubepods/besteffort/memory.max: 
mine/kubepods/podg-1/cpu.weight: 20
mine/kubepods/podg-1/cpu.max: 50000 100000
mine/kubepods/podg-1/memory.max: 67108864
mine/kubepods/podg-1/memory.min: 67108864
mine/kubepods/podg-1/pids.max: 100
mine/kubepods/podg-1/hugetlb.2MB.max: 4194304
mine/kubepods/podg-1/hugetlb.2MB.rsvd.max: 4194304
mine/kubepods/podg-1/hugetlb.1GB.max: absent
mine/kubepods/burstable/podb-1/cpu.weight: 10
mine/kubepods/burstable/podb-1/cpu.max: 
mine/kubepods/burstable/podb-1/memory.max: 
mine/kubepods/burstable/podb-1/hugetlb.2MB.max: 0
mine/kubepods/besteffort/pode-1/cpu.weight: 1
mine/kubepods/besteffort/pode-1/pids.max: 100`, "\n")
	var files []string
	for line := range strings.Lines(want) {
		files = append(files, line[:strings.IndexByte(line, ':')])
	}
	if diff := cmp.Diff(want, contents(t, mount, files...)); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}

	got, err := m.List(ctx)
	do(t, err)
	if diff := cmp.Diff(map[types.UID][]string{
		"g-1": {"/mine/kubepods/podg-1"}, "b-1": {"/mine/kubepods/burstable/podb-1"}, "e-1": {"/mine/kubepods/besteffort/pode-1"},
	}, got); diff != "" {
		t.Errorf("list (-want +got):\n%s", diff)
	}

	do(t, os.Mkdir(filepath.Join(mount, "mine/kubepods/podg-1/container"), 0o700))
	do(t, m.DestroyPod(ctx, "g-1"))
	do(t, m.DestroyPod(ctx, "g-1"))
	if _, err := os.Stat(filepath.Join(mount, "mine/kubepods/podg-1")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the pod's cgroup is still there: %v", err)
	}
	do(t, m.DestroyRoot(ctx))
	if _, err := os.Stat(filepath.Join(mount, "mine")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the root is still there: %v", err)
	}

	var ops []string
	for _, r := range rec.Records() {
		if e, ok := r.Event.(*trace.CgroupOp); ok && r.Edge == trace.EdgeEnd {
			ops = append(ops, string(e.Op)+" "+e.Path+e.Err)
		}
	}
	if diff := cmp.Diff([]string{
		"ensure /mine/kubepods",
		"ensure /mine/kubepods/podg-1", "ensure /mine/kubepods/podg-1",
		"ensure /mine/kubepods/burstable/podb-1", "ensure /mine/kubepods/burstable/podb-1",
		"ensure /mine/kubepods/besteffort/pode-1", "ensure /mine/kubepods/besteffort/pode-1",
		"update /mine/kubepods", "update /mine/kubepods/burstable",
		"destroy /mine/kubepods/podg-1",
	}, ops); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

func TestUpdateTiersIsQuietWithoutChange(t *testing.T) {
	rec := tracetest.New(t)
	m, _ := v2Tree(t, cgroup.Config{Bus: rec.Bus()})
	do(t, m.EnsureTiers(t.Context()))
	before := len(rec.Records())
	pods := []*v1.Pod{burstable("a")}
	do(t, m.UpdateTiers(t.Context(), pods))
	do(t, m.UpdateTiers(t.Context(), pods))
	if got := len(rec.Records()) - before; got != 2 {
		t.Errorf("%d records, want one begin and one end", got)
	}
}

// Ready detects that a cgroup, one of its limits or its parent is missing, and EnsurePod creates all of it again.
func TestReady(t *testing.T) {
	ctx := t.Context()
	m, mount := v2Tree(t, cgroup.Config{Root: "/mine", PodPidsLimit: 100, CFSQuota: true, Node: cgroup.Limits{Memory: 1 << 30}})
	pod, other := burstable("b-1"), bestEffort("e-1")
	at := func(p string) string { return filepath.Join(mount, "mine/kubepods", p) }
	made := contents(t, mount)
	for _, c := range []struct {
		name  string
		spoil func() error
		other bool // whether a pod in another QoS cgroup is still ready
	}{
		{"nothing is there yet", func() error { return nil }, false},
		{"the pod's", func() error { return os.RemoveAll(at("burstable/podb-1")) }, true},
		{"the tier", func() error { return os.RemoveAll(at("burstable")) }, true},
		{"all", func() error { return os.RemoveAll(filepath.Join(mount, "mine")) }, false},
		{"a limit", func() error { return os.WriteFile(at("burstable/podb-1/pids.max"), []byte("max\n"), 0o600) }, true},
		{"a limit of the tier", func() error { return os.WriteFile(at("burstable/cpu.weight"), []byte("100\n"), 0o600) }, true},
		{"a limit of all pods", func() error { return os.WriteFile(at("memory.max"), []byte("max\n"), 0o600) }, false},
		{"all, and a runtime has made them again without limits", func() error {
			for _, name := range []string{"", "burstable", "burstable/podb-1"} {
				for _, file := range []string{"memory.max", "cpu.weight", "pids.max"} {
					if err := os.WriteFile(at(filepath.Join(name, file)), []byte("max\n"), 0o600); err != nil {
						return err
					}
				}
			}
			return nil
		}, false},
	} {
		do(t, c.spoil())
		if m.Ready(pod) || m.Ready(other) != c.other {
			t.Errorf("%s: ready %v, another's %v", c.name, m.Ready(pod), m.Ready(other))
		}
		do(t, m.EnsurePod(ctx, pod))
		do(t, m.EnsurePod(ctx, other))
		if !m.Ready(pod) || !m.Ready(other) {
			t.Errorf("%s: made again, and not ready", c.name)
		}
		now := contents(t, mount, "mine/kubepods/memory.max", "mine/kubepods/burstable/cpu.weight", "mine/kubepods/burstable/podb-1/pids.max", "mine/kubepods/burstable/podb-1/cpu.weight")
		if made == "" {
			made = now
		}
		if diff := cmp.Diff(made, now); diff != "" {
			t.Errorf("%s: limits (-want +got):\n%s", c.name, diff)
		}
	}
	do(t, m.DestroyPod(ctx, pod.UID))
	if m.Ready(pod) {
		t.Error("ready after its end")
	}
	if err := os.WriteFile(at("burstable/podb-1"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := m.EnsurePod(ctx, pod); err == nil || !strings.Contains(err.Error(), "/mine/kubepods/burstable/podb-1") || m.Ready(pod) {
		t.Errorf("error %v, want one that names the cgroup", err)
	}
	var none *cgroup.Manager
	if !none.Ready(pod) {
		t.Error("a node without cgroups waits for them")
	}
}

func TestDestroyStopsWithItsContext(t *testing.T) {
	m, mount := v2Tree(t, cgroup.Config{})
	do(t, m.EnsureTiers(t.Context()))
	do(t, m.EnsurePod(t.Context(), bestEffort("e-1")))
	m.SetDirs(nil, func(string) error { return fs.ErrPermission })
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := m.DestroyPod(ctx, "e-1"); !errors.Is(err, context.Canceled) || !errors.Is(err, fs.ErrPermission) {
		t.Errorf("error %v, want both causes", err)
	}
	// A pod's process in another PID namespace reads as 0 and must not become kill(0).
	do(t, os.WriteFile(filepath.Join(mount, "kubepods/besteffort/pode-1/cgroup.procs"), []byte("0\n0\n"), 0o600))
	if pids, err := m.Pids("e-1"); err != nil || len(pids) != 0 {
		t.Errorf("pids %v, %v", pids, err)
	}
}

func TestDestroyDoesNotKillItself(t *testing.T) {
	m, mount := v2Tree(t, cgroup.Config{})
	do(t, m.EnsureTiers(t.Context()))
	do(t, m.EnsurePod(t.Context(), guaranteed("g-1")))
	do(t, os.WriteFile(filepath.Join(mount, "kubepods/podg-1/cgroup.procs"), []byte(strconv.Itoa(os.Getpid())), 0o600))
	if err := m.DestroyPod(t.Context(), "g-1"); err == nil || !strings.Contains(err.Error(), "does not kill itself") {
		t.Errorf("error %v", err)
	}
	if _, err := os.Stat(filepath.Join(mount, "kubepods/podg-1")); err != nil {
		t.Errorf("the cgroup was removed: %v", err)
	}
}

// The pod's process exits after its PID was read, and a process outside the pod gets the PID: that one must survive.
// The PID is read from a pipe in place of the kernel's file, which has it once.
func TestDestroyKillsNoReusedPid(t *testing.T) {
	m, mount := v2Tree(t, cgroup.Config{Root: "/"})
	pod := bestEffort("e")
	do(t, m.EnsureTiers(t.Context()))
	do(t, m.EnsurePod(t.Context(), pod))
	innocent := exec.Command("sleep", "600")
	do(t, innocent.Start())
	procs := filepath.Join(mount, m.PodParent(pod), "cgroup.procs")
	do(t, os.Remove(procs))
	do(t, unix.Mkfifo(procs, 0o600))
	aside := filepath.Join(mount, "aside")
	do(t, os.Link(procs, aside))
	told := make(chan struct{})
	go func() {
		defer close(told)
		for text := strconv.Itoa(innocent.Process.Pid); ; text = "" {
			f, err := os.OpenFile(procs, os.O_WRONLY, 0) // waits for the reader
			if err != nil {
				return // the cgroup was removed
			}
			if text != "" {
				_, _ = f.WriteString(text)
			}
			_ = f.Close()
		}
	}()
	refused := false
	m.SetDirs(nil, func(p string) error {
		if p == filepath.Dir(procs) && !refused { // the process has not exited yet
			refused = true
			return unix.EBUSY
		}
		return os.RemoveAll(p)
	})
	do(t, m.DestroyPod(t.Context(), pod.UID))
	last, err := os.OpenFile(aside, os.O_RDONLY|unix.O_NONBLOCK, 0)
	do(t, err)
	<-told
	do(t, last.Close())
	do(t, innocent.Process.Signal(unix.SIGTERM))
	var ended *exec.ExitError
	if err := innocent.Wait(); !errors.As(err, &ended) || ended.Sys().(syscall.WaitStatus).Signal() != unix.SIGTERM {
		t.Errorf("a process that was not the pod's: %v", err)
	}
}

func TestNames(t *testing.T) {
	for _, tc := range []struct {
		root   string
		driver cgroup.Driver
		pod    *v1.Pod
		want   string
	}{
		{"", "", guaranteed("1a-2b"), "/kubepods/pod1a-2b"},
		{"/", cgroup.Cgroupfs, burstable("1a-2b"), "/kubepods/burstable/pod1a-2b"},
		{"/x/y/", cgroup.Cgroupfs, bestEffort("1a-2b"), "/x/y/kubepods/besteffort/pod1a-2b"},
		{"", cgroup.Systemd, guaranteed("1a-2b"), "/kubepods.slice/kubepods-pod1a_2b.slice"},
		{"", cgroup.Systemd, burstable("1a-2b"), "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod1a_2b.slice"},
		{"/my-root", cgroup.Systemd, bestEffort("1"), "/my_root.slice/my_root-kubepods.slice/my_root-kubepods-besteffort.slice/my_root-kubepods-besteffort-pod1.slice"},
	} {
		m, _ := v2Tree(t, cgroup.Config{Root: tc.root, Driver: tc.driver})
		if got := m.PodParent(tc.pod); got != tc.want {
			t.Errorf("%s with %s: %s, want %s", tc.root, tc.driver, got, tc.want)
		}
	}
}

func TestSystemdDriverNeedsSystemd(t *testing.T) {
	if _, err := os.Stat("/run/systemd/system"); err == nil {
		t.Skip("systemd runs here and would be asked")
	}
	m, mount := v2Tree(t, cgroup.Config{Driver: cgroup.Systemd})
	for _, err := range []error{m.EnsureTiers(t.Context()), m.EnsurePod(t.Context(), burstable("b-1"))} {
		if err == nil || !strings.Contains(err.Error(), "systemd") {
			t.Errorf("error %v, want one that says why", err)
		}
	}
	dir := "kubepods.slice/kubepods-burstable.slice/kubepods-burstable-podb_1.slice"
	do(t, os.MkdirAll(filepath.Join(mount, dir), 0o700))
	list, err := m.List(t.Context())
	do(t, err)
	if diff := cmp.Diff(map[types.UID][]string{"b-1": {"/" + dir}}, list); diff != "" {
		t.Errorf("list (-want +got):\n%s", diff)
	}
}

func TestRefuses(t *testing.T) {
	m, _ := v2Tree(t, cgroup.Config{})
	do(t, m.EnsureTiers(t.Context()))
	for _, uid := range []types.UID{"", "../../x", "a/b", "a_b"} {
		if err := m.EnsurePod(t.Context(), bestEffort(uid)); err == nil {
			t.Errorf("EnsurePod accepted UID %q", uid)
		}
		if err := m.DestroyPod(t.Context(), uid); err == nil {
			t.Errorf("DestroyPod accepted UID %q", uid)
		}
		if _, err := m.Pids(uid); err == nil {
			t.Errorf("Pids accepted UID %q", uid)
		}
	}
	if _, err := cgroup.New(cgroup.Config{Mount: t.TempDir(), Driver: "docker"}); err == nil || !strings.Contains(err.Error(), "want cgroupfs or systemd") {
		t.Errorf("unknown driver: %v", err)
	}
	if _, err := cgroup.New(cgroup.Config{Mount: t.TempDir(), Driver: cgroup.Systemd, Root: "a_b"}); err == nil || !strings.Contains(err.Error(), "cgroupRoot") {
		t.Errorf("root with _: %v", err)
	}
}

func TestNewSaysWhatIsMissing(t *testing.T) {
	for _, tc := range []struct {
		name  string
		files map[string]string
		want  string
		v2    bool
	}{
		{name: "nothing", want: "neither cgroup v2"},
		{name: "v2 without memory", files: map[string]string{"cgroup.controllers": "cpu pids"}, want: "the memory controller is missing"},
		{name: "v2", files: map[string]string{"cgroup.controllers": "cpu memory"}, v2: true},
		{name: "v1 without cpu", files: map[string]string{"memory/cgroup.procs": ""}, want: "the cpu controller is missing"},
		{name: "v1 joined", files: map[string]string{"memory/cgroup.procs": "", "cpu,cpuacct/cgroup.procs": ""}},
		{name: "hybrid", files: map[string]string{
			"memory/cgroup.procs": "", "cpu/cgroup.procs": "", "unified/cgroup.procs": "", "unified/cgroup.controllers": "",
		}},
	} {
		mount := t.TempDir()
		for name, text := range tc.files {
			do(t, os.MkdirAll(filepath.Join(mount, filepath.Dir(name)), 0o700))
			do(t, os.WriteFile(filepath.Join(mount, name), []byte(text), 0o600))
		}
		m, err := cgroup.New(cgroup.Config{Mount: mount})
		if tc.want == "" {
			if err != nil || m.V2() != tc.v2 {
				t.Errorf("%s: v2 %v, %v", tc.name, m.V2(), err)
			}
			continue
		}
		var unavailable *cgroup.UnavailableError
		if !errors.As(err, &unavailable) || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want an UnavailableError with %q", tc.name, err, tc.want)
		}
	}
	if _, err := cgroup.New(cgroup.Config{Mount: "/no/such/mount"}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no mount: %v", err)
	}
}

func TestNilManagerDoesNothing(t *testing.T) {
	var m *cgroup.Manager
	ctx, pod := t.Context(), burstable("b")
	do(t, errors.Join(m.EnsureTiers(ctx), m.EnsurePod(ctx, pod), m.UpdateTiers(ctx, []*v1.Pod{pod}), m.DestroyPod(ctx, "b"), m.DestroyRoot(ctx)))
	pids, err := m.Pids("b")
	list, err2 := m.List(ctx)
	if m.PodParent(pod) != "" || m.V2() || pids != nil || err != nil || list != nil || err2 != nil {
		t.Error("a nil manager answered something")
	}
}

func TestHugePageSizes(t *testing.T) {
	sys := t.TempDir()
	for _, dir := range []string{"hugepages-2048kB", "hugepages-1048576kB", "hugepages-oddkB"} {
		do(t, os.MkdirAll(filepath.Join(sys, "kernel/mm/hugepages", dir), 0o700))
	}
	if diff := cmp.Diff([]string{"1GB", "2MB"}, cgroup.HugePageSizes(sys)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := cgroup.HugePageSizes(t.TempDir()); got != nil {
		t.Errorf("%v without huge pages", got)
	}
}
