package csi

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	csipb "github.com/container-storage-interface/spec/lib/go/csi"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/mount-utils"

	"github.com/kubeloupe/kubeloupe/agent/kubeapi/fakeapi"
	"github.com/kubeloupe/kubeloupe/agent/volume"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/tracetest"
)

// healthDriver is a CSI driver that reports what a test sets, on a real socket.
type healthDriver struct {
	csipb.UnimplementedNodeServer
	mu      sync.Mutex
	caps    []csipb.NodeServiceCapability_RPC_Type
	volumes map[string]*csipb.VolumeHealth // by handle
	backend []*backendEntry
	fail    error
	hang    map[string]bool // the handles, and "" for the backend
	asked   []string
	usage   []*csipb.VolumeUsage
}

func (d *healthDriver) set(edit func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	edit()
}

func (d *healthDriver) questions() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	asked := d.asked
	d.asked = nil
	return asked
}

// wait records a question, and hangs or fails if the test says so.
func (d *healthDriver) wait(ctx context.Context, what, handle string) error {
	d.mu.Lock()
	d.asked = append(d.asked, what)
	hang, fail := d.hang[handle], d.fail
	d.mu.Unlock()
	if hang {
		<-ctx.Done()
		return ctx.Err()
	}
	return fail
}

func (d *healthDriver) NodeGetCapabilities(context.Context, *csipb.NodeGetCapabilitiesRequest) (*csipb.NodeGetCapabilitiesResponse, error) {
	resp := &csipb.NodeGetCapabilitiesResponse{}
	for _, c := range d.caps {
		resp.Capabilities = append(resp.Capabilities, &csipb.NodeServiceCapability{
			Type: &csipb.NodeServiceCapability_Rpc{Rpc: &csipb.NodeServiceCapability_RPC{Type: c}},
		})
	}
	return resp, nil
}

func (d *healthDriver) NodeGetVolumeHealth(ctx context.Context, r *csipb.NodeGetVolumeHealthRequest) (*csipb.NodeGetVolumeHealthResponse, error) {
	if err := d.wait(ctx, fmt.Sprintf("%s staged=%t published=%t", r.GetVolumeId(), r.GetStagingTargetPath() != "", r.GetVolumePublishPath() != ""), r.GetVolumeId()); err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return &csipb.NodeGetVolumeHealthResponse{VolumeHealth: d.volumes[r.GetVolumeId()]}, nil
}

func (d *healthDriver) NodeGetStorageHealth(ctx context.Context, _ *csipb.NodeGetStorageHealthRequest) (*csipb.NodeGetStorageHealthResponse, error) {
	if err := d.wait(ctx, "backend", ""); err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return &csipb.NodeGetStorageHealthResponse{BackendHealth: d.backend}, nil
}

// spoiling makes the text BADUTF8 in answers bytes that are not UTF-8, which a driver in C++ can send.
type spoiling struct{}

func (spoiling) Name() string { return "proto" }

func (spoiling) Marshal(v any) ([]byte, error) {
	m, _ := v.(proto.Message)
	out, err := proto.Marshal(m)
	return bytes.ReplaceAll(out, []byte("BADUTF8"), []byte("BAD\xff\xfe\xfd8")), err
}

func (spoiling) Unmarshal(data []byte, v any) error {
	m, _ := v.(proto.Message)
	return proto.Unmarshal(data, m)
}

// ward is a Health with drivers, and what it has set.
type ward struct {
	*Health
	t      *testing.T
	api    *fake.Clientset
	rec    *tracetest.Recorder
	uses   []volume.Use
	mu     sync.Mutex
	health map[string]string // by pod's UID and volume
	sets   int
}

func newWard(t *testing.T) *ward {
	node, obj := ownedCSINode()
	w := &ward{t: t, api: fake.NewClientset(node, obj), rec: tracetest.New(t), health: map[string]string{}}
	p, err := New(Config{RootDir: t.TempDir(), NodeName: "n", API: fakeapi.Of(w.api), Mounter: mount.NewFakeMounter(nil), Bus: w.rec.Bus()})
	if err != nil {
		t.Fatal(err)
	}
	w.Health, err = NewHealth(HealthConfig{
		Plugin: p, Uses: func(string) []volume.Use { return w.uses },
		Set: func(_ context.Context, uid types.UID, name string, list []v1.VolumeHealthCondition) {
			w.mu.Lock()
			defer w.mu.Unlock()
			var texts []string
			for _, c := range list {
				texts = append(texts, condition(string(c.Status), c.Reason, c.Message))
			}
			w.sets++
			w.health[string(uid)+"/"+name] = strings.Join(texts, "; ")
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// driver starts a driver with both capabilities.
func (w *ward) driver(name string) *healthDriver {
	w.t.Helper()
	d := &healthDriver{caps: []csipb.NodeServiceCapability_RPC_Type{canVolumeHealth, canStorageHealth}, volumes: map[string]*csipb.VolumeHealth{}, hang: map[string]bool{}}
	dir, err := os.MkdirTemp("", "csi") // t.TempDir is too long for a socket
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = os.RemoveAll(dir) })
	at := filepath.Join(dir, "s")
	listener, err := net.Listen("unix", at)
	if err != nil {
		w.t.Fatal(err)
	}
	server := grpc.NewServer(grpc.ForceServerCodec(spoiling{}))
	csipb.RegisterNodeServer(server, d)
	go func() { _ = server.Serve(listener) }()
	w.t.Cleanup(server.Stop)
	p := w.cfg.Plugin
	conn, err := p.dial(name, at, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = conn.conn.Close() })
	p.mu.Lock()
	defer p.mu.Unlock()
	p.drivers[name] = conn
	return d
}

// use adds a volume of a pod, by its name in the pod, and returns its place.
func (w *ward) use(driver, handle string, pod types.UID, names ...string) volume.Place {
	spec := csiPV(func(pv *v1.PersistentVolume) {
		pv.Name, pv.Spec.CSI.Driver, pv.Spec.CSI.VolumeHandle = "pv-"+handle, driver, handle
	})
	spec.Place = volume.Place{Dir: volume.Dir(w.cfg.Plugin.cfg.RootDir, pod, Name, "pv-"+handle), PodUID: pod, Name: "pv-" + handle}
	w.uses = append(w.uses, volume.Use{Pod: trace.Pod{Namespace: "shop", Name: string(pod), UID: string(pod)}, Names: names, Spec: spec})
	return spec.Place
}

// attempt writes the note that a mount was tried, and creates the directories where the volume is mounted.
func (w *ward) attempt(at volume.Place, driver, handle string, mounted bool) {
	w.t.Helper()
	if err := saveData(at.Dir, volData{Name: at.Name, Driver: driver, Handle: handle, Mode: persistentMode}); err != nil {
		w.t.Fatal(err)
	}
	if mounted {
		for _, dir := range []string{filepath.Join(at.Dir, target), w.cfg.Plugin.staging(driver, handle)} {
			if err := os.MkdirAll(dir, 0o750); err != nil {
				w.t.Fatal(err)
			}
		}
	}
}

// ask makes one round and waits until it is over.
func (w *ward) ask() {
	var under sync.WaitGroup
	w.round(w.t.Context(), &under)
	under.Wait()
}

func (w *ward) now(what string, want map[string]string) {
	w.t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	if diff := cmp.Diff(want, w.health); diff != "" {
		w.t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// decisions returns the decisions since the last call.
func (w *ward) decisions(from int) (out []string) {
	for _, r := range w.rec.OfKind("decision")[from:] {
		if d, ok := r.Event.(*trace.Decision); ok {
			out = append(out, strings.TrimSpace(fmt.Sprintf("%s %s %s %s (%s): %s", r.Pod.Name, d.By, d.Subject, d.Verdict, d.Volume, d.Reason)))
		}
	}
	return out
}

func TestVolumeHealth(t *testing.T) {
	w := newWard(t)
	d := w.driver("d")
	at := w.use("d", "h", "u", "data", "again")
	w.ask()
	if asked := d.questions(); cmp.Diff([]string{"backend"}, asked) != "" {
		t.Errorf("nothing was tried, and asked was %v", asked)
	}
	w.now("nothing was tried", map[string]string{})

	w.attempt(at, "d", "h", false)
	d.set(func() {
		d.volumes["h"] = healthOf(&entry{Status: csipb.VolumeHealthErrorType_INACCESSIBLE, Reason: "NoPath", Message: "all paths are down"})
	})
	w.ask()
	sick := map[string]string{"u/data": "Inaccessible (NoPath): all paths are down", "u/again": "Inaccessible (NoPath): all paths are down"}
	w.now("tried", sick)
	w.attempt(at, "d", "h", true)
	d.set(func() { d.volumes["h"].HealthStatuses[0].Message = "still" })
	w.ask()
	d.set(func() { d.fail = status.Error(codes.Internal, "no") })
	w.ask()
	sick["u/data"], sick["u/again"] = "Inaccessible (NoPath): still", "Inaccessible (NoPath): still"
	w.now("an error changes nothing", sick)
	d.set(func() { d.fail, d.volumes["h"] = nil, healthOf() })
	w.ask()
	w.now("healthy", map[string]string{"u/data": "", "u/again": ""})
	var ofVolume []string
	for _, q := range d.questions() {
		if q != "backend" {
			ofVolume = append(ofVolume, q)
		}
	}
	const mounted = "h staged=true published=true"
	if diff := cmp.Diff([]string{"h staged=false published=false", mounted, mounted, mounted}, ofVolume); diff != "" {
		t.Errorf("questions (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{
		"u volumes volume data, again unhealthy (pv-h): Inaccessible (NoPath): all paths are down",
		"u volumes volume data, again healthy (pv-h): its CSI driver reports no problem any more",
	}, w.decisions(0)); diff != "" {
		t.Errorf("decisions (-want +got):\n%s", diff)
	}
}

// A block volume is asked about with the paths of its device.
func TestBlockVolumeHealth(t *testing.T) {
	w := newWard(t)
	p := w.cfg.Plugin
	w.use("d", "h", "u", "disk")
	u := &w.uses[0]
	u.Spec.Block = true
	if req := p.healthRequest(u); req != nil {
		t.Errorf("nothing was tried: %v", req)
	}
	published := filepath.Join(p.blockPublish("pv-h"), "u")
	for _, dir := range []string{p.blockStaging("pv-h"), published} {
		if err := os.MkdirAll(dir, 0o750); err != nil {
			t.Fatal(err)
		}
	}
	if err := saveData(p.blockData("pv-h"), volData{Driver: "d", Handle: "h"}); err != nil {
		t.Fatal(err)
	}
	want := &csipb.NodeGetVolumeHealthRequest{VolumeId: "h", StagingTargetPath: p.blockStaging("pv-h"), VolumePublishPath: published}
	if got := p.healthRequest(u); !proto.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestDriversWithoutTheCapabilities(t *testing.T) {
	w := newWard(t)
	d := w.driver("d")
	d.caps = []csipb.NodeServiceCapability_RPC_Type{canStats}
	w.attempt(w.use("d", "h", "u", "data"), "d", "h", true)
	w.attempt(w.use("missing", "x", "u", "other"), "missing", "x", true)
	w.ask()
	if asked := d.questions(); len(asked) > 0 {
		t.Errorf("asked: %v", asked)
	}
	w.now("nobody says anything", map[string]string{})
}

// What a driver sends is limited, and what is not valid leaves the last conditions.
func TestHostileHealth(t *testing.T) {
	w := newWard(t)
	d := w.driver("d")
	w.attempt(w.use("d", "h", "u", "data"), "d", "h", true)
	d.set(func() {
		d.volumes["h"] = healthOf(degraded("Slow", "before"))
		d.backend = []*backendEntry{{Status: csipb.StorageHealthErrorType_STORAGE_DEGRADED, Reason: "Slow"}}
	})
	w.ask()
	backends := map[BackendHealth]bool{{"d", "StorageDegraded", "Slow"}: true}
	before := map[string]string{"u/data": "Degraded (Slow): before"}
	bad := degraded("Other", "BADUTF8")
	for _, c := range []struct {
		name    string
		volume  *csipb.VolumeHealth
		backend []*backendEntry
	}{
		{"not UTF-8", healthOf(bad), []*backendEntry{{Status: 1, Reason: "BADUTF8"}}},
		{"huge", healthOf(degraded("Other", strings.Repeat("x", 2*maxAnswer))), []*backendEntry{{Status: 1, Reason: strings.Repeat("x", 2*maxAnswer)}}},
	} {
		d.set(func() { d.volumes["h"], d.backend = c.volume, c.backend })
		w.ask()
		w.now(c.name, before)
		if diff := cmp.Diff(backends, w.Backends()); diff != "" {
			t.Errorf("%s: backends (-want +got):\n%s", c.name, diff)
		}
	}
	var entries []*entry
	var many []*backendEntry
	for i := range maxConditions + 1 {
		entries = append(entries, degraded(fmt.Sprint("R", i), strings.Repeat("x", 2*maxMessage)))
		many = append(many, &backendEntry{Status: 1, Reason: fmt.Sprint("R", i)})
	}
	d.set(func() { d.volumes["h"], d.backend = healthOf(entries...), many })
	w.ask()
	if got := w.health["u/data"]; strings.Count(got, "Degraded") != maxConditions || len(got) > maxMessages+maxConditions*32 {
		t.Errorf("%d conditions in %d bytes", strings.Count(got, "Degraded"), len(got))
	}
	if diff := cmp.Diff(backends, w.Backends()); diff != "" {
		t.Errorf("17 conditions: backends (-want +got):\n%s", diff)
	}
	w.ask()
	logs := w.rec.OfKind("log")
	if len(logs) != 1 || !strings.Contains(fmt.Sprint(logs[0].Event), "NodeGetStorageHealth returned 17 conditions, maximum is 16") {
		t.Errorf("the same error is published once: %v", logs)
	}
}

func (w *ward) stored() []storagev1.StorageHealth {
	w.t.Helper()
	obj, err := w.api.StorageV1().CSINodes().Get(w.t.Context(), "n", metav1.GetOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	return obj.Status.StorageHealth
}

func TestStorageHealth(t *testing.T) {
	w := newWard(t)
	d := w.driver("d")
	w.ask()
	w.api.ClearActions()
	w.ask()
	if a := w.api.Actions(); len(a) > 0 {
		t.Errorf("a backend that stays healthy needs no requests: %v", a)
	}
	d.set(func() {
		d.backend = []*backendEntry{
			{Status: csipb.StorageHealthErrorType_STORAGE_UNREACHABLE, Reason: "NoPath", Message: "m"},
			{Status: csipb.StorageHealthErrorType_STORAGE_UNREACHABLE, Reason: "NoPath", VolumeCapability: mounts(csipb.VolumeCapability_AccessMode_MULTI_NODE_MULTI_WRITER)},
		}
	})
	w.ask()
	w.ask()
	if all := w.stored(); len(all) != 1 || all[0].Name != "d" || len(all[0].HealthConditions) != 2 || all[0].HealthConditions[0].LastTransitionTime.IsZero() {
		t.Errorf("stored: %+v", all)
	}
	if diff := cmp.Diff(map[BackendHealth]bool{{"d", "StorageUnreachable", "NoPath"}: true}, w.Backends()); diff != "" {
		t.Errorf("backends (-want +got):\n%s", diff)
	}
	d.set(func() { d.backend = nil })
	w.ask()
	if all := w.stored(); len(all) != 0 || len(w.Backends()) != 0 {
		t.Errorf("healthy, and stored is %+v, backends %v", all, w.Backends())
	}
	if diff := cmp.Diff([]string{
		"volumes storage backend of d unhealthy (): StorageUnreachable (NoPath): m; StorageUnreachable (NoPath)",
		"volumes storage backend of d healthy (): its CSI driver reports no problem any more",
	}, w.decisions(0)); diff != "" {
		t.Errorf("decisions (-want +got):\n%s", diff)
	}
}

// A driver that hangs, or one volume of it, delays no other driver, and no other volume; and Run ends at once.
func TestHangingHealth(t *testing.T) {
	w := newWard(t)
	bad, good := w.driver("bad"), w.driver("good")
	w.attempt(w.use("bad", "stuck", "u", "stuck"), "bad", "stuck", true)
	w.attempt(w.use("bad", "fine", "u", "fine"), "bad", "fine", true)
	w.attempt(w.use("good", "h", "u", "data"), "good", "h", true)
	bad.set(func() {
		bad.hang["stuck"], bad.hang[""] = true, true
		bad.volumes["fine"] = healthOf(degraded("Slow", ""))
	})
	good.set(func() { good.volumes["h"] = healthOf(degraded("Slow", "")) })
	w.Health.cfg.Period = 20 * time.Millisecond
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- w.Run(ctx) }()
	rounds := 0
	known := func() int {
		w.mu.Lock()
		defer w.mu.Unlock()
		return len(w.health)
	}
	for deadline := time.Now().Add(20 * time.Second); (rounds < 3 || known() < 2) && time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		rounds += strings.Count(strings.Join(good.questions(), " "), "backend")
	}
	if rounds < 3 {
		t.Errorf("the good driver was asked %d times while the other hung", rounds)
	}
	w.now("while one hangs", map[string]string{"u/fine": "Degraded (Slow)", "u/data": "Degraded (Slow)"})
	if asked := bad.questions(); len(asked) != 3 {
		t.Errorf("the driver that hangs was asked again: %v", asked)
	}
	cancel()
	select {
	case err := <-done:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(20 * time.Second):
		t.Error("Run does not end")
	}
}

// mute is a driver that answers nothing.
type mute struct {
	csipb.NodeClient
	calls atomic.Int32
}

func (m *mute) NodeGetCapabilities(ctx context.Context, _ *csipb.NodeGetCapabilitiesRequest, _ ...grpc.CallOption) (*csipb.NodeGetCapabilitiesResponse, error) {
	m.calls.Add(1)
	<-ctx.Done()
	return nil, ctx.Err()
}

// A driver has two minutes, is asked again in the next round after that, and nobody else waits for the answer.
func TestHealthDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWard(t)
		m := &mute{}
		d := &driver{name: "d", node: m}
		w.cfg.Plugin.drivers["d"] = d
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		began := time.Now()
		go func() { done <- w.Run(ctx) }()
		time.Sleep(time.Second)
		short, end := context.WithTimeout(ctx, time.Second)
		defer end()
		if _, err := d.can(short, canStage); err == nil || time.Since(began) != 2*time.Second {
			t.Errorf("a pod's start: %v after %v", err, time.Since(began))
		}
		calls := m.calls.Load()
		time.Sleep(timeout - 3*time.Second)
		if m.calls.Load() != calls {
			t.Errorf("asked again before the deadline: %d calls", m.calls.Load())
		}
		time.Sleep(defaultHealthPeriod + 2*time.Second)
		if m.calls.Load() != calls+1 {
			t.Errorf("%d calls after the deadline, want one more than %d", m.calls.Load(), calls)
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// What is remembered of volumes goes with the pods.
func TestHealthForgets(t *testing.T) {
	w := newWard(t)
	d := w.driver("d")
	w.attempt(w.use("d", "h", "u", "data"), "d", "h", true)
	d.set(func() { d.volumes["h"] = healthOf(degraded("Slow", "")) })
	w.ask()
	if len(w.ill) != 1 {
		t.Errorf("remembered: %v", w.ill)
	}
	w.uses = nil
	w.ask()
	if len(w.ill) != 0 || len(w.asking) != 0 {
		t.Errorf("remembered: %v, asked now: %v", w.ill, w.asking)
	}
	for i := range 3 * maxBackends {
		w.backends[fmt.Sprint("gone-", i)] = backend{}
	}
	w.ask()
	if len(w.backends) != 1 {
		t.Errorf("%d backends are remembered", len(w.backends))
	}
}

func TestHealthConfig(t *testing.T) {
	if _, err := NewHealth(HealthConfig{}); err == nil || !strings.Contains(err.Error(), "HealthConfig needs") {
		t.Errorf("error %v", err)
	}
	w := newWard(t)
	if w.cfg.Period != time.Minute {
		t.Errorf("period %v", w.cfg.Period)
	}
}
