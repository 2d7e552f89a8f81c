package causes_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"

	"github.com/kubeloupe/kubeloupe/agent/criconfig"
	"github.com/kubeloupe/kubeloupe/agent/kubeclient"
	"github.com/kubeloupe/kubeloupe/agent/objcache"
	"github.com/kubeloupe/kubeloupe/agent/podspec"
	"github.com/kubeloupe/kubeloupe/agent/volume"
	"github.com/kubeloupe/kubeloupe/agent/volume/fsgroup"
	"github.com/kubeloupe/kubeloupe/agent/volume/keyfiles"
	"github.com/kubeloupe/kubeloupe/agent/volume/memdir"
	"github.com/kubeloupe/kubeloupe/inspect/session"
	"github.com/kubeloupe/kubeloupe/trace"
)

// slowDisk is storage that takes its time. With a source of files, it gives those to the pod's group.
type slowDisk struct {
	volume.Plugin
	bus   *trace.Bus
	files string
}

func (slowDisk) Name() string                                 { return "test/disk" }
func (slowDisk) CanSupport(v *v1.Volume) bool                 { return v.EmptyDir != nil }
func (slowDisk) Version(volume.Spec) (string, error)          { return "", nil }
func (slowDisk) TearDown(context.Context, volume.Place) error { return nil }

func (d slowDisk) SetUp(ctx context.Context, s volume.Spec) (criconfig.Volume, error) {
	if d.files != "" {
		return criconfig.Volume{HostPath: d.files}, fsgroup.Change{Dir: d.files, Pod: s.Pod, Bus: d.bus}.Apply(ctx)
	}
	time.Sleep(300 * time.Millisecond) // a disk does
	return criconfig.Volume{HostPath: s.Dir}, nil
}

// mounting is a node of which only the volumes are real, and their API server. A pod's other steps are told by hand.
type mounting struct {
	*node
	bus     *trace.Bus
	objects *objcache.Objects
	volumes *volume.Manager
}

func newMounting(t *testing.T, qps int32, answer http.HandlerFunc, files string) *mounting {
	t.Helper()
	bus := trace.NewBus(1 << 12)
	m := &mounting{bus: bus, node: &node{t: t, bus: bus, cursor: bus.Subscribe(trace.FromOldest), fold: session.New(session.Options{})}}
	api := httptest.NewServer(answer)
	t.Cleanup(api.Close)
	clients, err := kubeclient.New(kubeclient.Config{REST: &rest.Config{Host: api.URL}, ContentType: "application/json", QPS: qps, Burst: 1, Bus: bus})
	if err != nil {
		t.Fatal(err)
	}
	if m.objects, err = objcache.New(objcache.Config{Client: clients.Main, Bus: bus, Strategy: objcache.Cache}); err != nil {
		t.Fatal(err)
	}
	maps, err := keyfiles.New(keyfiles.Config{Kind: keyfiles.ConfigMap, Memory: memdir.Plain(), Objects: m.objects})
	if err != nil {
		t.Fatal(err)
	}
	if m.volumes, err = volume.New(volume.Config{RootDir: t.TempDir(), Plugins: []volume.Plugin{maps, slowDisk{bus: bus, files: files}}, Bus: bus}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{}, 2)
	go func() { _ = m.objects.Run(ctx); done <- struct{}{} }()
	go func() { _ = m.volumes.Run(ctx); done <- struct{}{} }()
	t.Cleanup(func() { cancel(); <-done; <-done; m.cursor.Close() })
	return m
}

// start mounts a pod's volumes between being seen and being ready.
func (m *mounting) start(p *v1.Pod) {
	m.t.Helper()
	root := trace.ForPod(trace.Span{}, podspec.Ref(p))
	trace.Point(m.bus, root, trace.Milestone{Name: trace.MilestoneSeen, Source: trace.SourceFile})
	sync := trace.Begin(m.bus, root, trace.Sync{Why: trace.SyncCreate, N: 1})
	trace.Point(m.bus, sync, trace.Plan{Steps: []trace.PlanStep{{ID: "volumes", Verb: trace.VerbVolumes}, {ID: "start app", Verb: trace.VerbStart, Needs: []string{"volumes"}}}})
	m.objects.Register(p)
	step := trace.Begin(m.bus, sync, trace.Action{ID: "volumes", Verb: trace.VerbVolumes})
	_, err := m.volumes.Mount(trace.ContextWith(context.Background(), step), p)
	if err != nil {
		m.t.Fatal(err)
	}
	trace.End(m.bus, step, trace.Action{ID: "volumes", Verb: trace.VerbVolumes})
	begun := trace.Begin(m.bus, sync, trace.Action{ID: "start app", Verb: trace.VerbStart, Container: "app"})
	trace.End(m.bus, begun, trace.Action{ID: "start app", Verb: trace.VerbStart, Container: "app"})
	trace.Point(m.bus, sync, trace.Milestone{Name: trace.MilestoneStarted})
	trace.Point(m.bus, sync, trace.Milestone{Name: trace.MilestoneReady})
	trace.End(m.bus, sync, trace.Sync{Why: trace.SyncCreate, N: 1})
	m.reached(p.Name, "ready")
}

// shows is a pod that mounts config maps.
func shows(name string, maps ...string) *v1.Pod {
	p := podOf(name)
	for _, cm := range maps {
		p.Spec.Volumes = append(p.Spec.Volumes, v1.Volume{Name: cm, VolumeSource: v1.VolumeSource{
			ConfigMap: &v1.ConfigMapVolumeSource{LocalObjectReference: v1.LocalObjectReference{Name: cm}, DefaultMode: new(int32(0o644))},
		}})
		p.Spec.Containers[0].VolumeMounts = append(p.Spec.Containers[0].VolumeMounts, v1.VolumeMount{Name: cm, MountPath: "/" + cm})
	}
	return p
}

// configMap answers with the map that is asked for.
func configMap(delay time.Duration) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		name := r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:]
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Query().Has("watch") {
			<-r.Context().Done() // nothing changes
			return
		}
		if !strings.Contains(r.URL.Path, "/configmaps/") {
			_, _ = w.Write([]byte(`{"kind":"ServiceList","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[]}`))
			return
		}
		time.Sleep(delay) // a server that is far away
		_, _ = w.Write([]byte(`{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"` + name + `","namespace":"default","uid":"u","resourceVersion":"1"},"data":{"a":"b"}}`))
	}
}

// stores is a pod that has a volume of storage.
func stores(name string) *v1.Pod {
	p := podOf(name)
	p.Spec.Volumes = []v1.Volume{{Name: "data", VolumeSource: v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}}}}
	p.Spec.Containers[0].VolumeMounts = []v1.VolumeMount{{Name: "data", MountPath: "/data"}}
	return p
}

func TestObjectComesLate(t *testing.T) {
	t.Parallel()
	m := newMounting(t, -1, configMap(300*time.Millisecond), "")
	m.start(shows("web", "settings"))
	m.speaks("web", "KL11", "for configmap default/settings")
	m.silent("web", "KL10", "KL12")
}

func TestClientIsThrottled(t *testing.T) {
	t.Parallel()
	m := newMounting(t, 2, configMap(0), "")
	m.start(shows("web", "one", "two"))
	m.speaks("web", "KL12", "its requests to the API server waited")
	m.silent("web", "KL10")
	m.claimsLess("web", "KL11", 250*time.Millisecond) // the second request waits for 500 ms
}

// TestServerShedsLoad: the API server answers one request of a pod with 429.
func TestServerShedsLoad(t *testing.T) {
	t.Parallel()
	var refused atomic.Bool
	answer := configMap(0)
	m := newMounting(t, -1, func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.Path, "/configmaps") && refused.CompareAndSwap(false, true) {
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(http.StatusTooManyRequests)
			return
		}
		answer(w, r)
	}, "")
	m.start(shows("web", "settings"))
	if f := m.speaks("web", "KL12", "the API server asked the client to retry later, and that took "); f.Cost < 900*time.Millisecond {
		t.Errorf("%+v", f)
	}
	m.silent("web", "KL10")
	m.claimsLess("web", "KL11", 500*time.Millisecond)
}

func TestStorageTakesItsTime(t *testing.T) {
	t.Parallel()
	m := newMounting(t, -1, configMap(0), "")
	m.start(stores("web"))
	m.speaks("web", "KL10", "the set-up of volume data (test/disk)")
	m.silent("web", "KL09", "KL11", "KL12")
}

// TestManyFilesChangeHands: files enough that it takes more than a second, when it is told. Links to one file do as well.
func TestManyFilesChangeHands(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("a file's group is root's to give")
	}
	t.Parallel()
	dir := t.TempDir()
	for i := range 5 {
		file := filepath.Join(dir, fmt.Sprint(i))
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		for j := range 30_000 { // some file systems allow no more links than twice that
			if err := os.Link(file, fmt.Sprintf("%s.%d", file, j)); err != nil {
				t.Fatal(err)
			}
		}
	}
	m := newMounting(t, -1, configMap(0), dir)
	p := stores("web")
	p.Spec.SecurityContext = &v1.PodSecurityContext{FSGroup: new(int64(4321))}
	m.start(p)
	for _, r := range m.recs { // the set-up does nothing else
		if v, ok := r.Event.(*trace.Volume); ok && r.Edge == trace.EdgeEnd && v.Op == "setup" && r.Dur < 1200*time.Millisecond {
			t.Skipf("150,000 files took %v here: too little to be told of", r.Dur)
		}
	}
	m.speaks("web", "KL09", "changing the group of the files of volume data to the pod's fsGroup")
}
