package kernel

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/moby/sys/mountinfo"

	"github.com/kubeloupe/kubeloupe/trace"
)

const (
	uid = "11111111-2222-3333-4444-555555555555"
	id  = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
)

// tree writes files below a directory.
func tree(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		file := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
}

func TestNames(t *testing.T) {
	for name, want := range map[string]string{
		"pod" + uid: uid, "kubepods-burstable-pod11111111_2222_3333_4444_555555555555.slice": uid,
		"kubelet-kubepods-pod11111111_2222_3333_4444_555555555555.slice": uid, "pod0123456789abcdef0123456789abcdef": "0123456789abcdef0123456789abcdef",
		"burstable": "", "kubepods-besteffort.slice": "", "podX": "", "notpod" + uid: "", "": "", "pod../../etc/passwd": "",
	} {
		if got := podUID(name); got != want {
			t.Errorf("pod of %q: %q, want %q", name, got, want)
		}
	}
	for name, want := range map[string]string{
		id: id, "crio-" + id: id, "cri-containerd-" + id + ".scope": id, "crio-" + id + ".scope": id, "crio-conmon-" + id + ".scope": id, "cgroup.procs": "", "cpu.stat": "", "": "", ".scope": "",
	} {
		if got := containerID(name); got != want {
			t.Errorf("container of %q: %q, want %q", name, got, want)
		}
	}
}

func TestFindCgroups(t *testing.T) {
	unified := &mountinfo.Info{FSType: "cgroup2", Mountpoint: "/unified"}
	for name, tc := range map[string]struct {
		want   hierarchy // with paths below the files' root
		root   string
		mounts []*mountinfo.Info
	}{
		"v2, systemd": {want: hierarchy{cpu: "/unified/kubepods.slice", mount: "/unified", v2: true}, mounts: []*mountinfo.Info{unified}},
		"v1": {want: hierarchy{cpu: "/cpu/kubepods", mount: "/cpu", memory: "/memory/kubepods"}, mounts: []*mountinfo.Info{
			unified, {FSType: "cgroup", VFSOptions: "rw,memory", Mountpoint: "/memory"}, {FSType: "cgroup", VFSOptions: "rw,cpuacct,cpu", Mountpoint: "/cpu"},
		}},
		"kind":       {want: hierarchy{cpu: "/unified/kubelet.slice/kubelet-kubepods.slice", mount: "/unified", v2: true}, mounts: []*mountinfo.Info{unified}},
		"cgroupRoot": {want: hierarchy{cpu: "/unified/lab/kubepods", mount: "/unified", v2: true}, root: "/lab", mounts: []*mountinfo.Info{unified}},
	} {
		t.Run(name, func(t *testing.T) {
			files := t.TempDir()
			for _, dir := range []*string{&tc.want.cpu, &tc.want.mount, &tc.want.memory} {
				if *dir == "" {
					continue
				}
				if *dir = filepath.Join(files, *dir); os.MkdirAll(*dir, 0o755) != nil {
					t.Fatal("no directory")
				}
			}
			if h, ok := findCgroups(tc.mounts, files, tc.root); !ok || h != tc.want {
				t.Errorf("%+v %t, want %+v", h, ok, tc.want)
			}
		})
	}
	if h, ok := findCgroups([]*mountinfo.Info{{FSType: "cgroup2", Mountpoint: "/"}}, t.TempDir(), ""); ok {
		t.Errorf("found %+v where there is none", h)
	}
}

// TestHoldback has the limit of a pod's only container be used up before its probe fails.
func TestHoldback(t *testing.T) {
	dir := t.TempDir()
	pod := "burstable/pod" + uid + "/"
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	k := New(Config{Put: func(trace.Record) {}})
	for n, stat := range []string{
		"nr_periods 10\nnr_throttled 1\nthrottled_time 1000000\n", "nr_periods 20\nnr_throttled 10\nthrottled_time 700000000\n", "nr_periods 30\nnr_throttled 20\nthrottled_time 1600000000\n",
		"nr_periods 40\nnr_throttled 20\nthrottled_time 1600000000\n",
	} {
		tree(t, dir, map[string]string{pod + "cpu.stat": "nr_periods 0\n", pod + id + "/cpu.stat": stat, pod + "tasks": "", "cpu.stat": "nr_periods 0\n"})
		if !k.limits.look(hierarchy{cpu: dir}, at.Add(time.Duration(n)*time.Second)) {
			t.Errorf("the pod is not young after %d s", n)
		}
	}
	rec := func(e trace.Event, after time.Duration) *trace.Record {
		r := &trace.Record{Time: at.Add(after).UnixNano(), Edge: trace.EdgeEnd, Pod: trace.Pod{Namespace: "a", Name: "b", UID: uid}, Observer: trace.ObserverKubeletLog, Event: e}
		k.See(r)
		return r
	}
	failed := trace.ProbeAttempt{Container: "web", Result: trace.ProbeFailure}
	if got := rec(&failed, 2*time.Second).Event; got != trace.Event(&failed) {
		t.Errorf("a container whose id is not known: %+v", got)
	}
	rec(&trace.PodStatus{Containers: []trace.ContainerStatus{{Name: "web", ID: "containerd://" + id}}}, 0)
	r := rec(&failed, 2*time.Second)
	want := &trace.Throttle{Interval: 2 * time.Second, Periods: 20, Throttled: 19, Stopped: 1599 * time.Millisecond}
	got, _ := r.Event.(*trace.ProbeAttempt)
	if diff := cmp.Diff(want, got.Throttle); diff != "" || failed.Throttle != nil || r.Also.String() != "kernel" {
		t.Errorf("also %s: %s", r.Also, diff)
	}
	if r := rec(&trace.ProbeAttempt{Container: "web", Result: trace.ProbeSuccess}, 2*time.Second); r.Also != 0 {
		t.Errorf("an attempt that succeeded: %+v", r.Event)
	}
	if k.limits.look(hierarchy{cpu: dir}, at.Add(time.Minute)) {
		t.Error("the pod is young after a minute")
	}
	if err := os.RemoveAll(filepath.Join(dir, "burstable")); err != nil {
		t.Fatal(err)
	}
	k.limits.look(hierarchy{cpu: dir}, at.Add(61*time.Second))
	k.See(&trace.Record{Pod: trace.Pod{Namespace: "a", Name: "b", UID: uid}, Event: &trace.PLEGEvent{Name: "web", Container: id}}) // it comes late
	k.limits.look(hierarchy{cpu: dir}, at.Add(62*time.Second))
	if k.limits.count() != 0 || k.limits.n != 0 || len(k.limits.ids) != 0 {
		t.Errorf("%d pods, %d cgroups and %d names are kept of what is gone", k.limits.count(), k.limits.n, len(k.limits.ids))
	}
}

// TestOrphans sees which directories are said to be orphaned: those with something left, of pods that nobody knows and that have no cgroup.
func TestOrphans(t *testing.T) {
	const web, gone, empty, running = "aaaaaaaa-0000-0000-0000-000000000001", "aaaaaaaa-0000-0000-0000-000000000002", "aaaaaaaa-0000-0000-0000-000000000003", "aaaaaaaa-0000-0000-0000-000000000004"
	root := t.TempDir()
	for _, uid := range []string{web, gone, running} {
		tree(t, root, map[string]string{"pods/" + uid + "/volumes/kubernetes.io~local-volume/data/file": ""})
	}
	tree(t, root, map[string]string{"pods/" + empty + "/etc-hosts": "", "cgroup/pod" + running + "/cpu.stat": ""})
	var told []string
	k := New(Config{Kubelet: os.Getpid(), RootDir: root, Put: func(r trace.Record) {
		if d, ok := r.Event.(*trace.Decision); ok {
			told = append(told, string(d.Verdict)+" "+d.Orphan+" "+d.Volume+": "+d.Reason)
		}
	}})
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	found := map[string]*orphan{}
	look := func(times int) string {
		told = nil
		for range times {
			now = now.Add(orphansEvery)
			k.lookForOrphans(found, now)
		}
		return strings.Join(told, "\n")
	}
	if got := look(20); got != "" {
		t.Errorf("while no cgroups are known: %s", got)
	}
	k.limits.look(hierarchy{cpu: filepath.Join(root, "cgroup")}, now)
	k.seenCgroups.Store(true)
	k.See(&trace.Record{Pod: trace.Pod{Namespace: "a", Name: "web", UID: web}, Event: &trace.Sync{}})
	const left = ": no cgroup of the pod is left, nobody tells of it, and these directories of volumes are there: volumes/kubernetes.io~local-volume/data"
	if got := look(20); got != "keep "+gone+" data"+left {
		t.Errorf("got %s", got)
	}
	k.See(&trace.Record{Pod: trace.Pod{Namespace: "a", Name: "web", UID: web}, Event: &trace.Milestone{Name: trace.MilestoneGone}})
	if got := look(20); got != "keep "+web+" data"+left {
		t.Errorf("after the pod is gone: %s", got)
	}
	if err := os.RemoveAll(filepath.Join(root, "pods", gone)); err != nil {
		t.Fatal(err)
	}
	if got := look(20); !strings.HasPrefix(got, "remove "+gone+" : ") || strings.Contains(got, "\n") {
		t.Errorf("after the directory is gone: %s", got)
	}
}

// TestManyPods: after many pods came and went, of which records came after they were gone, directories without a pod and the names of new
// pods are seen.
func TestManyPods(t *testing.T) {
	const orphaned, last = "aaaaaaaa-0000-0000-0000-000000000001", "aaaaaaaa-0000-0000-0000-000000000002"
	root := t.TempDir()
	for _, uid := range []string{orphaned, last} {
		tree(t, root, map[string]string{"pods/" + uid + "/volumes/kubernetes.io~local-volume/data/file": ""})
	}
	tree(t, root, map[string]string{"cgroup/cpu.stat": ""})
	var told []string
	k := New(Config{Kubelet: os.Getpid(), RootDir: root, Put: func(r trace.Record) {
		if d, ok := r.Event.(*trace.Decision); ok {
			told = append(told, string(d.Verdict)+" "+d.Orphan)
		}
	}})
	k.limits.look(hierarchy{cpu: filepath.Join(root, "cgroup")}, time.Now())
	k.seenCgroups.Store(true)
	now, found := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), map[string]*orphan{}
	look := func() {
		now = now.Add(orphansEvery)
		k.lookForOrphans(found, now)
	}
	see := func(uid string, e trace.Event) {
		k.See(&trace.Record{Pod: trace.Pod{Namespace: "a", Name: "b", UID: uid}, Event: e})
	}
	see(last, &trace.Sync{})
	for i := range 2 * maxKnown {
		uid := fmt.Sprintf("bbbbbbbb-0000-0000-0000-%012d", i)
		see(uid, &trace.Milestone{Name: trace.MilestoneGone})
		see(uid, &trace.CRICall{Method: "RemovePodSandbox"})
		k.See(&trace.Record{Edge: trace.EdgeBegin, Span: trace.SpanID(i + 1), Event: &trace.Action{Verb: trace.VerbCreate, Container: "c"}})
		if i%100 == 0 {
			look()
		}
	}
	for range 20 {
		look()
	}
	if diff := cmp.Diff([]string{"keep " + orphaned}, told); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if pod, _ := k.known.of(last); pod.Name != "b" {
		t.Errorf("the pod with a directory is called %v", pod)
	}
	if len(k.known.pods) > maxKnown || len(k.creating) > maxPods {
		t.Errorf("%d pods and %d actions are kept", len(k.known.pods), len(k.creating))
	}
}
