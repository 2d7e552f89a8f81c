package volume

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeloupe/kubeloupe/agent/criconfig"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/say"
	"github.com/kubeloupe/kubeloupe/trace/tracetest"
)

// labelPlugin has volumes that pods share and that are mounted with a label. It fails the test if one is mounted with two.
type labelPlugin struct {
	attachPlugin
	incapable bool

	mu      sync.Mutex
	mounted map[types.UID]string
	found   map[types.UID]string
	adopted []string
	hold    chan struct{} // if not nil, a TearDown ends when it is closed
}

func newLabelPlugin() *labelPlugin { return &labelPlugin{mounted: map[types.UID]string{}} }

func (p *labelPlugin) MountsWithLabel(context.Context, Spec) (bool, error) { return !p.incapable, nil }

func (*labelPlugin) SharedName(s Spec) string { return "d^" + s.PV.Name }

func (p *labelPlugin) FoundLabel(at Place) (shared, label string) {
	label, ok := p.found[at.PodUID]
	if !ok {
		return "", ""
	}
	return "d^" + at.Name, label
}

func (p *labelPlugin) SetUp(_ context.Context, s Spec) (criconfig.Volume, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if s.Adopt {
		p.adopted = append(p.adopted, s.SELinuxLabel)
	}
	for uid, label := range p.mounted {
		if label != s.SELinuxLabel {
			panic(fmt.Sprintf("mounted with %q for %s and with %q for %s", label, uid, s.SELinuxLabel, s.PodUID))
		}
	}
	p.mounted[s.PodUID] = s.SELinuxLabel
	return criconfig.Volume{HostPath: s.Dir}, nil
}

func (p *labelPlugin) TearDown(_ context.Context, at Place) error {
	if p.hold != nil {
		<-p.hold
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.mounted, at.PodUID)
	return nil
}

func (p *labelPlugin) label(uid types.UID) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if l, ok := p.mounted[uid]; ok {
		return "=" + l
	}
	return "none"
}

func byLevel(o *v1.SELinuxOptions) (string, error) { return "file:" + o.Level, nil }

func levelPod(uid, level string) *v1.Pod {
	p := claimPod(uid, "data")
	p.Spec.SecurityContext = &v1.PodSecurityContext{SELinuxOptions: &v1.SELinuxOptions{Level: level}}
	return p
}

func recursive(p *v1.Pod) *v1.Pod {
	p.Spec.SecurityContext.SELinuxChangePolicy = new(v1.SELinuxChangePolicyRecursive)
	return p
}

func countsOf(m *Manager) map[string]int {
	out := map[string]int{}
	for c, n := range m.Counts().SELinux {
		name := strings.TrimSuffix(strings.TrimPrefix(string(c.Metric), "volume_manager_selinux_"), "_total")
		out[strings.Join([]string{name, c.Plugin, c.Mode}, " ")] = n
	}
	return out
}

// waitsOf lists the waits for labels.
func waitsOf(rec *tracetest.Recorder) (out []string) {
	for _, r := range rec.OfKind("pod.wait") {
		if e, ok := r.Event.(*trace.Wait); ok && e.For == trace.WaitLabel {
			out = append(out, fmt.Sprintf("%s %s %s: %s", r.Pod.Name, r.Edge, say.Waits(e), say.Detail(e, r.Start())))
		}
	}
	return out
}

type mounting struct {
	volumes map[string]criconfig.Volume
	err     error
}

func mountLater(t *testing.T, m *Manager, obj *v1.Pod) <-chan mounting {
	out := make(chan mounting, 1)
	go func() {
		v, err := m.Mount(t.Context(), obj)
		out <- mounting{v, err}
	}()
	synctest.Wait()
	return out
}

// A pod that needs another label waits, with upstream's event, until the other pod's volume is unmounted.
func TestLabelConflict(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, events, rec := newLabelPlugin(), &toldEvents{}, tracetest.New(t)
		p.hold = make(chan struct{})
		m := running(t, Config{Plugins: []Plugin{p}, Claims: &oneClaim{pv: testPV()}, Events: events, Bus: rec.Bus(), SELinux: byLevel, SELinuxAllModes: true})
		for _, uid := range []string{"a", "same"} {
			if _, err := m.Mount(t.Context(), levelPod(uid, "s0:c1")); err != nil || p.label(types.UID(uid)) != "=file:s0:c1" {
				t.Errorf("pod %s: %s, %v", uid, p.label(types.UID(uid)), err)
			}
		}
		later := mountLater(t, m, levelPod("b", "s0:c2"))
		const conflict = `conflicting SELinux labels of volume pv: "file:s0:c1" and "file:s0:c2"`
		want := []string{"FailedMount: Unable to attach or mount volumes: unmounted volumes=[data], unattached volumes=[], failed to process volumes=[data]: " + conflict}
		if diff := cmp.Diff(want, events.take()); diff != "" {
			t.Errorf("events (-want +got):\n%s", diff)
		}
		// It has waited long enough for the event to be repeated: Mount fails, and the next one waits again.
		time.Sleep(patience)
		if got := <-later; got.err == nil || !strings.HasSuffix(got.err.Error(), conflict) {
			t.Errorf("error %v", got.err)
		}
		later = mountLater(t, m, levelPod("b", "s0:c2"))
		events.take()
		// The other pods end. While the last volume is being unmounted, the pod waits for that.
		for _, uid := range []string{"a", "same"} {
			go m.Unmount(t.Context(), trace.Pod{UID: uid})
		}
		synctest.Wait()
		if got := p.label("b"); got != "none" {
			t.Errorf("mounted %s before the others were unmounted", got)
		}
		time.Sleep(time.Second)
		close(p.hold)
		if got := <-later; got.err != nil || p.label("b") != "=file:s0:c2" || len(got.volumes) != 1 {
			t.Errorf("%v, %s", got, p.label("b"))
		}
		held := "selinux for volume pv: pod ns/a has it%s with the SELinux label file:s0:c1, and this pod needs the SELinux label file:s0:c2"
		has, mounted := fmt.Sprintf(held, ""), fmt.Sprintf(held, " mounted")
		if diff := cmp.Diff([]string{"b begin " + has, "b end " + has, "b begin " + has, "b end " + has, "b begin " + mounted, "b end " + mounted}, compact(waitsOf(rec))); diff != "" {
			t.Errorf("waits (-want +got):\n%s", diff)
		}
		decided := tracetest.Events[trace.Decision](rec)
		if len(decided) == 0 || decided[0].By != trace.ByVolumes || decided[0].Verdict != trace.VerdictWait || decided[0].Reason != conflict {
			t.Errorf("decisions %+v", decided)
		}
		if diff := cmp.Diff(map[string]int{
			"volume_context_mismatch_errors test/attach ": 2, "volumes_admitted test/attach ": 2,
		}, countsOf(m)); diff != "" {
			t.Errorf("metrics (-want +got):\n%s", diff)
		}
	})
}

// compact removes the waits for other pods that share the volume: their order depends on which is unmounted first.
func compact(waits []string) []string {
	return slices.DeleteFunc(waits, func(w string) bool { return strings.Contains(w, "ns/same") })
}

// A pod that mounts without a label conflicts with one that has one; two of them do not, and neither do others if access modes have no labels.
func TestLabelsOfPods(t *testing.T) {
	once, many := v1.ReadWriteOncePod, v1.ReadWriteMany
	for _, tc := range []struct {
		name          string
		mode          v1.PersistentVolumeAccessMode
		all           bool
		first, second *v1.Pod
		incapable     bool
		want          string // labels of both
		counts        map[string]int
	}{
		{
			name: "recursive and not", mode: many, all: true, first: recursive(levelPod("a", "s0:c1")), second: levelPod("b", "s0:c1"), want: "= none",
			counts: map[string]int{"volume_context_mismatch_errors test/attach RWX": 1},
		},
		{
			name: "both recursive", mode: many, all: true, first: recursive(levelPod("a", "s0:c1")), second: recursive(levelPod("b", "s0:c2")), want: "= =",
			counts: map[string]int{},
		},
		{
			name: "another access mode", mode: many, first: levelPod("a", "s0:c1"), second: levelPod("b", "s0:c2"), want: "= =",
			counts: map[string]int{"volume_context_mismatch_warnings test/attach RWX": 1, "volumes_admitted test/attach RWX": 1},
		},
		{
			name: "ReadWriteOncePod", mode: once, first: levelPod("a", "s0:c1"), second: levelPod("b", "s0:c2"), want: "=file:s0:c1 none",
			counts: map[string]int{"volume_context_mismatch_errors test/attach RWOP": 1, "volumes_admitted test/attach RWOP": 1},
		},
		{
			name: "the driver cannot", mode: many, all: true, first: levelPod("a", "s0:c1"), second: levelPod("b", "s0:c2"), incapable: true, want: "= =",
			counts: map[string]int{},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				pv, p := testPV(), newLabelPlugin()
				pv.Spec.AccessModes = []v1.PersistentVolumeAccessMode{tc.mode}
				p.incapable = tc.incapable
				m := running(t, Config{Plugins: []Plugin{p}, Claims: &oneClaim{pv: pv}, SELinux: byLevel, SELinuxAllModes: tc.all})
				if _, err := m.Mount(t.Context(), tc.first); err != nil {
					t.Fatal(err)
				}
				mountLater(t, m, tc.second)
				if got := p.label("a") + " " + p.label("b"); got != tc.want {
					t.Errorf("labels %s, want %s", got, tc.want)
				}
				if diff := cmp.Diff(tc.counts, countsOf(m)); diff != "" {
					t.Errorf("metrics (-want +got):\n%s", diff)
				}
				_ = m.Unmount(t.Context(), trace.Pod{UID: "b"})
			})
		})
	}
}

// A pod whose containers need different labels is refused, unless it has the volume already.
func TestLabelsWithinAPod(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, events := newLabelPlugin(), &toldEvents{}
		m := running(t, Config{Plugins: []Plugin{p}, Claims: &oneClaim{pv: testPV()}, Events: events, SELinux: byLevel, SELinuxAllModes: true})
		both := func(uid string) *v1.Pod {
			obj := levelPod(uid, "s0:c1")
			other := *obj.Spec.Containers[0].DeepCopy()
			other.SecurityContext = &v1.SecurityContext{SELinuxOptions: &v1.SELinuxOptions{Level: "s0:c2"}}
			obj.Spec.Containers = append(obj.Spec.Containers, other)
			return obj
		}
		_, err := m.Mount(t.Context(), both("a"))
		want := "unmounted volumes=[data], unattached volumes=[], failed to process volumes=[data]: multiple SELinux labels found: file:s0:c1,file:s0:c2"
		if err == nil || err.Error() != want || p.label("a") != "none" {
			t.Errorf("error %v", err)
		}
		if got := events.take(); !slices.Equal(got, []string{"FailedMount: Unable to attach or mount volumes: " + want}) {
			t.Errorf("events %q", got)
		}
		on(t, m, "b")
		if _, err := m.Mount(t.Context(), both("b")); err != nil || p.label("b") != "=" {
			t.Errorf("a pod that has the volume: %s, %v", p.label("b"), err)
		}
		if diff := cmp.Diff(map[string]int{"pod_context_mismatch_errors  ": 1, "pod_context_mismatch_warnings  ": 1}, countsOf(m)); diff != "" {
			t.Errorf("metrics (-want +got):\n%s", diff)
		}
	})
}

// on creates the directory of a pod's volume, as an earlier agent left it.
func on(t *testing.T, m *Manager, uid string) {
	t.Helper()
	dir := filepath.Join(m.podsDir(), uid, "volumes", "test~attach", "pv")
	if err := os.MkdirAll(dir, 0o750); err != nil {
		t.Fatal(err)
	}
}

// After a restart of the agent, volumes keep the labels with which they are mounted, and hold up other pods before their own are known.
func TestLabelsAfterARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, events := newLabelPlugin(), &toldEvents{}
		p.found = map[types.UID]string{"a": "file:s0:c9", "gone": "file:s0:c9"}
		m := running(t, Config{Plugins: []Plugin{p}, Claims: &oneClaim{pv: testPV()}, Events: events, SELinux: byLevel, SELinuxAllModes: true})
		on(t, m, "a")
		on(t, m, "gone")
		later := mountLater(t, m, levelPod("b", "s0:c2"))
		want := []string{`FailedMount: Unable to attach or mount volumes: unmounted volumes=[data], unattached volumes=[], failed to process volumes=[]: ` +
			`waiting for unmount of volume "test/attach/d^pv", because it is already mounted to a different pod with a different SELinux label`}
		if diff := cmp.Diff(want, events.take()); diff != "" {
			t.Errorf("events (-want +got):\n%s", diff)
		}
		if _, err := m.Mount(t.Context(), levelPod("a", "s0:c1")); err != nil || p.label("a") != "=file:s0:c9" || !slices.Equal(p.adopted, []string{"file:s0:c9"}) {
			t.Errorf("adopted with %q, %v", p.adopted, err)
		}
		if err := m.Unmount(t.Context(), trace.Pod{UID: "a"}); err != nil || p.label("b") != "none" {
			t.Errorf("%v, b has %s while a volume of an unknown pod is there", err, p.label("b"))
		}
		if err := m.Unmount(t.Context(), trace.Pod{UID: "gone"}); err != nil {
			t.Error(err)
		}
		if got := <-later; got.err != nil || p.label("b") != "=file:s0:c2" {
			t.Errorf("%v, %s", got.err, p.label("b"))
		}
	})
}

// Without SELinux, the plugin is not asked about labels, and nothing is counted.
func TestNoLabelsWithoutSELinux(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newLabelPlugin()
		m := running(t, Config{Plugins: []Plugin{&unasked{p}}, Claims: &oneClaim{pv: testPV()}, SELinuxAllModes: true})
		for uid, level := range map[string]string{"a": "s0:c1", "b": "s0:c2"} {
			if _, err := m.Mount(t.Context(), levelPod(uid, level)); err != nil || p.label(types.UID(uid)) != "=" {
				t.Errorf("pod %s: %s, %v", uid, p.label(types.UID(uid)), err)
			}
		}
		if got := countsOf(m); len(got) != 0 {
			t.Errorf("metrics %v", got)
		}
	})
}

type unasked struct{ *labelPlugin }

func (*unasked) MountsWithLabel(context.Context, Spec) (bool, error) { panic("asked") }
func (*unasked) SharedName(Spec) string                              { panic("asked") }
func (*unasked) FoundLabel(Place) (string, string)                   { panic("asked") }
