package volume

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
)

// strictPlugin has volumes with contents, but rejects some.
type strictPlugin struct{ contentPlugin }

func (*strictPlugin) Version(s Spec) (string, error) {
	if strings.HasPrefix(s.Volume.Name, "bad") {
		return "", errors.New("spec is bad")
	}
	return "1", nil
}

// A volume that its plugin rejects has an Event as any other that cannot be mounted, is tried again, and the other volumes are mounted.
func TestRejectedVolume(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, said := &strictPlugin{}, &toldEvents{}
		m := running(t, Config{Plugins: []Plugin{p}, Events: said})
		pod := fakePod("u", []string{"bad", "tools"})
		_, err := m.Mount(t.Context(), pod)
		if err == nil || !strings.Contains(err.Error(), `volume "bad" (test/content) failed: spec is bad`) || p.tries != 1 {
			t.Errorf("%v, %d setups", err, p.tries)
		}
		want := []string{`FailedMount: MountVolume.SetUp failed for volume "bad" : spec is bad`}
		if got := said.take(); !slices.Equal(got, want) {
			t.Errorf("%q", got)
		}
		time.Sleep(firstDelay + time.Millisecond)
		synctest.Wait()
		if got := said.take(); !slices.Equal(got, want) || p.tries != 1 {
			t.Errorf("later: %q, %d setups", got, p.tries)
		}
		if m.Ready(pod) {
			t.Error("the volumes are ready")
		}
		if err := m.Unmount(t.Context(), trace.Pod{Namespace: "ns", Name: "u", UID: "u"}); err != nil {
			t.Error(err)
		}
	})
}

// A volume that is mounted, and whose pod is changed so that the plugin rejects it, is reported too.
func TestRejectedLater(t *testing.T) {
	s := &state{mounted: true}
	if !s.satisfies(&wanted{}) || s.satisfies(&wanted{invalid: errors.New("bad")}) {
		t.Error("a volume that is rejected counts as mounted")
	}
}

// A plugin without block devices gives none, which is an Event too.
func TestNoBlockPlugin(t *testing.T) {
	w := &wanted{plugin: &strictPlugin{}, spec: Spec{Block: true, Volume: fakePod("u", []string{"disk"}).Spec.Volumes[0].DeepCopy()}}
	w.invalid = w.check()
	if w.invalid == nil || !strings.Contains(w.invalid.Error(), "volumeMode is Block, which test/content does not do") {
		t.Fatal(w.invalid)
	}
	said := &toldEvents{}
	m := &Manager{cfg: Config{Events: said}}
	j := job{op: op{key: key{uid: "u", name: "pv", block: true}}, want: w}
	w.spec.Pod = fakePod("u", nil)
	_, err := m.setUp(t.Context(), j)
	m.tell(context.Background(), j, err)
	if got := said.take(); len(got) != 1 || !strings.HasPrefix(got[0], `FailedMapVolume: MapVolume.MapPodDevice failed for volume "pv" : volumeMode is Block`) {
		t.Errorf("%q", got)
	}
}
