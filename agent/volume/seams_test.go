package volume

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeloupe/kubeloupe/agent/criconfig"
	"github.com/kubeloupe/kubeloupe/agent/events"
	"github.com/kubeloupe/kubeloupe/trace"
)

// attachPlugin has attachable persistent volumes and counts the calls of SetUp.
type attachPlugin struct {
	mu      sync.Mutex
	setUps  int
	fail    error
	refresh time.Duration
	expands int
}

func (p *attachPlugin) Expand(context.Context, Spec, resource.Quantity) (bool, error) {
	p.expands++
	return true, nil
}

func (*attachPlugin) Name() string                              { return "test/attach" }
func (*attachPlugin) CanSupport(*v1.Volume) bool                { return false }
func (*attachPlugin) CanSupportPV(pv *v1.PersistentVolume) bool { return pv.Spec.CSI != nil }
func (*attachPlugin) Version(Spec) (string, error)              { return "1", nil }
func (*attachPlugin) TearDown(context.Context, Place) error     { return nil }
func (*attachPlugin) FoundName(Place) v1.UniqueVolumeName       { return "" }

func (*attachPlugin) AttachName(_ context.Context, s Spec) (v1.UniqueVolumeName, error) {
	return v1.UniqueVolumeName("test/" + s.PV.Name), nil
}

func (p *attachPlugin) SetUp(_ context.Context, s Spec) (criconfig.Volume, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.setUps++
	return criconfig.Volume{HostPath: s.Dir}, p.fail
}

func (p *attachPlugin) RefreshAt(Spec) time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.refresh == 0 {
		return time.Time{}
	}
	return time.Now().Add(p.refresh)
}

func (p *attachPlugin) count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.setUps
}

func (p *attachPlugin) failing(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fail = err
}

// oneClaim resolves every claim to one volume, or fails a set number of times.
type oneClaim struct {
	pv    *v1.PersistentVolume
	fails int
	mu    sync.Mutex
	size  string // of the file system; as large as the volume if empty
	modes []v1.PersistentVolumeAccessMode
	grown []string
}

func (c *oneClaim) pvc() *v1.PersistentVolumeClaim {
	out := &v1.PersistentVolumeClaim{Spec: v1.PersistentVolumeClaimSpec{AccessModes: c.modes}}
	if c.size != "" {
		out.Status.Capacity = v1.ResourceList{v1.ResourceStorage: resource.MustParse(c.size)}
		if want := c.pv.Spec.Capacity[v1.ResourceStorage]; want.String() != c.size {
			out.Status.AllocatedResourceStatuses = map[v1.ResourceName]v1.ClaimResourceStatus{v1.ResourceStorage: v1.PersistentVolumeClaimNodeResizePending}
		}
	}
	return out
}

func (c *oneClaim) Resolve(context.Context, *v1.Pod, *v1.Volume) (*v1.PersistentVolumeClaim, *v1.PersistentVolume, error) {
	if c.fails > 0 {
		c.fails--
		return nil, nil, errors.New("error processing PVC ns/data: PVC is not bound")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.pvc(), c.pv, nil
}

func (c *oneClaim) Grow(ctx context.Context, _ *v1.Pod, _ *v1.PersistentVolumeClaim, pv *v1.PersistentVolume, do GrowFunc) (*v1.PersistentVolumeClaim, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, err := do(ctx, pv.Spec.Capacity[v1.ResourceStorage])
	c.size = pv.Spec.Capacity.Storage().String()
	c.grown = append(c.grown, c.size)
	return c.pvc(), err
}

type toldEvents struct {
	events.Publisher
	objects bool // names the object of each Event
	mu      sync.Mutex
	all     []string
}

func (e *toldEvents) Pod(_ context.Context, _ *v1.Pod, _, _, reason, message string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.objects {
		reason = "pod " + reason
	}
	e.all = append(e.all, reason+": "+message)
}

func (e *toldEvents) About(_ context.Context, _ *v1.Pod, o v1.ObjectReference, _, reason, message string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.all = append(e.all, o.Kind+" "+o.Namespace+"/"+o.Name+" "+reason+": "+message)
}

func (e *toldEvents) take() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	out := e.all
	e.all = nil
	return out
}

func testPV() *v1.PersistentVolume {
	return &v1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "pv"}, Spec: v1.PersistentVolumeSpec{
		PersistentVolumeSource: v1.PersistentVolumeSource{CSI: &v1.CSIPersistentVolumeSource{}},
	}}
}

func claimPod(uid string, names ...string) *v1.Pod {
	p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: uid, UID: types.UID(uid)}}
	p.Spec.Containers = []v1.Container{{Name: "c"}}
	for _, n := range names {
		p.Spec.Volumes = append(p.Spec.Volumes, v1.Volume{Name: n, VolumeSource: v1.VolumeSource{
			PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: "data"},
		}})
		p.Spec.Containers[0].VolumeMounts = append(p.Spec.Containers[0].VolumeMounts, v1.VolumeMount{Name: n, MountPath: "/" + n})
	}
	return p
}

// running is a manager that runs until the test ends.
func running(t *testing.T, cfg Config) *Manager {
	t.Helper()
	cfg.RootDir = t.TempDir()
	m, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := m.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() { cancel(); wg.Wait() })
	return m
}

func TestVolumeIsReportedInUseFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &attachPlugin{}
		changed := make(chan struct{}, 10)
		m := running(t, Config{Plugins: []Plugin{p}, Claims: &oneClaim{pv: testPV()}, InUseChanged: func() { changed <- struct{}{} }})
		m.MarkInUse(nil)
		done := make(chan error, 1)
		var got map[string]criconfig.Volume
		go func() {
			var err error
			got, err = m.Mount(t.Context(), claimPod("u", "a", "b"))
			done <- err
		}()
		synctest.Wait()
		if p.count() != 0 || len(changed) != 1 {
			t.Errorf("%d set-ups and %d notices before the node's status says so", p.count(), len(changed))
		}
		in := m.InUse()
		if !slices.Equal(in, []v1.UniqueVolumeName{"test/pv"}) {
			t.Errorf("in use: %v", in)
		}
		m.MarkInUse(in)
		if err := <-done; err != nil || p.count() != 1 || got["a"].HostPath == "" || got["a"] != got["b"] {
			t.Errorf("%v, %d set-ups, error %v", got, p.count(), err)
		}
		if err := m.Unmount(t.Context(), trace.Pod{UID: "u"}); err != nil || len(m.InUse()) != 0 {
			t.Errorf("in use: %v, error %v", m.InUse(), err)
		}
	})
}

func TestClaimThatIsNotBoundYet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, events, claims := &attachPlugin{}, &toldEvents{}, &oneClaim{pv: testPV(), fails: 2}
		m := running(t, Config{Plugins: []Plugin{p}, Claims: claims, Events: events})
		if _, err := m.Mount(t.Context(), claimPod("u", "data")); err != nil {
			t.Errorf("two failures were not sat out: %v", err)
		}
		claims.fails = 10
		_, err := m.Mount(t.Context(), claimPod("v", "data"))
		want := "unmounted volumes=[data], unattached volumes=[], failed to process volumes=[data]: error processing PVC ns/data: PVC is not bound"
		if err == nil || err.Error() != want {
			t.Errorf("error %v, want %s", err, want)
		}
		if got := events.take(); !slices.Equal(got, []string{"FailedMount: Unable to attach or mount volumes: " + want}) {
			t.Errorf("events %q", got)
		}
		// A resolved claim is not read again.
		if _, err := m.Mount(t.Context(), claimPod("u", "data")); err != nil {
			t.Error(err)
		}
		if err := m.Check(claimPod("x", "data")); err != nil {
			t.Error(err)
		}
	})
}

// A driver may require later that its volumes are set up again, also of one that is being set up.
func TestReschedule(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, notices := &attachPlugin{}, NewNotices()
		m := running(t, Config{Plugins: []Plugin{p}, Claims: &oneClaim{pv: testPV()}, Notices: notices})
		if _, err := m.Mount(t.Context(), claimPod("u", "data")); err != nil {
			t.Fatal(err)
		}
		set := func(d time.Duration) {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.refresh = d
		}
		want := func(when string, n int) {
			t.Helper()
			synctest.Wait()
			if p.count() != n {
				t.Errorf("%s: %d setups, want %d", when, p.count(), n)
			}
		}
		notices.Reschedule(p.Name())
		time.Sleep(time.Hour)
		want("nothing is required", 1)
		set(time.Minute)
		notices.Reschedule("test/other")
		time.Sleep(time.Hour)
		want("another plugin", 1)
		notices.Reschedule(p.Name())
		want("at once", 1)
		time.Sleep(time.Minute)
		want("a minute later", 2)
		time.Sleep(time.Minute)
		want("two minutes later", 3)
		set(0)
		time.Sleep(time.Hour)
		want("not any more", 4)

		set(time.Minute)
		m.mu.Lock()
		for _, s := range m.states {
			s.busy = true
		}
		m.mu.Unlock()
		m.Reschedule(p.Name())
		m.mu.Lock()
		defer m.mu.Unlock()
		for _, s := range m.states {
			if !s.stale || !s.refreshAt.IsZero() {
				t.Errorf("being set up: stale %v, again at %v", s.stale, s.refreshAt)
			}
			s.busy = false
		}
	})
}

func TestRefresh(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, events := &attachPlugin{refresh: time.Minute}, &toldEvents{}
		settled := 0
		m := running(t, Config{Plugins: []Plugin{p}, Claims: &oneClaim{pv: testPV()}, Events: events, Settled: func(types.UID) { settled++ }})
		p.failing(errors.New("no"))
		obj := claimPod("u", "data")
		if _, err := m.Mount(t.Context(), obj); err == nil {
			t.Error("no error")
		}
		if got := events.take(); !slices.Equal(got, []string{`FailedMount: MountVolume.SetUp failed for volume "pv" : no`}) {
			t.Errorf("events %q", got)
		}
		p.failing(nil)
		time.Sleep(time.Second)
		synctest.Wait()
		if p.count() != 2 || settled != 1 {
			t.Errorf("%d set-ups, settled %d times", p.count(), settled)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if p.count() != 3 {
			t.Errorf("%d set-ups after a minute", p.count())
		}
		m.Refresh("u", "other")
		synctest.Wait()
		if p.count() != 3 {
			t.Error("another volume was refreshed")
		}
		// A failed refresh does not affect the pod's volume, and is retried.
		p.failing(errors.New("gone"))
		m.Refresh("u", "data")
		synctest.Wait()
		if _, err := m.Mount(t.Context(), obj); err != nil {
			t.Errorf("a failed refresh takes the volume away: %v", err)
		}
		time.Sleep(500 * time.Millisecond)
		synctest.Wait()
		if p.count() != 5 {
			t.Errorf("%d set-ups, want another try", p.count())
		}
		// After a long time without its volume, an event names it.
		_ = m.Unmount(t.Context(), trace.Pod{UID: "u"})
		events.take()
		_, _ = m.Mount(t.Context(), obj)
		time.Sleep(3 * time.Minute)
		_, _ = m.Mount(t.Context(), obj)
		if got := events.take(); !slices.ContainsFunc(got, func(s string) bool {
			return strings.HasPrefix(s, "FailedMount: Unable to attach or mount volumes: unmounted volumes=[data], unattached volumes=[data], failed to process volumes=[]: ")
		}) {
			t.Errorf("events %q", got)
		}
	})
}

// A pod is rejected if the node can have no more volumes of a kind for as long as a pod may lack volumes.
func TestNodeHasTooManyVolumes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, events := &attachPlugin{}, &toldEvents{}
		m := running(t, Config{Plugins: []Plugin{p}, Claims: &oneClaim{pv: testPV()}, Events: events})
		p.failing(&StageError{Stage: "MountVolume.WaitForAttach", Err: &LimitError{errors.New("too many")}})
		began := time.Now()
		for {
			_, err := m.Mount(t.Context(), claimPod("u", "data"))
			if err == nil {
				t.Fatal("no error")
			}
			rejected, ok := errors.AsType[interface {
				error
				Rejection() string
			}](err)
			if took := time.Since(began); ok != (took >= patience) || took > 2*patience {
				t.Fatalf("after %v: %v", took, err)
			}
			if !ok {
				continue
			}
			want := "Node has reached its volume attachment limit, rejecting pod. unmounted volumes=[data], unattached volumes=[data], " +
				`failed to process volumes=[]: setup of volume "pv" (test/attach) failed: MountVolume.WaitForAttach failed: too many`
			if rejected.Rejection() != "VolumeAttachmentLimitExceeded" || rejected.Error() != want {
				t.Errorf("%s: %v", rejected.Rejection(), rejected)
			}
			break
		}
		for _, e := range events.take() {
			if e != `FailedMount: MountVolume.WaitForAttach failed for volume "pv" : too many` {
				t.Errorf("event %s", e)
			}
		}
		p.failing(nil)
		if _, err := m.Mount(t.Context(), claimPod("u", "data")); err != nil {
			t.Error(err)
		}
	})
}

func TestMountedVolumeGrows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		small, large := testPV(), testPV()
		small.Spec.Capacity = v1.ResourceList{v1.ResourceStorage: resource.MustParse("1Gi")}
		large.Spec.Capacity = v1.ResourceList{v1.ResourceStorage: resource.MustParse("2Gi")}
		p, claims := &attachPlugin{}, &oneClaim{pv: small, size: "1Gi"}
		m := running(t, Config{Plugins: []Plugin{p}, Claims: claims})
		if _, err := m.Mount(t.Context(), claimPod("u", "data")); err != nil {
			t.Fatal(err)
		}
		claims.mu.Lock()
		claims.pv = large
		claims.mu.Unlock()
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		if !slices.Equal(claims.grown, []string{"2Gi"}) || p.count() != 1 || p.expands != 1 {
			t.Errorf("grown %v, %d calls, %d set-ups", claims.grown, p.expands, p.count())
		}
	})
}

func TestWhoMayMount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pv := testPV()
		pv.Spec.AccessModes = []v1.PersistentVolumeAccessMode{v1.ReadWriteOncePod}
		pv.Spec.NodeAffinity = &v1.VolumeNodeAffinity{Required: &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{
			{MatchExpressions: []v1.NodeSelectorRequirement{{Key: "zone", Operator: v1.NodeSelectorOpIn, Values: []string{"a"}}}},
		}}}
		pv.Annotations = map[string]string{volumeGID: "1234"}
		zone := "b"
		m := running(t, Config{Plugins: []Plugin{&attachPlugin{}}, Claims: &oneClaim{pv: pv}, NodeLabels: func() map[string]string {
			return map[string]string{"zone": zone}
		}})
		wants := func(uid, want string) {
			t.Helper()
			if _, err := m.Mount(t.Context(), claimPod(uid, "data")); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("error %v, want %q in it", err, want)
			}
		}
		wants("u", "MountVolume.NodeAffinity check failed: no matching NodeSelectorTerms")
		zone = "a"
		mounted, err := m.Mount(t.Context(), claimPod("u", "data"))
		if got := mounted["data"].Name; err != nil || got != "pv" {
			t.Errorf("volume data is named %q on the node (%v), want pv", got, err)
		}
		wants("v", "volume uses the ReadWriteOncePod access mode and is already in use by another pod")
		if got := m.ExtraGroups(claimPod("u", "data")); !slices.Equal(got, []int64{1234}) {
			t.Errorf("groups %v", got)
		}
	})
	// In-tree types are named in the error, and claims without an API server too.
	m, err := New(Config{RootDir: t.TempDir(), Plugins: []Plugin{&attachPlugin{}}, Claims: &oneClaim{pv: &v1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: "old"},
		Spec:       v1.PersistentVolumeSpec{PersistentVolumeSource: v1.PersistentVolumeSource{AWSElasticBlockStore: &v1.AWSElasticBlockStoreVolumeSource{}}},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Mount(t.Context(), claimPod("u", "data")); err == nil || !strings.Contains(err.Error(), `volume "data" (persistent volume "old") is of type awsElasticBlockStore, which this build does not support yet: use CSI`) {
		t.Errorf("error %v", err)
	}
	m, err = New(Config{RootDir: t.TempDir(), Plugins: []Plugin{&attachPlugin{}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Check(claimPod("u", "data")); err == nil || !strings.Contains(err.Error(), "persistent volume claims need an API server") {
		t.Errorf("error %v", err)
	}
}
