package volume

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/agent/criconfig"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/tracetest"
)

// partsPlugin has operations with parts, each of a second more than the one before.
type partsPlugin struct{ contentPlugin }

func (*partsPlugin) SetUp(ctx context.Context, _ Spec) (criconfig.Volume, error) {
	_, err := WaitAttached(ctx, nil, "unique", "a", func() func(v1.UniqueVolumeName) (string, bool) {
		end := time.Now().Add(time.Second)
		return func(v1.UniqueVolumeName) (string, bool) { return "", !time.Now().Before(end) }
	}())
	if err != nil {
		return criconfig.Volume{}, err
	}
	time.Sleep(time.Second)
	return criconfig.Volume{HostPath: "/there"}, Timed(ctx, Owning, func() error { time.Sleep(2 * time.Second); return nil })
}

func (p *partsPlugin) TearDown(ctx context.Context, _ Place) error {
	p.tries++
	return Timed(ctx, Unstaging, func() error {
		time.Sleep(3 * time.Second)
		if p.tries == 1 {
			return errors.New("busy")
		}
		return nil
	})
}

// The end of an operation has its parts, how long they took and which failed.
func TestParts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rec := tracetest.New(t)
		m := running(t, Config{Plugins: []Plugin{&partsPlugin{}}, Bus: rec.Bus()})
		if _, err := m.Mount(t.Context(), inlinePod("u", v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}})); err != nil {
			t.Fatal(err)
		}
		for i := range 2 { // the first one fails
			if err := m.Unmount(t.Context(), trace.Pod{UID: "u"}); (err != nil) != (i == 0) {
				t.Error(i, err)
			}
		}
		var got []*trace.Volume
		for _, r := range rec.OfKind("volume") {
			e := r.Event.(*trace.Volume)
			if r.Edge == trace.EdgeEnd {
				got = append(got, e)
			} else if e.Attaching.Took+e.Owning.Took+e.Unstaging.Took != 0 {
				t.Errorf("the begin is %+v", e)
			}
		}
		if len(got) != 3 {
			t.Fatalf("%d operations, want a set-up and two tear-downs", len(got))
		}
		if e := got[0]; e.Attaching.Took < time.Second || e.Attaching.Took > 2*time.Second || e.Owning != (trace.VolumePart{Took: 2 * time.Second}) || e.Unstaging.Took != 0 {
			t.Errorf("the set-up is %+v", e)
		}
		if e := got[1]; e.Unstaging != (trace.VolumePart{Took: 3 * time.Second, Failed: true}) || e.Owning.Took != 0 {
			t.Errorf("the first tear-down is %+v", e)
		}
		if e := got[2]; e.Unstaging != (trace.VolumePart{Took: 3 * time.Second}) {
			t.Errorf("the second tear-down is %+v", e)
		}
	})
}
