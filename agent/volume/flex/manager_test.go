package flex

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeloupe/kubeloupe/agent/volume"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/tracetest"
)

func (b *bench) manager() (m *volume.Manager, stop func()) {
	b.t.Helper()
	m, err := volume.New(volume.Config{RootDir: b.cfg.RootDir, Plugins: []volume.Plugin{b.p}, Bus: b.rec.Bus()})
	if err != nil {
		b.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(b.t.Context())
	done := make(chan error)
	go func() { done <- m.Run(ctx) }()
	return m, func() {
		cancel()
		if err := <-done; err != nil {
			b.t.Error(err)
		}
	}
}

// With the volume manager: the volumes of two drivers are in directories with the drivers' names, as upstream's, and the next agent finds
// them there.
func TestManager(t *testing.T) {
	b := newBench(t, nil)
	b.install(name, attaches+mounts)
	b.install("cifs", plain+mounts)
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "pod", UID: "u1"}}
	for _, d := range []string{name, "cifs"} {
		v := filepath.Base(d)
		pod.Spec.Volumes = append(pod.Spec.Volumes, v1.Volume{Name: v, VolumeSource: v1.VolumeSource{FlexVolume: &v1.FlexVolumeSource{Driver: d}}})
		pod.Spec.Containers = append(pod.Spec.Containers, v1.Container{Name: v, VolumeMounts: []v1.VolumeMount{{Name: v, MountPath: "/" + v}}})
	}
	m, stop := b.manager()
	got, err := m.Mount(t.Context(), pod)
	if err != nil {
		t.Fatal(err)
	}
	for v, dir := range map[string]string{"disk": "example.com~disk", "cifs": "cifs"} {
		want := filepath.Join(b.cfg.RootDir, "pods/u1/volumes", dir, v)
		if got[v].HostPath != want {
			t.Errorf("%s is at %s, want %s", v, got[v].HostPath, want)
		}
	}
	plugins := map[string]bool{}
	for _, e := range tracetest.Events[trace.Volume](b.rec) {
		plugins[e.Plugin] = true
	}
	if len(plugins) != 2 || !plugins[name] || !plugins["cifs"] {
		t.Errorf("operations of %v", plugins)
	}
	stop()

	b.calls()
	if b.p, err = New(b.cfg); err != nil {
		t.Fatal(err)
	}
	m, stop = b.manager()
	defer stop()
	if err := m.Unmount(t.Context(), trace.Pod{UID: "u1"}); err != nil {
		t.Fatal(err)
	}
	for _, r := range b.rec.OfKind("volume") {
		if e := r.Event.(*trace.Volume); r.Edge == trace.EdgeEnd && (e.Unstaging.Took > 0) != (e.Op == trace.VolumeTeardown && e.Plugin == name) {
			t.Errorf("only the device is unmounted: %+v", e)
		}
	}
	calls := map[string]bool{}
	for _, c := range b.calls() {
		calls[c] = true
	}
	for _, want := range []string{"unmount|/root/pods/u1/volumes/cifs/cifs", "unmount|/root/pods/u1/volumes/example.com~disk/disk", "unmountdevice|/root/plugins/kubernetes.io/flexvolume/example.com/disk/mounts/disk", "detach|disk|node"} {
		if !calls[want] {
			t.Errorf("no %s in %v", want, calls)
		}
	}
	for _, dir := range []string{"example.com~disk/disk", "cifs/cifs"} {
		if _, err := os.Lstat(filepath.Join(b.cfg.RootDir, "pods/u1/volumes", dir)); !os.IsNotExist(err) {
			t.Errorf("%s: %v", dir, err)
		}
	}
}
