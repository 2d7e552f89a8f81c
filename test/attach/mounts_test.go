package attach

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
)

// setUp are the records that tell that a volume of a pod was set up, by who saw it.
func (a *attached) setUp(t *testing.T, pod string) map[trace.Observer][]trace.Record {
	t.Helper()
	by := map[trace.Observer][]trace.Record{}
	for _, r := range a.told(t, func(r *trace.Record) bool { return r.Pod.Name == pod && r.Edge != trace.EdgeBegin }) {
		if v, ok := r.Event.(*trace.Volume); ok && v.Op == trace.VolumeSetup {
			by[r.Observer] = append(by[r.Observer], r)
		}
	}
	return by
}

// setUpBy waits until an observer has told that a volume of a pod was set up, and returns all that tell so.
func (a *attached) setUpBy(t *testing.T, pod string, who trace.Observer) (by map[trace.Observer][]trace.Record) {
	t.Helper()
	eventually(t, "a volume of "+pod, func() string {
		if by = a.setUp(t, pod); len(by[who]) == 0 {
			return fmt.Sprintf("it is told of by %v", by)
		}
		return ""
	})
	return by
}

// TestMounts has a pod's token be mounted by a kubelet whose log tells of it, and by one at V0, where only the kernel does.
func TestMounts(t *testing.T) {
	b := setup(t)
	a := b.attach(t)
	b.create(t, "logged")
	b.started(t, a, "default/logged")
	if by := a.setUpBy(t, "logged", trace.ObserverKubeletLog); len(by[trace.ObserverKernel]) > 0 {
		t.Errorf("at V4, volumes are told of by %v", by)
	}
	b.again(t, 0)
	t.Cleanup(func() { b.again(t, 4) })
	a = b.attach(t)
	before := time.Now()
	b.create(t, "mounted")
	b.started(t, a, "default/mounted")
	by := a.setUpBy(t, "mounted", trace.ObserverKernel)
	if len(by) != 1 || len(by[trace.ObserverKernel]) != 1 {
		t.Fatalf("at V0, volumes are told of by %v", by)
	}
	r := by[trace.ObserverKernel][0]
	v, _ := r.Event.(*trace.Volume)
	t.Logf("%s %v after %s: %+v", r.At(), r.Precision.Duration(), r.At().Sub(before), v)
	if v.Plugin != "kubernetes.io/projected" || !strings.HasPrefix(v.Name, "kube-api-access-") || r.At().Before(before) || r.Precision == 0 || r.Precision.Duration() > time.Second {
		t.Errorf("the mount is %+v", r)
	}
	eventually(t, "the volume is listed", func() string {
		if out := b.kubeloupe(t, "inspect", "volumes", "--socket", a.socket); !strings.Contains(out, v.Name) {
			return out
		}
		return ""
	})
}
