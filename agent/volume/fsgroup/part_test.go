package fsgroup

import (
	"context"
	"os"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeloupe/kubeloupe/agent/criconfig"
	"github.com/kubeloupe/kubeloupe/agent/volume"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/tracetest"
)

// owned is a plugin whose volumes are directories that get the pod's group.
type owned struct{}

func (owned) Name() string                                     { return "test/owned" }
func (owned) CanSupport(*v1.Volume) bool                       { return true }
func (owned) Version(volume.Spec) (string, error)              { return "", nil }
func (owned) TearDown(_ context.Context, p volume.Place) error { return os.RemoveAll(p.Dir) }
func (owned) SetUp(ctx context.Context, s volume.Spec) (criconfig.Volume, error) {
	if err := os.MkdirAll(s.Dir, 0o750); err != nil {
		return criconfig.Volume{}, err
	}
	return criconfig.Volume{HostPath: s.Dir}, Change{Dir: s.Dir, Pod: s.Pod}.Apply(ctx)
}

// The change is a part of the volume's record. Without a group there is none.
func TestChangeIsAPart(t *testing.T) {
	group := int64(os.Getgid())
	for _, want := range []bool{true, false} {
		rec := tracetest.New(t)
		m, err := volume.New(volume.Config{RootDir: t.TempDir(), Plugins: []volume.Plugin{owned{}}, Bus: rec.Bus()})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- m.Run(ctx) }()
		pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "p", UID: "u"}, Spec: v1.PodSpec{
			SecurityContext: &v1.PodSecurityContext{},
			Volumes:         []v1.Volume{{Name: "data", VolumeSource: v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}}}},
			Containers:      []v1.Container{{Name: "c", VolumeMounts: []v1.VolumeMount{{Name: "data", MountPath: "/data"}}}},
		}}
		if want {
			pod.Spec.SecurityContext.FSGroup = &group
		}
		if _, err := m.Mount(t.Context(), pod); err != nil {
			t.Fatal(err)
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		for _, r := range rec.OfKind("volume") {
			if e := r.Event.(*trace.Volume); r.Edge == trace.EdgeEnd && (e.Owning.Took > 0) != want {
				t.Errorf("%+v, want a change of the group: %t", e, want)
			}
		}
	}
}
