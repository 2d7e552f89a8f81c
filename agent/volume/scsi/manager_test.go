package scsi

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

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

// With the volume manager: the volume waits for the controller, is in use until it is detached, and the next agent finds it.
func TestManager(t *testing.T) {
	var attached atomic.Bool
	b := newBench(t, NewISCSI, func(c *Config) { c.Attached = func(v1.UniqueVolumeName) (string, bool) { return "", attached.Load() } })
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "pod", UID: "u1"}}
	pod.Spec.Volumes = []v1.Volume{*b.spec("u1", nil).Volume}
	pod.Spec.Containers = []v1.Container{{VolumeMounts: []v1.VolumeMount{{Name: "vol", MountPath: "/vol"}}}}
	m, stop := b.manager()
	mounted := make(chan error)
	go func() {
		_, err := m.Mount(t.Context(), pod)
		mounted <- err
	}()
	waits := func() bool {
		for _, w := range tracetest.Events[trace.Wait](b.rec) {
			if w.For == trace.WaitAttach && strings.Contains(w.Note, "has to attach kubernetes.io/iscsi/192.0.2.1:"+iqn+":0") {
				return true
			}
		}
		return false
	}
	for end := time.Now().Add(time.Minute); !waits(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it does not wait for the controller")
		}
	}
	b.expect()
	attached.Store(true)
	if err := <-mounted; err != nil {
		t.Fatal(err)
	}
	inUse := func(m *volume.Manager, want ...v1.UniqueVolumeName) {
		t.Helper()
		if got := m.InUse(); len(got) != len(want) || len(got) > 0 && got[0] != want[0] {
			t.Errorf("in use: %q", got)
		}
	}
	inUse(m, "kubernetes.io/iscsi/192.0.2.1:"+iqn+":0")
	stop()

	b.restart()
	m, stop = b.manager()
	defer stop()
	inUse(m, "kubernetes.io/iscsi/192.0.2.1:"+iqn+":0")
	if err := m.Unmount(t.Context(), trace.Pod{UID: "u1"}); err != nil {
		t.Fatal(err)
	}
	inUse(m)
	b.gone("after the pod")
	ends := map[trace.VolumeOp]trace.Volume{}
	for _, r := range b.rec.OfKind("volume") {
		if e := r.Event.(*trace.Volume); r.Edge == trace.EdgeEnd {
			ends[e.Op] = *e
		}
	}
	if ends[trace.VolumeSetup].Attaching.Took == 0 || ends[trace.VolumeTeardown].Unstaging.Took == 0 {
		t.Errorf("parts are missing: %+v", ends)
	}
}
