package volume

import (
	"slices"
	"testing"
	"testing/synctest"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/trace"
)

// Uses are the persistent volumes of a plugin that pods want, while an operation hangs too, and not those of other pods and plugins.
func TestUses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, slow := &attachPlugin{}, &fakePlugin{ops: map[string]chan error{}}
		m := running(t, Config{Plugins: []Plugin{p, slow}, Claims: &oneClaim{pv: testPV()}})
		if len(m.Uses("test/attach")) != 0 {
			t.Error("no pod wants anything")
		}
		obj := claimPod("u", "data", "again")
		obj.Spec.Volumes = append(obj.Spec.Volumes, v1.Volume{Name: "scratch", VolumeSource: v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}}})
		obj.Spec.Containers[0].VolumeMounts = append(obj.Spec.Containers[0].VolumeMounts, v1.VolumeMount{Name: "scratch"})
		go func() { _, _ = m.Mount(t.Context(), obj) }()
		synctest.Wait()
		got := m.Uses("test/attach")
		if len(got) != 1 || got[0].Pod.UID != "u" || !slices.Equal(got[0].Names, []string{"data", "again"}) || got[0].Spec.PV == nil || got[0].Spec.Name != "pv" || got[0].Spec.Dir == "" {
			t.Errorf("%+v", got)
		}
		if other := m.Uses("test/fake"); len(other) != 0 {
			t.Errorf("no persistent volumes: %+v", other)
		}
		go func() { _ = m.Unmount(t.Context(), trace.Pod{UID: "u"}) }()
		synctest.Wait()
		if got := m.Uses("test/attach"); len(got) != 0 {
			t.Errorf("of a pod that terminates: %+v", got)
		}
		slow.releaseAll()
	})
}
