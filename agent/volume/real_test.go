package volume_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeloupe/kubeloupe/agent/criconfig"
	"github.com/kubeloupe/kubeloupe/agent/volume"
	"github.com/kubeloupe/kubeloupe/agent/volume/downwardapi"
	"github.com/kubeloupe/kubeloupe/agent/volume/emptydir"
	"github.com/kubeloupe/kubeloupe/agent/volume/hostpath"
	"github.com/kubeloupe/kubeloupe/agent/volume/memdir"
	"github.com/kubeloupe/kubeloupe/agent/volume/projected"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/tracetest"
)

// node is a manager with the real plugins, on a real directory.
type node struct {
	*volume.Manager
	t    *testing.T
	rec  *tracetest.Recorder
	stop func()
}

func start(t *testing.T, root string) *node {
	t.Helper()
	memory, err := memdir.New(memdir.Kernel{})
	must(t, err)
	empty, err := emptydir.New(emptydir.Config{Memory: memory})
	must(t, err)
	downward, err := downwardapi.New(downwardapi.Config{Memory: memory})
	must(t, err)
	proj, err := projected.New(projected.Config{Fields: downwardapi.Config{Memory: memory}})
	must(t, err)
	rec := tracetest.New(t)
	m, err := volume.New(volume.Config{
		RootDir: root, Bus: rec.Bus(),
		Plugins: []volume.Plugin{empty, hostpath.New(), downward, proj},
	})
	must(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- m.Run(ctx) }()
	stop := sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(stop)
	return &node{m, t, rec, stop}
}

func (n *node) mount(p *v1.Pod) map[string]criconfig.Volume {
	n.t.Helper()
	got, err := n.Mount(n.t.Context(), p)
	must(n.t, err)
	return got
}

func (n *node) unmount(uid string) {
	n.t.Helper()
	must(n.t, n.Unmount(n.t.Context(), trace.Pod{UID: uid}))
}

// ops lists the finished operations.
func (n *node) ops() []string {
	var out []string
	for _, r := range n.rec.OfKind("volume") {
		if e, ok := r.Event.(*trace.Volume); ok && r.Edge == trace.EdgeEnd {
			out = append(out, string(e.Op)+" "+e.Name)
		}
	}
	slices.Sort(out)
	return out
}

func pod(uid string, volumes ...v1.Volume) *v1.Pod {
	p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web", UID: types.UID(uid), Labels: map[string]string{"a": "1"}}}
	p.Spec.Volumes = volumes
	p.Spec.Containers = []v1.Container{{Name: "c"}}
	for _, v := range volumes {
		p.Spec.Containers[0].VolumeMounts = append(p.Spec.Containers[0].VolumeMounts, v1.VolumeMount{Name: v.Name, MountPath: "/" + v.Name})
	}
	return p
}

func emptyVol(name string, medium v1.StorageMedium) v1.Volume {
	return v1.Volume{Name: name, VolumeSource: v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{Medium: medium}}}
}

func hostVol(name, path string) v1.Volume {
	return v1.Volume{Name: name, VolumeSource: v1.VolumeSource{HostPath: &v1.HostPathVolumeSource{Path: path, Type: new(v1.HostPathDirectory)}}}
}

func labelsVol(name string) v1.Volume {
	return v1.Volume{Name: name, VolumeSource: v1.VolumeSource{DownwardAPI: &v1.DownwardAPIVolumeSource{Items: []v1.DownwardAPIVolumeFile{
		{Path: "labels", FieldRef: &v1.ObjectFieldSelector{FieldPath: "metadata.labels"}},
	}}}}
}

func TestAllKindsComeAndGo(t *testing.T) {
	root := t.TempDir()
	n := start(t, root)
	host := t.TempDir()
	unused := v1.Volume{Name: "unused", VolumeSource: v1.VolumeSource{Secret: &v1.SecretVolumeSource{}}}
	p := pod("u1", emptyVol("data", ""), hostVol("host", host), labelsVol("info"))
	p.Spec.Volumes = append(p.Spec.Volumes, unused)
	dir := func(plugin, name string) string {
		return filepath.Join(root, "pods/u1/volumes/kubernetes.io~"+plugin, name)
	}
	want := map[string]criconfig.Volume{
		"data": {Name: "data", HostPath: dir("empty-dir", "data"), SELinuxRelabel: true},
		"host": {Name: "host", HostPath: host},
		"info": {Name: "info", HostPath: dir("downward-api", "info"), ReadOnly: true, SELinuxRelabel: true},
	}
	if diff := cmp.Diff(want, n.mount(p)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want, n.mount(p)); diff != "" {
		t.Errorf("again (-want +got):\n%s", diff)
	}
	// An update takes effect; the emptyDir's content is kept.
	write(t, want["data"].HostPath+"/kept", "x")
	p = p.DeepCopy()
	p.Labels["a"] = "2"
	n.mount(p)
	if got := read(t, want["info"].HostPath+"/labels"); got != `a="2"` {
		t.Errorf("labels %q after the update", got)
	}
	read(t, want["data"].HostPath+"/kept")
	n.unmount("u1")
	for _, d := range []string{want["data"].HostPath, want["info"].HostPath} {
		if _, err := os.Lstat(d); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is still there: %v", d, err)
		}
	}
	if _, err := os.Stat(host); err != nil {
		t.Errorf("the node's own directory: %v", err)
	}
	wantOps := []string{"setup data", "setup host", "setup info", "setup info", "teardown data", "teardown host", "teardown info"}
	if diff := cmp.Diff(wantOps, n.ops()); diff != "" {
		t.Errorf("operations (-want +got):\n%s", diff)
	}
}

func TestAnotherAgentAdopts(t *testing.T) {
	root := t.TempDir()
	p := pod("u1", emptyVol("data", ""), labelsVol("info"))
	first := start(t, root)
	dirs := first.mount(p)
	write(t, dirs["data"].HostPath+"/kept", "x")
	first.stop()

	second := start(t, root)
	if diff := cmp.Diff(dirs, second.mount(p)); diff != "" {
		t.Errorf("(-before +after):\n%s", diff)
	}
	read(t, dirs["data"].HostPath+"/kept")
	if diff := cmp.Diff([]string{string(trace.VolumeAdopt) + " data", string(trace.VolumeAdopt) + " info"}, second.ops()); diff != "" {
		t.Errorf("operations (-want +got):\n%s", diff)
	}
	second.stop()

	// A third manager only learns that the pod is gone.
	third := start(t, root)
	third.unmount("u1")
	if diff := cmp.Diff([]string{"teardown data", "teardown info"}, third.ops()); diff != "" {
		t.Errorf("operations (-want +got):\n%s", diff)
	}
	if left := tree(t, filepath.Join(root, "pods/u1/volumes")); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
}

func TestOrphans(t *testing.T) {
	root := t.TempDir()
	first := start(t, root)
	first.mount(pod("gone", emptyVol("data", ""), labelsVol("info")))
	first.mount(pod("known", emptyVol("data", "")))
	first.stop()
	must(t, os.MkdirAll(filepath.Join(root, "pods/foreign/volumes/kubernetes.io~csi/pv/mount"), 0o750))
	must(t, os.MkdirAll(filepath.Join(root, "pods/plain/containers/c"), 0o750))
	outside := t.TempDir()
	write(t, outside+"/kept", "x")
	must(t, os.Symlink(outside, filepath.Join(root, "pods/link")))

	n := start(t, root)
	n.mount(pod("mounted", emptyVol("data", "")))
	removed, err := n.CleanOrphans(t.Context(), func(uid types.UID) bool { return uid == "known" })
	if diff := cmp.Diff([]string{"gone", "plain"}, removed); diff != "" {
		t.Errorf("removed (-want +got):\n%s", diff)
	}
	for _, want := range []string{`foreign: teardown of volume "pv" (kubernetes.io/csi) failed`, "mounted: " + volume.ErrWanted.Error()} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q in it", err, want)
		}
	}
	var verdicts []string
	for _, d := range tracetest.Events[trace.Decision](n.rec) {
		verdict := string(d.By) + " " + string(d.Verdict) + " " + d.Subject
		if d.Volume != "" {
			verdict += " for volume " + d.Volume
		}
		verdicts = append(verdicts, verdict)
	}
	if diff := cmp.Diff([]string{"orphan keep pod foreign for volume pv", "orphan remove pod gone", "orphan keep pod mounted", "orphan remove pod plain"}, verdicts); diff != "" {
		t.Errorf("decisions (-want +got):\n%s", diff)
	}
	left, err := os.ReadDir(filepath.Join(root, "pods"))
	must(t, err)
	var names []string
	for _, e := range left {
		names = append(names, e.Name())
	}
	if diff := cmp.Diff([]string{"foreign", "known", "link", "mounted"}, names); diff != "" {
		t.Errorf("left (-want +got):\n%s", diff)
	}
	read(t, outside+"/kept")
	// The failed volume is in back-off: housekeeping does not wait for it.
	if _, err := n.CleanOrphans(t.Context(), func(uid types.UID) bool { return uid != "foreign" }); err == nil {
		t.Error("no error for what could not be removed")
	}
}

func TestOperationsBelongToTheCall(t *testing.T) {
	n := start(t, t.TempDir())
	span := trace.Begin(n.rec.Bus(), trace.Span{}, trace.Action{Verb: trace.VerbVolumes})
	p := pod("u1", emptyVol("data", ""))
	if _, err := n.Mount(trace.ContextWith(t.Context(), span), p); err != nil {
		t.Fatal(err)
	}
	want := trace.Pod{Namespace: "ns", Name: "web", UID: "u1"}
	recs := n.rec.OfKind("volume")
	if len(recs) != 2 {
		t.Fatalf("%d records, want begin and end", len(recs))
	}
	for _, r := range recs {
		if r.Parent != span.ID || r.Trace != span.Trace || r.Pod != want {
			t.Errorf("parent %v, trace %v, pod %v, want %v, %v, %v", r.Parent, r.Trace, r.Pod, span.ID, span.Trace, want)
		}
	}
}

func BenchmarkMountUnmount(b *testing.B) {
	memory, err := memdir.New(memdir.Kernel{})
	if err != nil {
		b.Fatal(err)
	}
	empty, err := emptydir.New(emptydir.Config{Memory: memory})
	if err != nil {
		b.Fatal(err)
	}
	m, err := volume.New(volume.Config{RootDir: b.TempDir(), Plugins: []volume.Plugin{empty, hostpath.New()}})
	if err != nil {
		b.Fatal(err)
	}
	go m.Run(b.Context())
	p := pod("u", emptyVol("data", ""), hostVol("host", "/"))
	for b.Loop() {
		if _, err := m.Mount(b.Context(), p); err != nil {
			b.Fatal(err)
		}
		if err := m.Unmount(b.Context(), trace.Pod{UID: "u"}); err != nil {
			b.Fatal(err)
		}
	}
}

func TestManyPodsAtOnce(t *testing.T) {
	root := t.TempDir()
	n := start(t, root)
	var wg sync.WaitGroup
	for i := range 40 {
		wg.Go(func() {
			uid := fmt.Sprintf("u%d", i)
			p := pod(uid, emptyVol("one", ""), emptyVol("two", ""), hostVol("host", root))
			for range 5 {
				// The pod's own calls overlap too: the later one wins.
				var pair sync.WaitGroup
				pair.Go(func() {
					if _, err := n.Mount(t.Context(), p); err != nil && !errors.Is(err, volume.ErrReleased) {
						t.Error(err)
					}
				})
				pair.Go(func() {
					if err := n.Unmount(t.Context(), trace.Pod{UID: uid}); err != nil && !errors.Is(err, volume.ErrWanted) {
						t.Error(err)
					}
				})
				pair.Wait()
				got, err := n.Mount(t.Context(), p)
				if err != nil || len(got) != 3 {
					t.Errorf("mount: %v %v", got, err)
					continue
				}
				if _, err := os.Stat(got["two"].HostPath); err != nil {
					t.Error(err)
				}
			}
			if err := n.Unmount(t.Context(), trace.Pod{UID: uid}); err != nil {
				t.Error(err)
			}
			if left := tree(t, filepath.Join(root, "pods", uid, "volumes")); len(left) != 0 {
				t.Errorf("left: %v", left)
			}
		})
	}
	wg.Wait()
}

func TestRefused(t *testing.T) {
	n := start(t, t.TempDir())
	secret := v1.Volume{Name: "token", VolumeSource: v1.VolumeSource{Secret: &v1.SecretVolumeSource{}}}
	mixed := v1.Volume{Name: "all", VolumeSource: v1.VolumeSource{Projected: &v1.ProjectedVolumeSource{
		Sources: []v1.VolumeProjection{{ConfigMap: &v1.ConfigMapProjection{}}},
	}}}
	bad := labelsVol("info")
	bad.DownwardAPI.Items[0].FieldRef.FieldPath = "spec.nonsense"
	for _, tc := range []struct {
		pod  *v1.Pod
		want string
	}{
		{pod("u", secret), `volume "token" is of type secret, which this build does not support yet`},
		{pod("u", mixed), `volume "all" is of type projected, which this build does not support yet`},
		{pod("u", v1.Volume{Name: "git", VolumeSource: v1.VolumeSource{GitRepo: &v1.GitRepoVolumeSource{}}}), `volume "git" is of type gitRepo: git-repo volume plugin has been disabled`},
		{pod("u", bad), `volume "info" (kubernetes.io/downward-api) failed: file "labels": downward API "spec.nonsense"`},
		{pod("u", emptyVol("data", "Floppy")), `emptyDir.medium "Floppy": want Memory`},
		{pod("u", hostVol("host", "/a/../b")), `hostPath.path "/a/../b" must not contain '..'`},
		{pod("u", hostVol("host", "/none/such")), `hostPath type check failed, /none/such is not a directory`},
		{pod("../u", emptyVol("data", "")), `metadata.uid "../u" cannot name a directory`},
		{pod("u", emptyVol("../data", "")), `spec.volumes[0].name "../data"`},
	} {
		_, err := n.Mount(t.Context(), tc.pod)
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("error %v, want %q in it", err, tc.want)
		}
		// Only an unsupported type is known before the first attempt.
		_, never := errors.AsType[*volume.UnsupportedError](err)
		if err := n.Check(tc.pod); never != (err != nil) || err != nil && !strings.Contains(err.Error(), tc.want) {
			t.Errorf("check of it: %v, unsupported: %v", err, never)
		}
		if tc.pod.UID == "u" {
			n.unmount("u")
		}
	}
	unused := pod("u", secret)
	unused.Spec.Containers[0].VolumeMounts = nil
	if err := n.Check(unused); err != nil {
		t.Errorf("check of a volume that nothing uses: %v", err)
	}
	if err := n.Unmount(t.Context(), trace.Pod{UID: ".."}); err == nil {
		t.Error("no error for UID ..")
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func write(t *testing.T, path, data string) {
	t.Helper()
	must(t, os.WriteFile(path, []byte(data), 0o600))
}

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	must(t, err)
	return string(data)
}

// tree lists the files two levels below dir.
func tree(t *testing.T, dir string) []string {
	t.Helper()
	found, err := filepath.Glob(dir + "/*/*")
	must(t, err)
	return found
}
