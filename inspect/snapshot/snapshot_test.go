package snapshot

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/moby/sys/mountinfo"
	"google.golang.org/grpc"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/kubeloupe/kubeloupe/trace"
)

const uid = "0f3a2b-11"

var web = trace.Pod{Namespace: "default", Name: "web", UID: uid}

// tree makes files, and directories of the names that end in a slash; file is what
// is after "=".
func tree(t *testing.T, root string, names ...string) {
	t.Helper()
	for _, n := range names {
		name, content, _ := strings.Cut(n, "=")
		path := filepath.Join(root, name)
		dir := path
		if !strings.HasSuffix(name, "/") {
			dir = filepath.Dir(path)
		}
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if dir == path || strings.HasSuffix(name, "/") {
			continue
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// take returns a snapshot with root taken off its paths.
func take(t *testing.T, cfg Config, pod trace.Pod, root string) []string {
	t.Helper()
	var out []string
	for _, l := range New(cfg).Snapshot(t.Context(), pod) {
		out = append(out, strings.ReplaceAll(l, root, ""))
	}
	return out
}

func TestFiles(t *testing.T) {
	root := t.TempDir()
	cfg := Config{RootDir: filepath.Join(root, "kubelet"), LogsDir: filepath.Join(root, "logs")}
	if got := take(t, cfg, web, root); got != nil {
		t.Errorf("before anything is there: %q", got)
	}
	tree(t, root,
		"kubelet/pods/"+uid+"/etc-hosts=x", "kubelet/pods/"+uid+"/volumes/kubernetes.io~secret/keys/password=hunter2",
		"kubelet/pods/"+uid+"/volumes/kubernetes.io~empty-dir/data/deep/deeper/", "kubelet/pods/other/etc-hosts",
		"logs/default_web_"+uid+"/main/0.log", "logs/default_web_other/main/0.log")
	want := []string{
		"dir /kubelet/pods/0f3a2b-11/", "file /kubelet/pods/0f3a2b-11/etc-hosts",
		"dir /kubelet/pods/0f3a2b-11/volumes/",
		"dir /kubelet/pods/0f3a2b-11/volumes/kubernetes.io~empty-dir/",
		"dir /kubelet/pods/0f3a2b-11/volumes/kubernetes.io~empty-dir/data/",
		"dir /kubelet/pods/0f3a2b-11/volumes/kubernetes.io~empty-dir/data/deep/",
		"dir /kubelet/pods/0f3a2b-11/volumes/kubernetes.io~secret/",
		"dir /kubelet/pods/0f3a2b-11/volumes/kubernetes.io~secret/keys/",
		"file /kubelet/pods/0f3a2b-11/volumes/kubernetes.io~secret/keys/password",
		"log dir /logs/default_web_0f3a2b-11/", "log dir /logs/default_web_0f3a2b-11/main/",
		"log file /logs/default_web_0f3a2b-11/main/0.log",
	}
	if diff := cmp.Diff(want, take(t, cfg, web, root)); diff != "" {
		t.Error(diff)
	}
	if got := take(t, cfg, trace.Pod{Namespace: "default", Name: "web"}, root); got != nil {
		t.Errorf("without a UID all pods are shown: %q", got)
	}
}

func TestFilesAreBounded(t *testing.T) {
	root := t.TempDir()
	for i := range maxEntries - 1 {
		tree(t, root, fmt.Sprintf("pods/%s/f%02d", uid, i))
	}
	cfg := Config{RootDir: root, LogsDir: filepath.Join(root, "logs")}
	if got := take(t, cfg, web, root); len(got) != maxEntries || strings.Contains(got[maxEntries-1], "more") {
		t.Errorf("%d lines, the last %q", len(got), got[len(got)-1])
	}
	tree(t, root, "pods/"+uid+"/g", "pods/"+uid+"/h")
	got := take(t, cfg, web, root)
	if diff := cmp.Diff("files: more than the 64 that are shown", got[len(got)-1]); diff != "" || len(got) != maxEntries+1 {
		t.Errorf("%d lines: %s", len(got), diff)
	}
}

// TestForeignFilesAreLeftAlone: what hangs when it is opened is not opened, and links are not followed.
func TestForeignFilesAreLeftAlone(t *testing.T) {
	base := t.TempDir()
	tree(t, base, "pod/volumes/nfs/data/hangs", "pod/volumes/plain/file", "outside/secret")
	root := filepath.Join(base, "link")
	for from, to := range map[string]string{root: "pod", filepath.Join(base, "pod/volumes/plain/way"): "../../../outside"} {
		if err := os.Symlink(to, from); err != nil {
			t.Fatal(err)
		}
	}
	got := files("", filepath.Join(root, "volumes"), map[string]bool{filepath.Join(base, "pod/volumes/nfs/data"): true})
	want := []string{"dir /", "dir /nfs/", "dir /nfs/data/", "dir /plain/", "file /plain/file", "file /plain/way"}
	for i := range got {
		got[i] = strings.ReplaceAll(got[i], root+"/volumes", "")
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if got := foreign([]*mountinfo.Info{{Mountpoint: "/a", FSType: "tmpfs"}, {Mountpoint: "/b", FSType: "fuse.sshfs"}}); len(got) != 1 || !got["/b"] {
		t.Errorf("foreign: %v", got)
	}
}

func TestCgroups(t *testing.T) {
	pod := "pod" + uid
	slice := "kubepods-burstable-pod0f3a2b_11.slice"
	for _, tc := range []struct {
		name, root string
		tree, want []string
	}{
		{"none", "", []string{"cpu/"}, nil},
		{
			"v1", "/",
			[]string{
				"cpu,cpuacct/kubepods/besteffort/" + pod + "/cpu.shares=2\n", "memory/kubepods/besteffort/" + pod + "/main/memory.limit_in_bytes=7",
				"memory/kubepods/besteffort/" + pod + "/memory.limit_in_bytes=1048576\n", "pids/kubepods/besteffort/podother/", "cpuset/",
			},
			[]string{
				"cgroup /kubepods/besteffort/" + pod + " (in 2 hierarchies)", "cgroup /kubepods/besteffort/" + pod + "/main",
				"cgroup cpu.shares = 2", "cgroup memory.limit_in_bytes = 1048576", "cgroup main memory.limit_in_bytes = 7",
			},
		},
		{
			"v2", "/lab/node",
			[]string{
				"cgroup.controllers=cpu", "lab/node/kubepods/" + pod + "/cpu.max=50000 100000\n", "lab/node/kubepods/" + pod + "/pids.max=max\n",
				"lab/node/kubepods/" + pod + "/c1/cpu.max=max 100000", "system.slice/",
			},
			[]string{"cgroup /lab/node/kubepods/" + pod, "cgroup /lab/node/kubepods/" + pod + "/c1", "cgroup cpu.max = 50000 100000", "cgroup pids.max = max", "cgroup c1 cpu.max = max 100000"},
		},
		{
			"v2 with systemd", "",
			[]string{"kubepods.slice/kubepods-burstable.slice/" + slice + "/cpu.weight=4\n"},
			[]string{"cgroup /kubepods.slice/kubepods-burstable.slice/" + slice, "cgroup cpu.weight = 4"},
		},
		{
			"v2 with systemd below a root", "lab",
			[]string{"lab.slice/lab-kubepods.slice/lab-kubepods-pod0f3a2b_11.slice/"},
			[]string{"cgroup /lab.slice/lab-kubepods.slice/lab-kubepods-pod0f3a2b_11.slice"},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			mount := t.TempDir()
			tree(t, mount, tc.tree...)
			cfg := Config{RootDir: t.TempDir(), LogsDir: t.TempDir(), CgroupMount: mount, CgroupRoot: tc.root}
			if diff := cmp.Diff(tc.want, take(t, cfg, web, mount)); diff != "" {
				t.Error(diff)
			}
			cfg.CgroupMount = ""
			if got := take(t, cfg, web, mount); got != nil {
				t.Errorf("without a mount: %q", got)
			}
		})
	}
}

func TestCgroupsAreBounded(t *testing.T) {
	mount := t.TempDir()
	for i := range maxEntries {
		tree(t, mount, fmt.Sprintf("kubepods/pod%s/c%02d/", uid, i))
	}
	got := take(t, Config{RootDir: mount, LogsDir: mount, CgroupMount: mount}, web, mount)
	if len(got) != maxEntries+1 || got[maxEntries] != "cgroups: more than the 64 that are shown" {
		t.Errorf("%d lines, the last %q", len(got), got[len(got)-1])
	}
}

func TestMounts(t *testing.T) {
	all := []*mountinfo.Info{
		{FSType: "tmpfs", Mountpoint: "/var/lib/kubelet/pods/" + uid + "/volumes/s"},
		{FSType: "proc", Mountpoint: "/proc"},
		{FSType: "nsfs", Mountpoint: "/run/netns/cni-1"},
		{FSType: "nsfs", Mountpoint: "/run/netns/cni-1"}, // seen twice
		{FSType: "nsfs", Mountpoint: "/run/netns/cni-2"},
		{FSType: "overlay", Mountpoint: "/run/containerd/k8s.io/c1/rootfs"},
	}
	want := []string{"mount nsfs /run/netns/cni-1", "mount overlay /run/containerd/k8s.io/c1/rootfs", "mount tmpfs /var/lib/kubelet/pods/" + uid + "/volumes/s"}
	if diff := cmp.Diff(want, mounts(all, []string{"", "cni-1", "c1", uid})); diff != "" {
		t.Error(diff)
	}
	if got := mounts(all, []string{""}); got != nil {
		t.Errorf("of no ids: %q", got)
	}
	var many []*mountinfo.Info
	for i := range maxEntries + 1 {
		many = append(many, &mountinfo.Info{FSType: "tmpfs", Mountpoint: fmt.Sprintf("/%s/%02d", uid, i)})
	}
	if got := mounts(many, []string{uid}); len(got) != maxEntries+1 || got[maxEntries] != "mounts: more than the 64 that are shown" {
		t.Errorf("%d lines, the last %q", len(got), got[len(got)-1])
	}
	if got := mounts(many[:maxEntries], []string{uid}); len(got) != maxEntries || strings.Contains(got[maxEntries-1], "more") {
		t.Errorf("%d lines, the last %q", len(got), got[len(got)-1])
	}
}

// runtime is a CRI runtime; what is set in errs fails.
type runtime struct {
	t          *testing.T
	sandboxes  []*runtimeapi.PodSandbox
	containers []*runtimeapi.Container
	status     map[string]*runtimeapi.PodSandboxStatusResponse
	errs       map[string]error
}

func (r *runtime) asked(labels map[string]string) {
	if diff := cmp.Diff(map[string]string{"io.kubernetes.pod.uid": uid}, labels); diff != "" {
		r.t.Error(diff)
	}
}

func (r *runtime) ListPodSandbox(_ context.Context, req *runtimeapi.ListPodSandboxRequest, _ ...grpc.CallOption) (*runtimeapi.ListPodSandboxResponse, error) {
	r.asked(req.GetFilter().GetLabelSelector())
	if err := r.errs["sandboxes"]; err != nil {
		return nil, err
	}
	return &runtimeapi.ListPodSandboxResponse{Items: r.sandboxes}, nil
}

func (r *runtime) ListContainers(_ context.Context, req *runtimeapi.ListContainersRequest, _ ...grpc.CallOption) (*runtimeapi.ListContainersResponse, error) {
	r.asked(req.GetFilter().GetLabelSelector())
	if err := r.errs["containers"]; err != nil {
		return nil, err
	}
	return &runtimeapi.ListContainersResponse{Containers: r.containers}, nil
}

func (r *runtime) PodSandboxStatus(_ context.Context, req *runtimeapi.PodSandboxStatusRequest, _ ...grpc.CallOption) (*runtimeapi.PodSandboxStatusResponse, error) {
	if !req.GetVerbose() {
		r.t.Error("the network namespace is told in verbose status only")
	}
	if err := r.errs["status"]; err != nil {
		return nil, err
	}
	return r.status[req.GetPodSandboxId()], nil
}

const info = `{"sandboxID":"s1","runtimeSpec":{"ociVersion":"1.2.0","linux":{"namespaces":[{"type":"pid"},{"type":"network","path":"/var/run/netns/cni-1"}]}}}`

func TestFromCRI(t *testing.T) {
	world := func() *runtime {
		return &runtime{
			t: t, errs: map[string]error{},
			sandboxes: []*runtimeapi.PodSandbox{
				{Id: "s1s1s1s1s1s1s1s1", Metadata: &runtimeapi.PodSandboxMetadata{Attempt: 1}, State: runtimeapi.PodSandboxState_SANDBOX_READY},
				{Id: "s0", Metadata: &runtimeapi.PodSandboxMetadata{}, State: runtimeapi.PodSandboxState_SANDBOX_NOTREADY},
			},
			containers: []*runtimeapi.Container{
				{Id: "c2", Metadata: &runtimeapi.ContainerMetadata{Name: "side"}, State: runtimeapi.ContainerState_CONTAINER_CREATED},
				{Id: "c1", Metadata: &runtimeapi.ContainerMetadata{Name: "main", Attempt: 3}, State: runtimeapi.ContainerState_CONTAINER_RUNNING},
			},
			status: map[string]*runtimeapi.PodSandboxStatusResponse{"s1s1s1s1s1s1s1s1": {
				Status: &runtimeapi.PodSandboxStatus{Network: &runtimeapi.PodSandboxNetworkStatus{Ip: "10.1.2.3"}}, Info: map[string]string{"info": info},
			}},
		}
	}
	all := []string{
		"container main c1 attempt 3 running", "container side c2 attempt 0 created", "netns /var/run/netns/cni-1",
		"sandbox s0 attempt 0 notready", "sandbox s1s1s1s1s1s1 attempt 1 ready 10.1.2.3",
	}
	for _, tc := range []struct {
		name       string
		spoil      func(*runtime)
		lines, ids []string
	}{
		{"all", func(*runtime) {}, all, []string{"s1s1s1s1s1s1s1s1", "cni-1", "s0", "c2", "c1"}},
		{"in another order", func(r *runtime) {
			r.sandboxes[0], r.sandboxes[1] = r.sandboxes[1], r.sandboxes[0]
			r.containers[0], r.containers[1] = r.containers[1], r.containers[0]
		}, all, []string{"s0", "s1s1s1s1s1s1s1s1", "cni-1", "c1", "c2"}},
		{"nothing", func(r *runtime) { r.sandboxes, r.containers = nil, nil }, nil, nil},
		{"no sandboxes", func(r *runtime) { r.errs["sandboxes"] = errors.New("down") }, []string{"sandboxes are not known: down"}, nil},
		{
			"no containers", func(r *runtime) { r.errs["containers"] = errors.New("down") },
			[]string{"containers are not known: down", "netns /var/run/netns/cni-1", "sandbox s0 attempt 0 notready", "sandbox s1s1s1s1s1s1 attempt 1 ready 10.1.2.3"},
			[]string{"s1s1s1s1s1s1s1s1", "cni-1", "s0"},
		},
		{
			"no status", func(r *runtime) { r.errs["status"], r.containers = errors.New("down"), nil },
			[]string{"sandbox s0 attempt 0 notready", "sandbox s1s1s1s1s1s1 attempt 1 ready"},
			[]string{"s1s1s1s1s1s1s1s1", "s0"},
		},
		{"a namespace of a process", func(r *runtime) {
			r.containers, r.sandboxes = nil, r.sandboxes[:1]
			r.status["s1s1s1s1s1s1s1s1"].Info["info"] = strings.ReplaceAll(info, "/var/run/netns/cni-1", "/proc/7/ns/net")
		}, []string{"netns /proc/7/ns/net", "sandbox s1s1s1s1s1s1 attempt 1 ready 10.1.2.3"}, []string{"s1s1s1s1s1s1s1s1"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := world()
			tc.spoil(r)
			lines, ids := FromCRI(r)(t.Context(), web)
			if diff := cmp.Diff(tc.lines, lines); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(tc.ids, ids); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestNetns(t *testing.T) {
	for _, tc := range []struct{ name, info, want string }{
		{"containerd", info, "/var/run/netns/cni-1"},
		{"the host's", `{"runtimeSpec":{"linux":{"namespaces":[{"type":"pid"}]}}}`, ""},
		{"a new one without a path", `{"runtimeSpec":{"linux":{"namespaces":[{"type":"network"}]}}}`, ""},
		{"another runtime's", `{"pid":7}`, ""},
		{"of another shape", `{"runtimeSpec":{"linux":{"namespaces":"network"}}}`, ""},
		{"no JSON", "{", ""},
		{"none", "", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := netns(tc.info); got != tc.want {
				t.Errorf("%q, want %q", got, tc.want)
			}
		})
	}
}

func TestRuntimeIsShown(t *testing.T) {
	root := t.TempDir()
	cfg := Config{RootDir: root, LogsDir: root, Runtime: func(context.Context, trace.Pod) (lines, ids []string) {
		return []string{"sandbox s1"}, []string{"s1-of-this-test"}
	}}
	if diff := cmp.Diff([]string{"sandbox s1"}, take(t, cfg, web, root)); diff != "" {
		t.Error(diff)
	}
}
