package volume

import (
	"context"
	"maps"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/agent/criconfig"
	"github.com/kubeloupe/kubeloupe/trace"
)

// elsewhere has volumes that are not in the agent's root directory.
type elsewhere struct{}

func (elsewhere) Name() string                          { return "test/elsewhere" }
func (elsewhere) CanSupport(v *v1.Volume) bool          { return v.HostPath != nil }
func (elsewhere) Version(Spec) (string, error)          { return "", nil }
func (elsewhere) TearDown(context.Context, Place) error { return nil }
func (elsewhere) SetUp(context.Context, Spec) (criconfig.Volume, error) {
	return criconfig.Volume{HostPath: "/data"}, nil
}

// Mounted are the volumes that are set up below the pod's directory: not those whose operation hangs, nor those elsewhere.
func TestMounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := &fakePlugin{ops: map[string]chan error{}}
		m := running(t, Config{Plugins: []Plugin{&attachPlugin{}, slow, elsewhere{}}, Claims: &oneClaim{pv: testPV()}})
		if got := m.Mounted("u"); len(got) != 0 {
			t.Errorf("of a pod that is not known: %v", got)
		}
		obj := claimPod("u", "data", "again")
		obj.Spec.Volumes = append(obj.Spec.Volumes, v1.Volume{Name: "scratch", VolumeSource: v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}}},
			v1.Volume{Name: "host", VolumeSource: v1.VolumeSource{HostPath: &v1.HostPathVolumeSource{Path: "/data"}}})
		obj.Spec.Containers[0].VolumeMounts = append(obj.Spec.Containers[0].VolumeMounts, v1.VolumeMount{Name: "scratch"}, v1.VolumeMount{Name: "host"})
		go func() { _, _ = m.Mount(t.Context(), obj) }()
		synctest.Wait()
		got := m.Mounted("u")
		if names := slices.Sorted(maps.Keys(got)); !slices.Equal(names, []string{"again", "data"}) {
			t.Errorf("mounted %q", names)
		}
		at := filepath.Join(m.cfg.RootDir, "pods", "u", "volumes", "test~attach", "pv")
		if d := got["data"]; d.Plugin != "test/attach" || d.Path != at || d.Spec.PV == nil || d.Spec.Dir != at {
			t.Errorf("%+v", d)
		}
		slow.releaseAll()
		synctest.Wait()
		if s := m.Mounted("u")["scratch"]; s.Plugin != "test/fake" || s.Spec.PV != nil {
			t.Errorf("%+v", s)
		}
		go func() { _ = m.Unmount(t.Context(), trace.Pod{UID: "u"}) }()
		synctest.Wait()
		if got := m.Mounted("u"); len(got) != 0 {
			t.Errorf("of a pod that is gone: %v", got)
		}
	})
}
